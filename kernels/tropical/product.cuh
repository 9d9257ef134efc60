// The inner loop of `fast`: C = min(C, A (x) B) on packed operands (pack.cuh).
//
// The layers are those of Goto and van de Geijn (Anatomy of high-performance matrix multiplication, 2008) and BLIS (Van
// Zee and van de Geijn, 2015): operands packed in the order of use, tiles that stay in fast memory, a kernel on
// registers. A block computes LINES_A x LINES_B words of C, a thread ROWS x 8 of them, in squares of 4 x 4 spread over
// the tile. Chunks of DEPTH terms pass through a ring of STAGES in shared memory. A chunk holds DEPTH lines of all
// words of the tile, so all loads of a warp are 16 bytes wide and free of bank conflicts.

#pragma once

#include "numbers.cuh"

// Three blocks a multiprocessor leave 168 registers a thread.
constexpr int ROWS = 8, THREADS = 128, BLOCKS = 3;
constexpr int LINES_A = 64, LINES_B = 128, DEPTH = 32, STAGES = 3;
static_assert(LINES_A == THREADS / 16 * ROWS && LINES_B == 16 * 8, "16 threads across, each with 8 words of a row");
constexpr int CHUNK_A = LINES_A * DEPTH, CHUNK_B = LINES_B * DEPTH, STAGE = CHUNK_A + CHUNK_B;
// Pairs of terms between two branches: measured on sm_90. Older GPUs emulate the three-input minimum, and the rolled
// loop compiles in half the time.
#if __CUDA_ARCH__ >= 900
constexpr int UNROLLED = 8;
#else
constexpr int UNROLLED = 1;
#endif
constexpr int LISTED = 1024;  // chunks listed at once: a sum of more terms is done in parts
constexpr int GROUP = 16;     // rows of C tiles that run together, so that they share strips of A in L2

// What a chunk holds, as bits: the `and` of two chunks' kinds says what their product needs.
constexpr unsigned char FINITE = 1, ALL_ZERO = 2;
// What the pre-pass found in the operands (bits), the bits of their largest finite magnitudes, whether C became less,
// and whether a finite sum reached infinity. REPORT in cuda_packed.py has the same fields.
constexpr unsigned NOT_A_NUMBER = 1, NEGATIVE = 2, OUT_OF_RANGE = 4;
struct Report {
    unsigned found, largest[2], changed, overflown;
};

constexpr int SHARED_BYTES = STAGES * STAGE * 4 + LISTED * 2;

// The ring of stages: turn t lies in stage t % STAGES, is fetched AHEAD turns before its use, and overwrites a stage
// that every warp has released. Warps may be up to two turns apart and never wait for each other.
constexpr int AHEAD = STAGES - 2;

#if __CUDA_ARCH__ >= 900
// One thread starts the bulk copies. Each stage has two barriers in shared memory: one counts the bytes that have
// arrived, the other the warps that are done with the stage.
struct Ring {
    unsigned* stages;
    unsigned arrived;  // shared address of those barriers; the others follow

    __device__ explicit Ring(unsigned* stages) : stages(stages) {
        __shared__ unsigned long long barriers[2 * STAGES];
        arrived = __cvta_generic_to_shared(barriers);
        if (threadIdx.x == 0) {
            for (int i = 0; i < 2 * STAGES; ++i)
                asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(arrived + i * 8),
                             "r"(i < STAGES ? 1 : THREADS / 32)
                             : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        }
        __syncthreads();
    }
    __device__ static void await(unsigned barrier, unsigned round) {
        asm volatile("{\n.reg .pred done;\nAGAIN:\n"
                     "mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(barrier),
                     "r"(round & 1)
                     : "memory");
    }
    __device__ void fetch(unsigned turn, const unsigned* a, const unsigned* b) {
        if (threadIdx.x) return;
        const unsigned barrier = arrived + turn % STAGES * 8;
        const unsigned to = __cvta_generic_to_shared(stage(turn));
        if (turn >= STAGES) await(barrier + STAGES * 8, turn / STAGES - 1);
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "n"(STAGE * 4) : "memory");
        copy<CHUNK_A>(to, a, barrier);
        copy<CHUNK_B>(to + CHUNK_A * 4, b, barrier);
    }
    template <int CHUNK> __device__ static void copy(unsigned to, const unsigned* from, unsigned barrier) {
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :
                     : "r"(to), "l"(from), "n"(CHUNK * 4), "r"(barrier)
                     : "memory");
    }
    __device__ void fetch_none() {}
    __device__ void wait(unsigned turn) { await(arrived + turn % STAGES * 8, turn / STAGES); }
    // __syncwarp orders the reads of the whole warp before its one arrival; racecheck sees only those of the lane that
    // arrives (NOTES.md).
    __device__ void release(unsigned turn) {
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(arrived + (STAGES + turn % STAGES) * 8)
                         : "memory");
    }
    // For turns that were fetched and are not used.
    __device__ void drain(unsigned turn, unsigned fetched) {
        for (; turn < fetched; ++turn) wait(turn), release(turn);
    }
    __device__ unsigned* stage(unsigned turn) const { return stages + turn % STAGES * STAGE; }
};
#else
// Every thread copies its share; a barrier makes all shares visible.
struct Ring {
    unsigned* stages;

