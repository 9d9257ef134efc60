// Paper T's products over (min, +), part (1): untiled, tiled, and skipping by absorbing elements at three grains.
//
// A thread computes one entry of C and a block of 32 x 32 threads a tile, so a warp is a row of the tile and its
// threads share the factor from A. Entries beyond an edge are infinite, which changes no minimum.

#include <cuda/std/limits>

#include "infinity.cuh"

constexpr int TILE = 32;
enum Attribute : signed char { ZERO = -1, MIXED = 0, INFINITE = 1, IDENTITY = 2 };

template <class T> __device__ constexpr T infinity();
template <> __device__ constexpr float infinity<float>() { return cuda::std::numeric_limits<float>::infinity(); }
template <> __device__ constexpr int infinity<int>() { return INFINITE_INT32; }
template <> __device__ constexpr unsigned short infinity<unsigned short>() { return INFINITE_UINT16; }

__device__ float relaxed(float best, float x, float y) { return fminf(best, x + y); }
__device__ int relaxed(int best, int x, int y) { return min(best, x + y); }
__device__ unsigned short relaxed(unsigned short best, unsigned short x, unsigned short y) {
    return min(int(best), x + y);
}

// What each tile of A and B holds: a block a tile, first the tiles of A, then those of B.
template <class T>
__device__ void attribute_tables(signed char* table_a, signed char* table_b, const T* a, const T* b, int m, int k,
                                 int n) {
    const int down_a = (m + TILE - 1) / TILE, across_a = (k + TILE - 1) / TILE, across_b = (n + TILE - 1) / TILE;
    const bool second = blockIdx.x >= down_a * across_a;
    const int place = second ? blockIdx.x - down_a * across_a : blockIdx.x;
    const int across = second ? across_b : across_a;
    const int rows = second ? k : m, columns = second ? n : k;
    const int row = place / across * TILE + threadIdx.y, column = place % across * TILE + threadIdx.x;
    const T* matrix = second ? b : a;
    const bool inside = row < rows && column < columns;
    const T x = inside ? matrix[size_t(row) * columns + column] : T(0);
    const bool diagonal = threadIdx.x == threadIdx.y;
    const int infinite = __syncthreads_and(!inside || x == infinity<T>());
    const int zero = __syncthreads_and(!inside || x == T(0));
    const int identity = __syncthreads_and(!inside || x == (diagonal ? T(0) : infinity<T>()));
    if (threadIdx.x == 0 && threadIdx.y == 0)
        (second ? table_b : table_a)[place] = zero ? ZERO : infinite ? INFINITE : identity ? IDENTITY : MIXED;
}

template <class T> __device__ void untiled(T* c, const T* a, const T* b, int m, int k, int n) {
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    if (row >= m || column >= n) return;
    T best = infinity<T>();
    for (int l = 0; l < k; ++l) best = relaxed(best, a[size_t(row) * k + l], b[size_t(l) * n + column]);
    c[size_t(row) * n + column] = best;
}

// table_a: null where nothing is skipped by tiles. WARPS, ELEMENTS: skip at that grain. ZEROS: an entry that has
// reached zero is final. identities: the product with a tile that is the identity is a copy of the other factor.
template <class T, bool ZEROS, bool WARPS, bool ELEMENTS>
__device__ void tiled(T* c, const T* a, const T* b, int m, int k, int n, const signed char* table_a,
                      const signed char* table_b, int identities) {
    __shared__ T tile_a[TILE][TILE], tile_b[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    const int steps = (k + TILE - 1) / TILE;
    T best = infinity<T>();
    auto entry_a = [&](int l) { return row < m && l < k ? a[size_t(row) * k + l] : infinity<T>(); };
    auto entry_b = [&](int l) { return l < k && column < n ? b[size_t(l) * n + column] : infinity<T>(); };
    for (int step = 0; step < steps; ++step) {
        if (table_a) {
            const signed char kind_a = table_a[blockIdx.y * steps + step];
            const signed char kind_b = table_b[step * gridDim.x + blockIdx.x];
            if (kind_a == INFINITE || kind_b == INFINITE) continue;
            if (ZEROS && kind_a == ZERO && kind_b == ZERO) {
                best = T(0);
                break;
            }
            if (identities && kind_a == IDENTITY) {
                best = min(best, entry_b(step * TILE + y));
                continue;
            }
            if (identities && kind_b == IDENTITY) {
                best = min(best, entry_a(step * TILE + x));
                continue;
            }
        }
        tile_a[y][x] = entry_a(step * TILE + x);
        tile_b[y][x] = entry_b(step * TILE + y);
        __syncthreads();
        if (!(ZEROS && WARPS) || __any_sync(~0u, best != T(0))) {
#pragma unroll
            for (int l = 0; l < TILE; ++l) {
                const T from_a = tile_a[y][l];
                if (WARPS && from_a == infinity<T>()) continue;
                if (ELEMENTS && from_a == infinity<T>()) continue;
                if (ELEMENTS && ZEROS && best == T(0)) break;
                const T from_b = tile_b[l][x];
                if (ELEMENTS && from_b == infinity<T>()) continue;
                best = relaxed(best, from_a, from_b);
            }
        }
        // The barrier before the tiles are overwritten. A tile of C that is all zero is final.
        if (__syncthreads_and(ZEROS && table_a && (best == T(0) || row >= m || column >= n))) break;
    }
    if (row < m && column < n) c[size_t(row) * n + column] = best;
}

#define TILED(NAME, T, ZEROS, WARPS, ELEMENTS)                                                                         \
    extern "C" __global__ void __launch_bounds__(TILE * TILE)                                                          \
        NAME(T* c, const T* a, const T* b, int m, int k, int n, const signed char* table_a,                            \
             const signed char* table_b, int identities) {                                                             \
        tiled<T, ZEROS, WARPS, ELEMENTS>(c, a, b, m, k, n, table_a, table_b, identities);                              \
    }
#define KERNELS(T, NAME)                                                                                               \
    extern "C" __global__ void __launch_bounds__(TILE * TILE)                                                          \
        attributes_##NAME(signed char* table_a, signed char* table_b, const T* a, const T* b, int m, int k, int n) {   \
        attribute_tables<T>(table_a, table_b, a, b, m, k, n);                                                          \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(TILE * TILE)                                                          \
        untiled_##NAME(T* c, const T* a, const T* b, int m, int k, int n) {                                            \
        untiled<T>(c, a, b, m, k, n);                                                                                  \
    }                                                                                                                  \
    TILED(tiled_##NAME, T, false, false, false)                                                                        \
    TILED(tiled_warp_##NAME, T, false, true, false)                                                                    \
    TILED(tiled_element_##NAME, T, false, false, true)                                                                 \
    TILED(tiled_warp_element_##NAME, T, false, true, true)                                                             \
    TILED(tiled_zeros_##NAME, T, true, false, false)                                                                   \
    TILED(tiled_zeros_warp_##NAME, T, true, true, false)                                                               \
    TILED(tiled_zeros_element_##NAME, T, true, false, true)                                                            \
    TILED(tiled_zeros_warp_element_##NAME, T, true, true, true)

KERNELS(float, float32)
KERNELS(int, int32)
KERNELS(unsigned short, uint16)
