// `fast` for small products, in one launch: operands are read where they lie. Some blocks compute ROWS x WORDS words of
// C each. Others do the rest of what the pre-pass of fast.cu does: they look for entries that are not allowed, for the
// largest ones, and for chunks that are all infinite. So C is written even if the report refuses an operand, or asks
// for the loop of floats of either sign.

#include "pack.cuh"

namespace small {

constexpr int SMALL_THREADS = 256, SMALL_ROWS = 32, SMALL_WORDS = 64, SMALL_DEPTH = 32;
// Rows and words of C a thread. A team of 8 x 8 threads computes the tile; each team takes its share of the terms of
// every chunk, and the results are put together at the end.
constexpr int HIGH = 4, WIDE = 8, TEAM = 64, TEAMS = SMALL_THREADS / TEAM, TERMS = SMALL_DEPTH / TEAMS;
static_assert(SMALL_ROWS == 8 * HIGH && SMALL_WORDS == 8 * WIDE, "8 x 8 threads");
// Words of shared memory between rows of A and between terms of B; four more than there are, against bank conflicts.
constexpr int PITCH_A = SMALL_DEPTH + 4, PITCH_B = SMALL_WORDS + 4;
constexpr int WARPS = SMALL_THREADS / 32;
constexpr int STAGE_A = SMALL_ROWS * PITCH_A, STAGE_B = SMALL_DEPTH * PITCH_B, RESULTS = TEAMS * TEAM * HIGH * WIDE;
constexpr int SHARED = 2 * (STAGE_A + STAGE_B) > RESULTS ? 2 * (STAGE_A + STAGE_B) : RESULTS;  // words
// What a warp tells the block of a chunk; NOT_ZERO of its team.
constexpr unsigned FINITE_A = 1, FINITE_B = 2, NOT_ZERO = 4;

// lines: rows of A, columns of B; strides in entries; kinds [strips, chunks]: FINITE, or 0 where all is infinite.
template <class Number> struct View {
    const typename Number::Entry* matrix;
    long long line_stride, term_stride;
    unsigned char* kinds;
};

template <class Entry> __device__ unsigned without_minus_zero(unsigned word) { return word; }
template <> __device__ inline unsigned without_minus_zero<float>(unsigned word) {
    return __float_as_uint(__uint_as_float(word) + 0.0f);
}

// What one thread reads of every chunk of an operand: WORDS words, four by four along terms in A and along lines in B,
// by loads of four entries. Where strides or sizes are no multiples of that, it reads entry by entry, and neighbouring
// threads neighbouring entries of either direction. Entries beyond an edge are infinite.
template <class Number, bool LEFT> class Share {
    using Entry = typename Number::Entry;
    static constexpr int LINES = LEFT ? SMALL_ROWS : SMALL_WORDS, ENTRIES = LEFT ? 1 : Number::ENTRIES;
    static constexpr int WORDS = LINES * SMALL_DEPTH / SMALL_THREADS, LOADS = WORDS / 4 * ENTRIES;
    static constexpr int ACROSS = (LEFT ? SMALL_DEPTH : LINES) / 4, DOWN = SMALL_THREADS / ACROSS;
    static constexpr int PITCH = LEFT ? PITCH_A : PITCH_B;
    // Entries of a 32-bit register, as they lie in memory, and registers of a load.
    static constexpr int HELD = 4 / sizeof(Entry), REGISTERS = 4 / HELD;

    const Entry* from;      // the thread's first entry of the next chunk
    long long chunk, step;  // entries between chunks, and between four words, or words, of one
    long long line_stride;
    unsigned inside;    // bit i: load i, or entry i, is of lines of the matrix
    int term, terms;    // of the first word, and from four words, or a word, to the next
    int place, places;  // in shared memory, likewise
    bool whole;         // four entries at once
    unsigned held[WORDS * ENTRIES / HELD];

public:
    // first: of the tile's lines; lines, terms_in_all: of the matrix.
    __device__ __forceinline__ Share(const View<Number>& view, int first, int lines, int terms_in_all) {
        const long long along = LEFT ? view.term_stride : view.line_stride;
        const long long other = LEFT ? view.line_stride : view.term_stride;
        whole = along == 1 && other % 4 == 0 && reinterpret_cast<size_t>(view.matrix) % (4 * sizeof(Entry)) == 0 &&
                (LEFT ? terms_in_all : lines) % 4 == 0;
        int line, line_step;
        if (whole) {
            const int x = threadIdx.x % ACROSS * 4, y = threadIdx.x / ACROSS;
            line = LEFT ? y : x, term = LEFT ? x : y;
            line_step = LEFT ? DOWN : 0, terms = LEFT ? 0 : DOWN;
        } else {
            const bool by_terms = view.line_stride != 1;
            const int across = by_terms ? SMALL_DEPTH : LINES, x = threadIdx.x % across, y = threadIdx.x / across;
            line = by_terms ? y : x, term = by_terms ? x : y;
            line_step = by_terms ? SMALL_THREADS / SMALL_DEPTH : 0, terms = by_terms ? 0 : SMALL_THREADS / LINES;
        }
        from = view.matrix + (first + line * ENTRIES) * view.line_stride + term * view.term_stride;
        chunk = SMALL_DEPTH * view.term_stride;
        step = line_step * ENTRIES * view.line_stride + terms * view.term_stride;
        line_stride = view.line_stride;
        inside = 0;
        for (int i = 0; i < (whole ? LOADS : WORDS * ENTRIES); ++i) {
            const int within = whole ? i % ENTRIES * 4 : i % ENTRIES;
            inside |= unsigned(first + (line + i / ENTRIES * line_step) * ENTRIES + within < lines) << i;
        }
        place = LEFT ? line * PITCH + term : term * PITCH + line;
        places = LEFT ? line_step * PITCH + terms : terms * PITCH + line_step;
    }

    // left: terms that are left of the sum, with those of this chunk; beyond: infinity in each entry of a register.
    __device__ __forceinline__ void fetch(int left, unsigned beyond) {
        if (whole) {
#pragma unroll
            for (int i = 0; i < LOADS; ++i) {
                struct alignas(REGISTERS * 4) Four {
                    unsigned registers[REGISTERS];
                } four;
#pragma unroll
                for (int r = 0; r < REGISTERS; ++r) four.registers[r] = beyond;
                if (inside >> i & 1 && term + i / ENTRIES * terms < left)
                    four = *reinterpret_cast<const Four*>(from + i / ENTRIES * step + i % ENTRIES * 4);
#pragma unroll
                for (int r = 0; r < REGISTERS; ++r) held[i * REGISTERS + r] = four.registers[r];
            }
        } else {
#pragma unroll
            for (int i = 0; i < WORDS * ENTRIES / HELD; ++i) {
                unsigned bits[HELD];
#pragma unroll
                for (int h = 0; h < HELD; ++h) {
                    const int entry = i * HELD + h, word = entry / ENTRIES;
                    const bool there = inside >> entry & 1 && term + word * terms < left;
                    bits[h] = there ? bits_of(from[word * step + entry % ENTRIES * line_stride]) : beyond;
                }
                held[i] = HELD == 1 ? bits[0] : __byte_perm(bits[0], bits[HELD - 1], 0x5410);
            }
        }
        from += chunk;
    }

    // Writes what was fetched to shared memory, as ready words; returns whether any of it is finite.
    __device__ __forceinline__ bool put(unsigned* to, int mirrored) {
        bool finite = false;
        unsigned words[WORDS];
#pragma unroll
        for (int i = 0; i < WORDS; ++i) {
            const unsigned raw =
                LEFT && HELD == 2 ? __byte_perm(held[i / HELD], 0, i % HELD ? 0x3232 : 0x1010) : held[i];
            words[i] = mirrored ? Number::negated(raw) : without_minus_zero<Entry>(raw);
            finite |= words[i] != Number::INFINITE;
        }
        if (whole) {
#pragma unroll
            for (int r = 0; r < WORDS / 4; ++r)
                *reinterpret_cast<uint4*>(to + place + r * places) =
                    make_uint4(words[4 * r], words[4 * r + 1], words[4 * r + 2], words[4 * r + 3]);
        } else {
#pragma unroll
            for (int i = 0; i < WORDS; ++i) to[place + i * places] = words[i];
        }
        return finite;
    }
};

// A warp looks at a chunk of 32 lines of an operand.
template <class Number>
__device__ __forceinline__ void look(const View<Number> view, int chunk, int chunks, int lines, int terms,
                                     unsigned* largest, Report* report, int mirrored, int skip) {
    using Entry = typename Number::Entry;
    const unsigned infinite_bits = bits_of(Number::infinite());
    const Entry beyond = mirrored ? -Number::infinite() : Number::infinite();
    const int lane = threadIdx.x % 32;
    const int first_line = chunk / chunks * 32, first_term = chunk % chunks * SMALL_DEPTH;
    const bool by_terms = view.line_stride != 1;
    const int line = first_line + (by_terms ? 0 : lane), term = first_term + (by_terms ? lane : 0);
    const Entry* from = view.matrix + line * view.line_stride + term * view.term_stride;
    const long long step = by_terms ? view.line_stride : view.term_stride;
    const int inside = line >= lines || term >= terms ? 0 : by_terms ? lines - line : terms - term;
    Entry entries[32];
#pragma unroll
    for (int i = 0; i < 32; ++i) entries[i] = i < inside ? from[i * step] : beyond;
    unsigned low = ~0u, high = 0, most = 0, found = 0;
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        const Entry entry = mirrored ? Entry(0) - entries[i] : entries[i] + Entry(0);
        const unsigned bits = bits_of(entry), magnitude = bits & 0x7FFFFFFF;
        low = min(low, bits);
        high = max(high, bits);
        most = max(most, magnitude < infinite_bits ? magnitude : 0);
    }
    if (high > infinite_bits)
#pragma unroll 1
        for (int i = 0; i < min(inside, 32); ++i) {
            const Entry entry = mirrored ? Entry(0) - from[i * step] : from[i * step] + Entry(0);
            if (bits_of(entry) > infinite_bits) found |= fault_of(entry);
        }
    const bool finite = __any_sync(~0u, low < infinite_bits || high > infinite_bits || !skip);
    found = __reduce_or_sync(~0u, found);
    most = __reduce_max_sync(~0u, most);
    if (lane) return;
    view.kinds[chunk] = finite ? FINITE : 0;
    if (found) atomicOr(&report->found, found);
    if (most) atomicMax(largest, most);
}

