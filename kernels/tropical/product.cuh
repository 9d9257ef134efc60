// The inner loop of `fast`: C = min(C, A (x) B) on packed operands (pack.cuh).
//
// A block computes LINES x LINES words of C, a thread 8 x 8 of them as four 4 x 4 quarters, LINES / 2 apart. Chunks
// of DEPTH terms travel through a ring of STAGES in shared memory, DEPTH lines of LINES words for either operand, so
// that all loads of a warp are 16 bytes wide and free of bank conflicts.

#pragma once

#include "numbers.cuh"

constexpr int LINES = 128, DEPTH = 16, STAGES = 4, THREADS = 256;
constexpr int CHUNK = LINES * DEPTH;
constexpr int LISTED = 2048;  // chunks listed at once: a sum of more terms is done in parts
constexpr int GROUP = 16;     // rows of C tiles that are worked on together, for the sake of the cache

// What a chunk holds. Bits, so that the `and` of two chunks' kinds tells what their product needs.
constexpr unsigned char FINITE = 1, ALL_ZERO = 2;
// What the pre-pass found in the operands and the bits of their largest finite magnitudes; whether C became less, and
// whether a finite sum reached infinity. kernels/tropical/fast_cuda.py knows the same.
constexpr unsigned NOT_A_NUMBER = 1, NEGATIVE = 2, OUT_OF_RANGE = 4;
struct Report {
    unsigned found, largest[2], changed, overflown;
};

constexpr int SHARED_BYTES = STAGES * 2 * CHUNK * 4 + LISTED * 2;

// The ring of stages: turn t uses stage t % STAGES. A stage may be fetched again once every thread has passed a
// barrier after its last use. 
#if __CUDA_ARCH__ >= 900
// One thread starts the bulk copy engine; a barrier in shared memory counts the bytes that have arrived.
struct Ring {
    unsigned* stages;
    unsigned arrived;  // shared address of the barriers

    __device__ explicit Ring(unsigned* stages) : stages(stages) {
        __shared__ unsigned long long barriers[STAGES];
        arrived = __cvta_generic_to_shared(barriers);
        if (threadIdx.x == 0) {
            for (int i = 0; i < STAGES; ++i)
                asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(arrived + i * 8) : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        }
        __syncthreads();
    }
    __device__ void fetch(unsigned turn, const unsigned* a, const unsigned* b) {
        if (threadIdx.x) return;
        const unsigned barrier = arrived + turn % STAGES * 8;
        const unsigned to = __cvta_generic_to_shared(stage(turn));
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "n"(CHUNK * 8) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                     "l"(a), "n"(CHUNK * 4), "r"(barrier)
                     : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         to + CHUNK * 4),
                     "l"(b), "n"(CHUNK * 4), "r"(barrier)
                     : "memory");
    }
    __device__ void fetch_none() {}
    __device__ void wait(unsigned turn) {
        asm volatile("{\n.reg .pred done;\nAGAIN:\n"
                     "mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(
                         arrived + turn % STAGES * 8),
                     "r"(turn / STAGES & 1)
                     : "memory");
    }
    // Wait for turns that nobody needs any more.
    __device__ void drain(unsigned turn, unsigned fetched) {
        for (; turn < fetched; ++turn) wait(turn);
    }
    __device__ unsigned* stage(unsigned turn) const { return stages + turn % STAGES * 2 * CHUNK; }
};
#else
struct Ring {
    unsigned* stages;

    __device__ explicit Ring(unsigned* stages) : stages(stages) {}
    __device__ void copy(unsigned* to, const unsigned* from) {
#pragma unroll
        for (int i = 0; i < CHUNK / 4 / THREADS; ++i) {
            const int piece = (threadIdx.x + i * THREADS) * 4;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(unsigned(__cvta_generic_to_shared(to + piece))),
                         "l"(from + piece)
                         : "memory");
        }
    }
    __device__ void fetch(unsigned turn, const unsigned* a, const unsigned* b) {
        copy(stage(turn), a);
        copy(stage(turn) + CHUNK, b);
        fetch_none();
    }
    // A turn without a copy, so that the same number is always in flight.
    __device__ void fetch_none() { asm volatile("cp.async.commit_group;" ::: "memory"); }
    __device__ void wait(unsigned) { asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory"); }
    __device__ void drain(unsigned, unsigned) { asm volatile("cp.async.wait_all;" ::: "memory"); }
    __device__ unsigned* stage(unsigned turn) const { return stages + turn % STAGES * 2 * CHUNK; }
};
#endif

