// The pre-pass of `fast`: cuts operands into chunks, in the order and form in which the product reads them (packing, as
// in Goto and van de Geijn's matrix product).
//
// The chunks of a strip (LINES_A rows of A, or LINES_B words of columns of B) lie one after the other. Entries beyond
// an edge are infinite. A chunk that is all infinite is marked, not written. -0 becomes +0. A block packs one chunk.

#pragma once

#include "product.cuh"

constexpr int PACK_THREADS = 128;

// rows x columns entries, strides in entries; strips 0: nothing to pack.
template <class Number> struct Operand {
    unsigned* packed;
    unsigned char* kinds;
    const typename Number::Entry* matrix;
    long long row_stride, column_stride;
    int rows, columns, strips;
};

template <class Entry> __device__ unsigned bits_of(Entry x) {
    unsigned bits = 0;
    memcpy(&bits, &x, sizeof(Entry));
    return bits;
}

template <class Entry> __device__ unsigned fault_of(Entry) { return OUT_OF_RANGE; }
template <> __device__ inline unsigned fault_of(float x) {
    return x != x ? NOT_A_NUMBER : isinf(x) ? OUT_OF_RANGE : NEGATIVE;
}

// LEFT: lines of the packed form are rows, terms are columns; otherwise the other way round. skip 0: every chunk counts
// as finite.
template <class Number, bool LEFT>
__device__ __forceinline__ void pack_chunk(const Operand<Number>& operand, Report* report, int mirrored, int skip,
                                           int strip) {
    using Entry = typename Number::Entry;
    constexpr int RUN = LEFT ? 4 : 4 * Number::ENTRIES;  // neighbouring entries that one thread reads at once
    constexpr int LINES = LEFT ? LINES_A : LINES_B, CHUNK = LINES * DEPTH;
    constexpr int RUNS = CHUNK / 4 / PACK_THREADS, PITCH = LINES + 4;
    __shared__ unsigned lowest, highest, largest;
    if (threadIdx.x == 0) lowest = ~0u, highest = largest = 0;

    const unsigned infinite_bits = bits_of(Number::infinite());
    const bool whole = operand.column_stride == 1 && operand.row_stride % RUN == 0 &&
                       reinterpret_cast<size_t>(operand.matrix) % (RUN * sizeof(Entry)) == 0;
    alignas(16) Entry runs[RUNS][RUN];
    unsigned low = ~0u, high = 0, finite = 0;
#pragma unroll
    for (int r = 0; r < RUNS; ++r) {
        const int i = threadIdx.x + r * PACK_THREADS;
        const int row = LEFT ? strip * LINES + i / (DEPTH / 4) : blockIdx.x * DEPTH + i / (LINES / 4);
        const int column = LEFT ? blockIdx.x * DEPTH + i % (DEPTH / 4) * 4
                                : (strip * LINES + i % (LINES / 4) * 4) * Number::ENTRIES;
        const Entry* from = operand.matrix + row * operand.row_stride + column * operand.column_stride;
        if (whole && row < operand.rows && column + RUN <= operand.columns) {
            struct alignas(RUN * sizeof(Entry)) Whole {
                Entry entries[RUN];
            };
            const Whole read = *reinterpret_cast<const Whole*>(from);
#pragma unroll
            for (int e = 0; e < RUN; ++e) runs[r][e] = read.entries[e];
        } else {
#pragma unroll
            for (int e = 0; e < RUN; ++e) {
                const bool inside = row < operand.rows && column + e < operand.columns;
                runs[r][e] = inside ? from[e * operand.column_stride]
                                    : Entry(mirrored ? -Number::infinite() : Number::infinite());
            }
        }
    }
#pragma unroll
    for (int r = 0; r < RUNS; ++r)
#pragma unroll
        for (int e = 0; e < RUN; ++e) {
            Entry& x = runs[r][e];
            x = mirrored ? Entry(0) - x : x + Entry(0);
            const unsigned bits = bits_of(x);
            low = min(low, bits);
            high = max(high, bits);
            finite = max(finite, bits == infinite_bits ? 0 : bits);
        }
    low = __reduce_min_sync(~0u, low);
    high = __reduce_max_sync(~0u, high);
    finite = __reduce_max_sync(~0u, finite);
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        atomicMin(&lowest, low);
        atomicMax(&highest, high);
        atomicMax(&largest, finite);
    }
    __syncthreads();

    if (highest > infinite_bits) {
        unsigned found = 0;
        finite = 0;
        for (int r = 0; r < RUNS; ++r)
            for (int e = 0; e < RUN; ++e) {
                const Entry x = runs[r][e];
                if (bits_of(x) > infinite_bits) found |= fault_of(x);
                const unsigned magnitude = bits_of(x) & 0x7FFFFFFF;
                if (magnitude < infinite_bits) finite = max(finite, magnitude);
            }
        atomicOr(&report->found, found);
        atomicMax(&report->largest[LEFT ? 0 : 1], finite);
    } else if (threadIdx.x == 0 && largest > *const_cast<volatile unsigned*>(&report->largest[LEFT ? 0 : 1])) {
        atomicMax(&report->largest[LEFT ? 0 : 1], largest);
    }
    const bool some = lowest < infinite_bits || highest > infinite_bits || !skip;
    const size_t chunk = size_t(strip) * gridDim.x + blockIdx.x;
    if (threadIdx.x == 0) operand.kinds[chunk] = (some ? FINITE : 0) | (highest == 0 && skip ? ALL_ZERO : 0);
    if (!some) return;

    uint4* const to = reinterpret_cast<uint4*>(operand.packed + chunk * CHUNK);
    if constexpr (LEFT) {
        __shared__ alignas(16) unsigned turned[DEPTH * PITCH];
#pragma unroll
        for (int r = 0; r < RUNS; ++r)
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const int i = threadIdx.x + r * PACK_THREADS;
                turned[(i % (DEPTH / 4) * 4 + e) * PITCH + i / (DEPTH / 4)] =
                    bits_of(runs[r][e]) * (Number::ENTRIES == 2 ? 0x10001u : 1u);
            }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < RUNS; ++r) {
            const int i = threadIdx.x + r * PACK_THREADS;
            to[i] = *reinterpret_cast<const uint4*>(&turned[i / (LINES / 4) * PITCH + i % (LINES / 4) * 4]);
        }
    } else {
#pragma unroll
        for (int r = 0; r < RUNS; ++r) {
            uint4 words;
            memcpy(&words, runs[r], sizeof(words));
            to[threadIdx.x + r * PACK_THREADS] = words;
        }
    }
}

// Grid: (chunks, strips of A, then of B, then any number of rows that fill `words` words of C with infinity).
template <class Number>
__device__ __forceinline__ void pack(const Operand<Number>& a, const Operand<Number>& b, unsigned* c, unsigned words,
                                     Report* report, int mirrored, int skip) {
    const int strip = blockIdx.y;
    if (strip < a.strips) {
        pack_chunk<Number, true>(a, report, mirrored, skip, strip);
    } else if (strip < a.strips + b.strips) {
        pack_chunk<Number, false>(b, report, mirrored, skip, strip - a.strips);
    } else {
        const unsigned value = mirrored ? Number::negated(Number::INFINITE) : Number::INFINITE;
        const unsigned first = (strip - a.strips - b.strips) * gridDim.x + blockIdx.x;
        const unsigned step = (gridDim.y - a.strips - b.strips) * gridDim.x * PACK_THREADS;
        for (unsigned i = first * PACK_THREADS + threadIdx.x; i < words; i += step) c[i] = value;
    }
}