    __device__ explicit Ring(unsigned* stages) : stages(stages) {}
    template <int CHUNK> __device__ void copy(unsigned* to, const unsigned* from) {
#pragma unroll
        for (int i = 0; i < CHUNK / 4 / THREADS; ++i) {
            const int piece = (threadIdx.x + i * THREADS) * 4;
            const unsigned place = __cvta_generic_to_shared(to + piece);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from + piece) : "memory");
        }
    }
    __device__ void fetch(unsigned turn, const unsigned* a, const unsigned* b) {
        copy<CHUNK_A>(stage(turn), a);
        copy<CHUNK_B>(stage(turn) + CHUNK_A, b);
        fetch_none();
    }
    // A turn without a copy, so that the same number is always in flight.
    __device__ void fetch_none() { asm volatile("cp.async.commit_group;" ::: "memory"); }
    __device__ void wait(unsigned) {
        asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD) : "memory");
        __syncthreads();
    }
    __device__ void release(unsigned) {}
    __device__ void drain(unsigned, unsigned) { asm volatile("cp.async.wait_all;" ::: "memory"); }
    __device__ unsigned* stage(unsigned turn) const { return stages + turn % STAGES * STAGE; }
};
#endif

// List the chunks in [from, to) whose product holds anything finite; returns how many, or -1 if one is all zero and
// zero is the least there is.
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

// The squares of one thread in a line of words: four words every LINES * 4 / N.
template <int LINES, int N> __device__ __forceinline__ void load(unsigned (&to)[N], const unsigned* line) {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
        const uint4 four = *reinterpret_cast<const uint4*>(line + i * (LINES / N));
        to[i] = four.x, to[i + 1] = four.y, to[i + 2] = four.z, to[i + 3] = four.w;
    }
}

// One chunk, two terms at a time. Of the eight words in a row of a thread THREES take three-input minima, spread
// evenly, so that both pipes are busy at all times.
template <class Number, int THREES>
__device__ __forceinline__ void multiply_chunk(unsigned (&best)[ROWS][8], const unsigned* a, const unsigned* b,
                                               unsigned one) {
#pragma unroll UNROLLED
    for (int k = 0; k < DEPTH; k += 2) {
        unsigned a0[ROWS], a1[ROWS], b0[8], b1[8];
        load<LINES_A>(a0, a + k * LINES_A);
        load<LINES_B>(b0, b + k * LINES_B);
        load<LINES_A>(a1, a + (k + 1) * LINES_A);
        load<LINES_B>(b1, b + (k + 1) * LINES_B);
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                unsigned& word = best[i][j];
                if ((i + j) % 8 * THREES / 8 != ((i + j) % 8 + 1) * THREES / 8)
                    word = Number::two_terms(word, a0[i], b0[j], a1[i], b1[j], one);
                else
                    word = Number::term(Number::term(word, a0[i], b0[j]), a1[i], b1[j]);
            }
    }
}

// Reads and writes four words of a row of C, which may begin at any address and reach beyond the edge.
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

    // Several blocks write to the same entries. Returns whether any became less, if `watch`. Pairs of uint16 must begin
    // at a whole word.
    __device__ bool merge(const unsigned (&words)[4], int row, int word, bool watch) const {
        bool less = false;
        if (row >= m) return less;
        unsigned* to = reinterpret_cast<unsigned*>(c + row * pitch) + word;
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            if ((word + w) * Number::ENTRIES >= n || words[w] == Number::INFINITE) continue;
            const unsigned value = mirrored ? Number::negated(words[w]) : words[w];
            if (!watch) {
                Number::atomic_lesser(to + w, value, mirrored);  // no result: a reduction is the faster instruction
                continue;
            }
            const unsigned before = Number::atomic_lesser(to + w, value, mirrored);
            const unsigned old = mirrored ? Number::negated(before) : before;
            less |= Number::lesser(old, words[w]) != old;
        }
        return less;
    }
};

// The C tiles of a launch: numbered without some neighbouring rows and columns of tiles, from `first` on.
struct Tiles {
    int first, row_gap, rows_left_out, column_gap, columns_left_out;
};

