// The pre-pass of `fast`: operands cut into chunks of DEPTH lines of LINES words in the order the product reads them.
//
// Of a strip (LINES rows of A, or LINES words of columns of B) all chunks lie one after the other; entries beyond an
// edge are infinite. Chunks that are all infinite are not written, only marked. -0 becomes +0.

#pragma once

#include "product.cuh"

constexpr int PACKED_AT_ONCE = 4;  // chunks a block packs: lines of 64 terms of A are read in one go
constexpr int PACKED_DEPTH = PACKED_AT_ONCE * DEPTH;

template <class Entry> __device__ unsigned found_in(Entry x, Entry infinite) {
    return int(x) < 0 || x > infinite ? OUT_OF_RANGE : 0;
}
template <> __device__ inline unsigned found_in(float x, float infinite) {
    return x != x ? NOT_A_NUMBER : x == -infinite ? OUT_OF_RANGE : x < 0 ? NEGATIVE : 0;
}

struct PackShared {
    unsigned words[PACKED_DEPTH * (LINES + 1)];
    unsigned seen;  // FINITE and not-zero bits of the chunks, two each; what was found from bit 8 on
    unsigned highest;
};

// matrix: rows x columns, pitch entries apart. LEFT: lines of the packed form are rows, terms are columns; otherwise
// the other way round. skip 0: every chunk counts as finite.
template <class Number, bool LEFT>
__device__ void pack_chunks(PackShared& shared, unsigned* packed, unsigned char* kinds, Report* report,
                            const typename Number::Entry* matrix, int rows, int columns, int pitch, int mirrored,
                            int skip, int strip, int group) {
    using Entry = typename Number::Entry;
    constexpr int PITCH = LINES + 1;
    auto& [words, seen, highest] = shared;
    if (threadIdx.x == 0) seen = highest = 0;
    __syncthreads();

    unsigned own = 0, largest = 0;
    const unsigned infinite_word = Number::INFINITE;
    Entry infinite;
    memcpy(&infinite, &infinite_word, sizeof(Entry));
    auto entry = [&](int row, int column, int chunk) {
        if (row >= rows || column >= columns) return infinite;
        Entry x = matrix[size_t(row) * pitch + column];
        x = mirrored ? Entry(0) - x : Entry(x + Entry(0));
        const unsigned found = found_in<Entry>(x, infinite);
        own |= found << 8 | (x != infinite ? 1u : 0u) << chunk * 2 | (x != Entry(0) ? 2u : 0u) << chunk * 2;
        if (x != infinite && !found) {
            unsigned bits = 0;
            memcpy(&bits, &x, sizeof(Entry));
            largest = max(largest, bits & 0x7FFFFFFF);
        }
        return x;
    };
#pragma unroll 8
    for (int i = threadIdx.x; i < PACKED_DEPTH * LINES; i += THREADS) {
        const int term = LEFT ? i % PACKED_DEPTH : i / LINES, line = LEFT ? i / PACKED_DEPTH : i % LINES;
        const int k = group * PACKED_DEPTH + term, chunk = term / DEPTH;
        unsigned word;
        if constexpr (Number::ENTRIES == 1) {
            const Entry x = LEFT ? entry(strip * LINES + line, k, chunk) : entry(k, strip * LINES + line, chunk);
            memcpy(&word, &x, 4);
        } else if constexpr (LEFT) {
            word = entry(strip * LINES + line, k, chunk) * 0x10001u;
        } else {
            const int column = (strip * LINES + line) * 2;
            word = entry(k, column, chunk) | unsigned(entry(k, column + 1, chunk)) << 16;
        }
        words[term * PITCH + line] = word;
    }
    own = __reduce_or_sync(~0u, own);
    largest = __reduce_max_sync(~0u, largest);
    if (threadIdx.x % 32 == 0) {
        atomicOr(&seen, own);
        atomicMax(&highest, largest);
    }
    __syncthreads();

    const int chunks = ((LEFT ? columns : rows) + DEPTH - 1) / DEPTH;
    const int mine = min(PACKED_AT_ONCE, chunks - group * PACKED_AT_ONCE);
    const size_t first = size_t(strip) * chunks + group * PACKED_AT_ONCE;
    if (threadIdx.x < mine) {
        const unsigned bits = seen >> threadIdx.x * 2;
        kinds[first + threadIdx.x] = (bits & 1 || !skip ? FINITE : 0) | (bits & 2 || !skip ? 0 : ALL_ZERO);
    }
    if (threadIdx.x == 0) {
        if (seen >> 8) atomicOr(&report->found, seen >> 8);
        unsigned* reported = &report->largest[LEFT ? 0 : 1];
        if (highest > *reinterpret_cast<volatile unsigned*>(reported)) atomicMax(reported, highest);
    }
    for (int chunk = 0; chunk < mine; ++chunk) {
        if (skip && !(seen >> chunk * 2 & 1)) continue;
#pragma unroll
        for (int i = threadIdx.x; i < CHUNK; i += THREADS)
            packed[(first + chunk) * CHUNK + i] = words[(chunk * DEPTH + i / LINES) * PITCH + i % LINES];
    }
}