// List the chunks in [from, to) whose product holds anything finite; returns how many, or -1 if one is all zero and that is the least.
__device__ inline int list_chunks(unsigned short* list, const unsigned char* kinds_a, const unsigned char* kinds_b,
                                  int from, int to, bool zero_is_least) {
    __shared__ int count, zero;
    __syncthreads();
    if (threadIdx.x == 0) count = zero = 0;
    __syncthreads();
    for (int base = from; base < to; base += THREADS) {
        const int chunk = base + threadIdx.x;
        const int both = chunk < to ? kinds_a[chunk] & kinds_b[chunk] : 0;
        const unsigned mask = __ballot_sync(~0u, both & FINITE);
        const int lane = threadIdx.x % 32;
        int start = 0;
        if (lane == 0 && mask) start = atomicAdd(&count, __popc(mask));
        start = __shfl_sync(~0u, start, 0);
        if (both & FINITE) list[start + __popc(mask & ((1u << lane) - 1))] = chunk - from;
        if (both & ALL_ZERO) zero = 1;
    }
    __syncthreads();
    return zero_is_least && zero ? -1 : count;
}

__device__ __forceinline__ void load8(unsigned (&to)[8], const unsigned* line) {
    const uint4 low = *reinterpret_cast<const uint4*>(line);
    const uint4 high = *reinterpret_cast<const uint4*>(line + LINES / 2);
    to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
    to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
}

// One chunk. Of the eight columns of a thread THREES take three-input minima.
template <class Number, int THREES>
__device__ __forceinline__ void multiply_chunk(unsigned (&best)[8][8], const unsigned* a, const unsigned* b,
                                               unsigned one) {
#pragma unroll
    for (int k = 0; k < DEPTH; k += 2) {
        unsigned a0[8], a1[8], b0[8], b1[8];
        load8(a0, a + k * LINES);
        load8(b0, b + k * LINES);
        load8(a1, a + (k + 1) * LINES);
        load8(b1, b + (k + 1) * LINES);
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                // Spread evenly, so that both pipes are busy all along.
                const bool three = (i + j) % 8 * THREES / 8 != ((i + j) % 8 + 1) * THREES / 8;
                best[i][j] = three ? Number::template relax<true>(best[i][j], a0[i], b0[j], a1[i], b1[j], one)
                                   : Number::template relax<false>(best[i][j], a0[i], b0[j], a1[i], b1[j], one);
            }
    }
}

// Four words of a row of C, which may begin anywhere and end beyond the edge.
template <class Number> struct Words {
    using Entry = typename Number::Entry;
    Entry* c;
    int m, n;
    size_t pitch;
    bool aligned, mirrored;

    __device__ Words(Entry* c, int m, int n, int pitch, bool mirrored)
        : c(c), m(m), n(n), pitch(pitch),
          aligned(n % (4 * Number::ENTRIES) == 0 && pitch % (4 * Number::ENTRIES) == 0 &&
                  reinterpret_cast<size_t>(c) % 16 == 0),
          mirrored(mirrored) {}

    __device__ void load(unsigned (&words)[4], int row, int word) const {
        const int column = word * Number::ENTRIES;
        const Entry* from = c + row * pitch + column;
        if (row >= m || column >= n) {
            words[0] = words[1] = words[2] = words[3] = Number::INFINITE;
            return;
        }
        if (aligned) {
            const uint4 four = *reinterpret_cast<const uint4*>(from);
            words[0] = four.x, words[1] = four.y, words[2] = four.z, words[3] = four.w;
        } else {
            Entry entries[4 * Number::ENTRIES];
#pragma unroll
            for (int e = 0; e < 4 * Number::ENTRIES; ++e) entries[e] = column + e < n ? from[e] : Entry(0);
#pragma unroll
            for (int w = 0; w < 4; ++w) memcpy(&words[w], entries + w * Number::ENTRIES, 4);
        }
        if (mirrored)
            for (int w = 0; w < 4; ++w) words[w] = Number::negated(words[w]);
    }

    __device__ void store(const unsigned (&words)[4], int row, int word) const {
        const int column = word * Number::ENTRIES;
        if (row >= m || column >= n) return;
        Entry* to = c + row * pitch + column;
        unsigned out[4];
        for (int w = 0; w < 4; ++w) out[w] = mirrored ? Number::negated(words[w]) : words[w];
        if (aligned) {
            *reinterpret_cast<uint4*>(to) = make_uint4(out[0], out[1], out[2], out[3]);
        } else {
            Entry entries[4 * Number::ENTRIES];
#pragma unroll
            for (int w = 0; w < 4; ++w) memcpy(entries + w * Number::ENTRIES, &out[w], 4);
#pragma unroll
            for (int e = 0; e < 4 * Number::ENTRIES; ++e)
                if (column + e < n) to[e] = entries[e];
        }
    }

    // Other blocks add to the same entries; returns whether any became less. An entry pair of uint16 must be a word.
    __device__ bool merge(const unsigned (&words)[4], int row, int word) const {
        bool less = false;
        if (row >= m) return less;
        unsigned* to = reinterpret_cast<unsigned*>(c + row * pitch) + word;
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            if ((word + w) * Number::ENTRIES >= n || words[w] == Number::INFINITE) continue;
            const unsigned value = mirrored ? Number::negated(words[w]) : words[w];
            const unsigned before = Number::atomic_lesser(to + w, value, mirrored);
            const unsigned old = mirrored ? Number::negated(before) : before;
            less |= Number::lesser(old, words[w]) != old;
        }
        return less;
    }
};