// Grid: (C tiles, parts of the sum). Where there are several parts, each merges its result into C, which must be filled
// before. accumulate: a single part takes the minimum with C too. bad: bits of the report with which nothing is
// computed.
template <class Number, int THREES>
__device__ __forceinline__ void product(typename Number::Entry* c, const unsigned* packed_a, const unsigned* packed_b,
                                        const unsigned char* kinds_a, const unsigned char* kinds_b, Report* report,
                                        unsigned bad, const Tiles& tiles, int m, int n, int pitch, int chunks,
                                        unsigned one, int accumulate, int mirrored, int watch_change) {
    extern __shared__ uint4 shared[];
    Ring ring(reinterpret_cast<unsigned*>(shared));
    unsigned short* const list = reinterpret_cast<unsigned short*>(ring.stages + STAGES * STAGE);
    if (report->found & bad) return;
    const int down = (m + LINES_A - 1) / LINES_A - tiles.rows_left_out;
    const int across = (n + LINES_B * Number::ENTRIES - 1) / (LINES_B * Number::ENTRIES) - tiles.columns_left_out;
    const int tile = tiles.first + blockIdx.x;
    const int group = tile / (GROUP * across), tall = min(GROUP, down - group * GROUP);
    const int within = tile - group * GROUP * across;
    int tile_row = group * GROUP + within % tall, tile_column = within / tall;
    if (tile_row >= tiles.row_gap) tile_row += tiles.rows_left_out;
    if (tile_column >= tiles.column_gap) tile_column += tiles.columns_left_out;
    const int part = (chunks + gridDim.y - 1) / gridDim.y;
    const int first = blockIdx.y * part;
    int last = min(chunks, first + part);
    unsigned turn = 0;
    const int strip_a = tile_row * chunks, strip_b = tile_column * chunks;

    // A warp is 4 x 8 threads: it loads 128 neighbouring bytes of B, and the same words of A for 8 threads at once.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int x = (warp % 2 * 8 + lane % 8) * 4, y = (warp / 2 * 4 + lane / 8) * 4;
    const Words<Number> words(c, m, n, pitch, mirrored);
    const bool merging = gridDim.y > 1;
    auto row_of = [&](int i) { return tile_row * LINES_A + i / 4 * (LINES_A * 4 / ROWS) + y + i % 4; };
    auto word_of = [&](int half) { return tile_column * LINES_B + half * (LINES_B / 2) + x; };

    unsigned best[ROWS][8];
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) best[i][j] = Number::INFINITE;
    if (accumulate && !merging) {
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
#pragma unroll
            for (int half = 0; half < 2; ++half)
                words.load(reinterpret_cast<unsigned(&)[4]>(best[i][half * 4]), row_of(i), word_of(half));
    }

    for (int from = first; from < last; from += LISTED) {
        const int count = list_chunks(list, kinds_a + strip_a, kinds_b + strip_b, from, min(last, from + LISTED),
                                      Number::ZERO_IS_LEAST);
        if (count < 0) {
#pragma unroll
            for (int i = 0; i < ROWS; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) best[i][j] = Number::lesser(best[i][j], 0);
            break;
        }
        auto fetch = [&](int step) {
            if (step >= count) return ring.fetch_none();
            const int chunk = from + list[step];
            ring.fetch(turn + step, packed_a + size_t(strip_a + chunk) * CHUNK_A,
                       packed_b + size_t(strip_b + chunk) * CHUNK_B);
        };
        for (int step = 0; step < AHEAD; ++step) fetch(step);
        int step = 0;
        while (step < count) {
            fetch(step + AHEAD);
            ring.wait(turn + step);
            const unsigned* stage = ring.stage(turn + step);
            multiply_chunk<Number, THREES>(best, stage + y, stage + CHUNK_A + x, one);
            ring.release(turn + step);
            ++step;
            // A tile of C that is all zero is final. Looked at after 1, 2, 4, 8, ... chunks: random zeros fill a tile
            // within the first few chunks or not at all.
            if (Number::ZERO_IS_LEAST && (step & (step - 1)) == 0) {
                unsigned any = 0;
#pragma unroll
                for (int i = 0; i < ROWS; ++i)
#pragma unroll
                    for (int j = 0; j < 8; ++j) any |= best[i][j];
                if (!__syncthreads_or(any)) {
                    last = 0;
                    break;
                }
            }
        }
        const int fetched = min(count, step + AHEAD);
        ring.drain(turn + step, turn + fetched);
        turn += fetched;
    }

    bool changed = false;
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            auto& four = reinterpret_cast<unsigned(&)[4]>(best[i][half * 4]);
            if (merging) {
                changed |= words.merge(four, row_of(i), word_of(half), watch_change);
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