// Grid: the tiles of C, row by row, then blocks that look at a chunk a warp.
template <class Number, int THREES>
__device__ __forceinline__ void product(typename Number::Entry* c, const View<Number>& a, const View<Number>& b,
                                        Report* report, int m, int k, int n, int pitch, unsigned one, int mirrored,
                                        int skip) {
    using Entry = typename Number::Entry;
    __shared__ alignas(16) unsigned shared[SHARED];
    __shared__ alignas(8) unsigned char told[2][WARPS];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    constexpr int COLUMNS = SMALL_WORDS * Number::ENTRIES;
    const int chunks = (k + SMALL_DEPTH - 1) / SMALL_DEPTH;
    const int down = (m + SMALL_ROWS - 1) / SMALL_ROWS, across = (n + COLUMNS - 1) / COLUMNS;
    if (blockIdx.x >= down * across) {
        const int chunk = (blockIdx.x - down * across) * WARPS + warp, of_a = (m + 31) / 32 * chunks;
        const bool left = chunk < of_a;
        if (chunk < of_a + (n + 31) / 32 * chunks)
            look(left ? View<Number>(a) : View<Number>(b), left ? chunk : chunk - of_a, chunks, left ? m : n, k,
                 &report->largest[!left], report, mirrored, skip);
        return;
    }

    const int tile_row = blockIdx.x / across, tile_column = blockIdx.x % across;
    const unsigned beyond = mirrored ? Number::negated(Number::INFINITE) : Number::INFINITE;
    Share<Number, true> share_a(a, tile_row * SMALL_ROWS, m, k);
    Share<Number, false> share_b(b, tile_column * COLUMNS, n, k);
    // A warp is 4 x 8 threads, as in product.cuh. A thread has every eighth row, and two squares of four words in it.
    const int team = threadIdx.x / TEAM, member = threadIdx.x % TEAM, x = member % 8 * 4, y = member / 8;
    alignas(16) unsigned best[HIGH][WIDE];
#pragma unroll
    for (int i = 0; i < HIGH; ++i)
#pragma unroll
        for (int j = 0; j < WIDE; ++j) {
            // What lies beyond an edge is zero, so that the tile is final when the rest is.
            const int row = tile_row * SMALL_ROWS + y + i * 8;
            const int column = tile_column * COLUMNS + (j / 4 * (SMALL_WORDS / 2) + x + j % 4) * Number::ENTRIES;
            const unsigned within = Number::ENTRIES == 2 && column + 1 >= n ? 0xFFFF : ~0u;
            best[i][j] = row < m && column < n ? Number::INFINITE & within : 0;
        }

    share_a.fetch(k, beyond);
    share_b.fetch(k, beyond);
    for (int chunk = 0; chunk < chunks; ++chunk) {
        unsigned* const at_a = shared + chunk % 2 * (STAGE_A + STAGE_B);
        unsigned* const at_b = at_a + STAGE_A;
        const bool finite_a = share_a.put(at_a, mirrored), finite_b = share_b.put(at_b, mirrored);
        unsigned any = !Number::ZERO_IS_LEAST;
#pragma unroll
        for (int i = 0; i < HIGH; ++i)
#pragma unroll
            for (int j = 0; j < WIDE; ++j) any |= best[i][j];
        const unsigned tell = __reduce_or_sync(~0u, (finite_a || !skip ? FINITE_A : 0) |
                                                        (finite_b || !skip ? FINITE_B : 0) |
                                                        (any ? NOT_ZERO << team : 0));
        if (lane == 0) told[chunk % 2][warp] = tell;
        // One barrier a chunk: a stage is written again two chunks later, behind the barrier of the chunk between.
        __syncthreads();
        const int left = k - (chunk + 1) * SMALL_DEPTH;
        if (left > 0) {
            share_a.fetch(left, beyond);
            share_b.fetch(left, beyond);
        }
        const uint2 eight = *reinterpret_cast<const uint2*>(told[chunk % 2]);
        unsigned all = eight.x | eight.y;
        all |= all >> 16;
        all |= all >> 8;
        // A tile of C that is all zero is final.
        constexpr unsigned EVERY = ((1 << TEAMS) - 1) * NOT_ZERO;
        if ((all & EVERY) != EVERY) break;
        if ((all & (FINITE_A | FINITE_B)) != (FINITE_A | FINITE_B)) continue;
        const unsigned* const from_a = at_a + y * PITCH_A + team * TERMS;
        const unsigned* const from_b = at_b + team * TERMS * PITCH_B + x;
#pragma unroll
        for (int l = 0; l < TERMS; l += 4) {
            unsigned terms[HIGH][4];
#pragma unroll
            for (int i = 0; i < HIGH; ++i) load<4>(terms[i], from_a + i * 8 * PITCH_A + l);
#pragma unroll
            for (int t = 0; t < 4; t += 2) {
                unsigned b0[WIDE], b1[WIDE];
                load<SMALL_WORDS>(b0, from_b + (l + t) * PITCH_B);
                load<SMALL_WORDS>(b1, from_b + (l + t + 1) * PITCH_B);
#pragma unroll
                for (int i = 0; i < HIGH; ++i)
#pragma unroll
                    for (int j = 0; j < WIDE; ++j) {
                        unsigned& word = best[i][j];
                        if ((i + j) % 8 * THREES / 8 != ((i + j) % 8 + 1) * THREES / 8)
                            word = Number::two_terms(word, terms[i][t], b0[j], terms[i][t + 1], b1[j], one);
                        else
                            word = Number::term(Number::term(word, terms[i][t], b0[j]), terms[i][t + 1], b1[j]);
                    }
            }
        }
    }

    // Thread `member` of every team has the same words; team i puts their i-th rows together.
    __syncthreads();
    uint4* const results = reinterpret_cast<uint4*>(shared);
#pragma unroll
    for (int i = 0; i < HIGH; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half)
            results[((i * TEAMS + team) * 2 + half) * TEAM + member] =
                *reinterpret_cast<const uint4*>(&best[i][half * 4]);
    __syncthreads();
    static_assert(TEAMS == HIGH, "a row a team");
    const Words<Number> words(c, m, n, pitch, mirrored);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        unsigned least[4] = {Number::INFINITE, Number::INFINITE, Number::INFINITE, Number::INFINITE};
#pragma unroll
        for (int other = 0; other < TEAMS; ++other) {
            const uint4 four = results[((team * TEAMS + other) * 2 + half) * TEAM + member];
            least[0] = Number::lesser(least[0], four.x);
            least[1] = Number::lesser(least[1], four.y);
            least[2] = Number::lesser(least[2], four.z);
            least[3] = Number::lesser(least[3], four.w);
        }
        words.store(least, tile_row * SMALL_ROWS + y + team * 8,
                    tile_column * SMALL_WORDS + half * (SMALL_WORDS / 2) + x);
    }
}

}  // namespace small

#define SMALL(NAME, NUMBER, THREES)                                                                                    \
    extern "C" __global__ void __launch_bounds__(small::SMALL_THREADS, 2)                                              \
        small_##NAME(NUMBER::Entry* c, const small::View<NUMBER> a, const small::View<NUMBER> b, Report* report,       \
                     int m, int k, int n, int pitch, unsigned one, int mirrored, int skip) {                           \
        small::product<NUMBER, THREES>(c, a, b, report, m, k, n, pitch, one, mirrored, skip);                          \
    }

SMALL(float32, Float32, 8)
SMALL(signed_float32, SignedFloat32, 0)
SMALL(int32, Int32, 4)
SMALL(uint16, UInt16, 4)