// Grid: (C tiles, parts of the sum). Of several parts each merges into C, which must hold something already;
// accumulate: a single part does not overwrite C either. bad: what in the report keeps this loop from running.
template <class Number, int THREES>
__device__ __forceinline__ void product(typename Number::Entry* c, const unsigned* packed_a, const unsigned* packed_b,
                                        const unsigned char* kinds_a, const unsigned char* kinds_b, Report* report,
                                        unsigned bad, int m, int n, int pitch, int chunks, unsigned one,
                                        int accumulate, int mirrored, int watch_change) {
    extern __shared__ uint4 shared[];
    Ring ring(reinterpret_cast<unsigned*>(shared));
    unsigned short* const list = reinterpret_cast<unsigned short*>(ring.stages + STAGES * 2 * CHUNK);
    if (report->found & bad) return;

    const int down = (m + LINES - 1) / LINES;
    const int across = (n + LINES * Number::ENTRIES - 1) / (LINES * Number::ENTRIES);
    const int group = blockIdx.x / (GROUP * across), tall = min(GROUP, down - group * GROUP);
    const int within = blockIdx.x - group * GROUP * across;
    const int tile_row = group * GROUP + within % tall, tile_column = within / tall;
    const int part = (chunks + gridDim.y - 1) / gridDim.y;
    const int first = blockIdx.y * part;
    int last = min(chunks, first + part);
    unsigned turn = 0;
    const int strip_a = tile_row * chunks, strip_b = tile_column * chunks;

    // A warp covers 4 x 8 threads: its loads from B are 128 bytes in a row, those from A are broadcast.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int x = (warp % 2 * 8 + lane % 8) * 4, y = (warp / 2 * 4 + lane / 8) * 4;
    const Words<Number> words(c, m, n, pitch, mirrored);
    const bool merging = gridDim.y > 1;
    auto row_of = [&](int i) { return tile_row * LINES + i / 4 * (LINES / 2) + y + i % 4; };
    auto word_of = [&](int half) { return tile_column * LINES + half * (LINES / 2) + x; };

    unsigned best[8][8];
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) best[i][j] = Number::INFINITE;
    if (accumulate && !merging) {
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
            for (int half = 0; half < 2; ++half)
                words.load(reinterpret_cast<unsigned(&)[4]>(best[i][half * 4]), row_of(i), word_of(half));
    }

    for (int from = first; from < last; from += LISTED) {
        const int count = list_chunks(list, kinds_a + strip_a, kinds_b + strip_b, from, min(last, from + LISTED),
                                      Number::ZERO_IS_LEAST);
        if (count < 0) {
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) best[i][j] = Number::lesser(best[i][j], 0);
            break;
        }
        auto fetch = [&](int step) {
            if (step >= count) return ring.fetch_none();
            const int chunk = from + list[step];
            ring.fetch(turn + step, packed_a + size_t(strip_a + chunk) * CHUNK,
                       packed_b + size_t(strip_b + chunk) * CHUNK);
        };
        for (int step = 0; step < STAGES - 1; ++step) fetch(step);
        int step = 0;
        while (step < count) {
            ring.wait(turn + step);
            __syncthreads();
            fetch(step + STAGES - 1);
            const unsigned* stage = ring.stage(turn + step);
            multiply_chunk<Number, THREES>(best, stage + y, stage + CHUNK + x, one);
            ++step;
            // A tile of C that is all zero is final; random zeros fill it within the first few chunks or never.
            if (Number::ZERO_IS_LEAST && (step & (step - 1)) == 0) {
                unsigned any = 0;
#pragma unroll
                for (int i = 0; i < 8; ++i)
#pragma unroll
                    for (int j = 0; j < 8; ++j) any |= best[i][j];
                if (!__syncthreads_or(any)) {
                    last = 0;
                    break;
                }
            }
        }
        const int fetched = min(count, step + STAGES - 1);
        ring.drain(turn + step, turn + fetched);
        turn += fetched;
    }

    bool changed = false;
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            auto& four = reinterpret_cast<unsigned(&)[4]>(best[i][half * 4]);
            if (merging) {
                changed |= words.merge(four, row_of(i), word_of(half));
                continue;
            }
            if (watch_change) {
                unsigned old[4];
                words.load(old, row_of(i), word_of(half));
                for (int w = 0; w < 4; ++w) changed |= old[w] != four[w];
            }
            words.store(four, row_of(i), word_of(half));
        }
    if (watch_change && __syncthreads_or(changed) && threadIdx.x == 0) report->changed = 1;
}
