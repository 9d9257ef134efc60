// What the encoder and the decoder of whole numbers share: FORMAT.md's digits, differences and tiles.
#pragma once
#include "chunk.cuh"

// A thread has eight values that lie together, two threads a group of differences.
constexpr int EACH = 8, GROUP = 16;
constexpr int TILE_ROWS = 32, TILE_COLUMNS = 64;
static_assert(EACH == 1 << 3 && TILE_COLUMNS == 1 << 6);

// Of a type: T the value, Bits its pattern, Level its level, Code the same without a sign.
struct Doubles {
    using T = double;
    using Bits = u64;
    using Level = int;
    using Code = unsigned;
    static constexpr bool FLOAT = true;
};
struct Floats {
    using T = float;
    using Bits = unsigned;
    using Level = int;
    using Code = unsigned;
    static constexpr bool FLOAT = true;
};
struct Longs {
    using T = long long;
    using Bits = u64;
    using Level = long long;
    using Code = u64;
    static constexpr bool FLOAT = false;
};
template <class Integer, class Unsigned> struct Integers {
    using T = Integer;
    using Bits = Unsigned;
    using Level = int;
    using Code = unsigned;
    static constexpr bool FLOAT = false;
};
using Ints = Integers<int, unsigned>;

// Bits of a level.
template <class Type> constexpr int LEVEL = 8 * sizeof(typename Type::Level);
// Words of a value that is stored with its place.
template <class Type> constexpr int STRAY = 1 + (sizeof(typename Type::Bits) + 3) / 4;

// Levels in shared memory: 16 bytes are left free after eight, so that threads that take theirs meet in no bank.
template <class Level> struct Levels {
    static constexpr int PAD = 16 / sizeof(Level), PLACES = CHUNK + CHUNK / EACH * PAD;
    struct alignas(16) Piece {
        Level x[PAD];
    };
    alignas(16) Level all[PLACES];

    // i >= 0: a shift costs less than a division of signed numbers.
    __device__ static int place(int i) { return i + (i >> 3) * PAD; }
    __device__ Level &operator[](int i) { return all[place(i)]; }
    // Values i and i + 1, of which i is even.
    __device__ Two<Level> &two(int i) { return *(Two<Level> *)(all + place(i)); }
    __device__ void put(int i, const Level *x) {
        for (int k = 0; k < EACH; k += PAD) {
            Piece piece;
            for (int j = 0; j < PAD; j++) {
                piece.x[j] = x[k + j];
            }
            *(Piece *)(all + place(i) + k) = piece;
        }
    }
    __device__ void take(int i, Level *x) const {
        for (int k = 0; k < EACH; k += PAD) {
            const Piece piece = *(const Piece *)(all + place(i) + k);
            for (int j = 0; j < PAD; j++) {
                x[k + j] = piece.x[j];
            }
        }
    }
};

// Where the values of a chunk lie: n of them from `begin` on. All chunks are 64 values wide, with `pitch` values from one row
// of 64 to the next, but the last tiles of a band, which are narrower. row: of the array's values within the chunk, 0 for
// none, `stride` values apart. bands: times 32 rows that are cut in tiles.
struct Extent {
    long long begin, pitch = TILE_COLUMNS, stride;
    int n, row, width = TILE_COLUMNS;

    __device__ Extent(long long count, long long chunk, int rows_of, int bands) : stride(rows_of), row(rows_of) {
        if (row >= CHUNK) {
            // Grids have fewer than 2^31 blocks.
            const unsigned across = (row + TILE_COLUMNS - 1) / TILE_COLUMNS, band = unsigned(chunk) / across;
            if (band < bands) {
                const int column = int(unsigned(chunk) - band * across) * TILE_COLUMNS;
                begin = (long long)band * TILE_ROWS * row + column;
                pitch = stride;
                row = width = min(TILE_COLUMNS, row - column);
                n = row * TILE_ROWS;
                return;
            }
            chunk -= (long long)bands * across;
            begin = (long long)bands * TILE_ROWS * row + chunk * CHUNK;
        } else {
            begin = chunk * CHUNK;
        }
        const long long left = count - begin;
        n = left < CHUNK ? int(left) : CHUNK;
        row = row < n ? row : 0;
    }

    // Place of value i, counted from `begin`.
    __device__ long long at(int i) const {
        const int r = width == TILE_COLUMNS ? i >> 6 : int(unsigned(i) / unsigned(width));
        return r * pitch + (i - r * width);
    }
    // Whether `some` values that lie together in the chunk do so in the array, at a multiple of as many.
    __device__ bool together(int some) const { return width == TILE_COLUMNS && pitch % some == 0; }
};

// Bits of eight digits of a radix of up to 255.
__device__ inline int container_bits(unsigned radix) {
    const unsigned fourth = radix * radix * radix * radix;
    return 64 - __clzll(u64(fourth) * fourth - 1);
}

// Sum of an amount over the threads before this one in its block; `all`: over the whole block. Called once. sums: [WARPS].
template <class Number> __device__ inline Number scan(Number mine, Number *sums, Number &all) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    Number sum = mine;
    for (int step = 1; step < 32; step <<= 1) {
        const Number lower = __shfl_up_sync(ALL, sum, step);
        sum += lane >= step ? lower : 0;
    }
    if (lane == 31) {
        sums[warp] = sum;
    }
    __syncthreads();
    Number before = 0;
    all = 0;
    for (int w = 0; w < WARPS; w++) {
        before += w < warp ? sums[w] : 0;
        all += sums[w];
    }
    return before + sum - mine;
}
