// Floyd-Warshall on the diagonal block of a blocked one: the least paths among at most EDGE vertices, in place.

constexpr int EDGE = 128, ACROSS = 32, EACH = EDGE / ACROSS;

// One block of ACROSS x ACROSS threads; a thread keeps EACH x EACH entries, ACROSS apart, in registers. Row and column
// of the vertex to go through pass through shared memory, in two copies so that one barrier a vertex is enough.
template <class Entry> __device__ __forceinline__ void close_diagonal(Entry* d, int n, int pitch, Entry infinite) {
    __shared__ Entry row[2][EDGE], column[2][EDGE];
    const int x = threadIdx.x, y = threadIdx.y;
    Entry best[EACH][EACH];
#pragma unroll
    for (int i = 0; i < EACH; ++i)
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            const int r = y + i * ACROSS, c = x + j * ACROSS;
            best[i][j] = r < n && c < n ? d[size_t(r) * pitch + c] : infinite;
        }
#pragma unroll
    for (int part = 0; part < EACH; ++part)
        for (int k = 0; k < ACROSS; ++k) {
            const int copy = k % 2;
            if (y == k)
#pragma unroll
                for (int j = 0; j < EACH; ++j) row[copy][x + j * ACROSS] = best[part][j];
            if (x == k)
#pragma unroll
                for (int i = 0; i < EACH; ++i) column[copy][y + i * ACROSS] = best[i][part];
            __syncthreads();
#pragma unroll
            for (int i = 0; i < EACH; ++i)
#pragma unroll
                for (int j = 0; j < EACH; ++j) {
                    const auto sum = column[copy][y + i * ACROSS] + row[copy][x + j * ACROSS];
                    if (sum < best[i][j]) best[i][j] = sum;
                }
        }
#pragma unroll
    for (int i = 0; i < EACH; ++i)
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            const int r = y + i * ACROSS, c = x + j * ACROSS;
            if (r < n && c < n) d[size_t(r) * pitch + c] = best[i][j];
        }
}

template <class Entry> __device__ __forceinline__ void zero_diagonal(Entry* d, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) d[size_t(i) * n + i] = Entry(0);
}

#define KERNELS(ENTRY, NAME)                                                                                           \
    extern "C" __global__ void __launch_bounds__(ACROSS * ACROSS)                                                      \
        close_diagonal_##NAME(ENTRY* d, int n, int pitch, ENTRY infinite) {                                            \
        close_diagonal(d, n, pitch, infinite);                                                                         \
    }                                                                                                                  \
    extern "C" __global__ void zero_diagonal_##NAME(ENTRY* d, int n) { zero_diagonal(d, n); }

KERNELS(float, float32)
KERNELS(int, int32)
KERNELS(unsigned short, uint16)
