// `fast`: the product over (min, +) for float32, int32 and uint16 on register tiles. A pre-pass packs the operands
// (pack.cuh), then one kernel multiplies (product.cuh). Three-input minima and additions on the multiply-add pipe
// (numbers.cuh) take it past the limit of one minimum a pair.

#include "pack.cuh"

// Looks for entries of C that are infinite, of either sign, although a term of their sum is finite. Called only where
// the largest entries of A and B could reach infinity. Grid: (rows, columns / THREADS).
template <class Entry>
__device__ __forceinline__ void find_overflow(const Entry* c, const Entry* a, const Entry* b, Report* report,
                                              Entry infinite, Entry opposite, int k, int n, int c_pitch,
                                              long long a_row, long long a_column, long long b_row,
                                              long long b_column) {
    const int column = blockIdx.y * THREADS + threadIdx.x;
    const long long row = blockIdx.x;
    if (column >= n) return;
    const Entry found = c[row * c_pitch + column];
    if (found != infinite && found != opposite) return;
    for (int l = 0; l < k; ++l)
        if (a[row * a_row + l * a_column] != infinite && b[l * b_row + column * b_column] != infinite) {
            report->overflown = 1;
            return;
        }
}

// Reports the entries of C [rows, n] that the semiring cannot hold, and negative ones. Grid: (rows, columns / THREADS).
template <class Number>
__device__ __forceinline__ void examine(const typename Number::Entry* c, Report* report, int n, long long pitch,
                                        int mirrored) {
    using Entry = typename Number::Entry;
    const int column = blockIdx.y * THREADS + threadIdx.x;
    if (column >= n) return;
    const Entry entry = c[blockIdx.x * pitch + column], x = mirrored ? Entry(0) - entry : entry;
    if (bits_of(x) > bits_of(Number::infinite())) atomicOr(&report->found, fault_of(x));
}

#define PRODUCT(NAME, NUMBER, THREES, BAD)                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)                                                      \
        product_##NAME(NUMBER::Entry* c, const unsigned* packed_a, const unsigned* packed_b,                           \
                       const unsigned char* kinds_a, const unsigned char* kinds_b, Report* report, const Tiles tiles,  \
                       int m, int n, int pitch, int chunks, unsigned one, int accumulate, int mirrored,                \
                       int watch_change) {                                                                             \
        product<NUMBER, THREES>(c, packed_a, packed_b, kinds_a, kinds_b, report, BAD, tiles, m, n, pitch, chunks, one, \
                                accumulate, mirrored, watch_change);                                                   \
    }
#define KERNELS(NAME, NUMBER)                                                                                          \
    extern "C" __global__ void __launch_bounds__(PACK_THREADS)                                                         \
        pack_##NAME(const Operand<NUMBER> a, const Operand<NUMBER> b, unsigned* c, unsigned words, Report* report,     \
                    int mirrored, int skip) {                                                                          \
        pack<NUMBER>(a, b, c, words, report, mirrored, skip);                                                          \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        overflow_##NAME(const NUMBER::Entry* c, const NUMBER::Entry* a, const NUMBER::Entry* b, Report* report,        \
                        NUMBER::Entry infinite, NUMBER::Entry opposite, int k, int n, int c_pitch, long long a_row,    \
                        long long a_column, long long b_row, long long b_column) {                                     \
        find_overflow(c, a, b, report, infinite, opposite, k, n, c_pitch, a_row, a_column, b_row, b_column);           \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        examine_##NAME(const NUMBER::Entry* c, Report* report, int n, long long pitch, int mirrored) {                 \
        examine<NUMBER>(c, report, n, pitch, mirrored);                                                                \
    }

#ifndef ONLY_TEMPLATES
KERNELS(float32, Float32)
KERNELS(int32, Int32)
KERNELS(uint16, UInt16)
PRODUCT(float32, Float32, 8, NOT_A_NUMBER | NEGATIVE | OUT_OF_RANGE)
PRODUCT(signed_float32, SignedFloat32, 0, NOT_A_NUMBER | OUT_OF_RANGE)
PRODUCT(int32, Int32, 4, OUT_OF_RANGE)
PRODUCT(uint16, UInt16, 4, OUT_OF_RANGE)
#endif
