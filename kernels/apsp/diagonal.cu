// The first phase of a step of blocked Floyd-Warshall (Venkataraman and others, 2003; on GPUs Katz and Kider, 2008):
// the shortest paths among at most EDGE vertices, in place, by one block of threads.

// A thread keeps DOWN x EACH neighbouring entries in registers: few enough to run beside a block of the product.
constexpr int EDGE = 128, ACROSS = 32, ROWS = 16, DOWN = EDGE / ROWS, EACH = EDGE / ACROSS;

__device__ float lesser(float x, float y) { return fminf(x, y); }
__device__ int lesser(int x, int y) { return min(x, y); }

template <class Entry, int N> struct alignas(N * sizeof(Entry) < 16 ? N * sizeof(Entry) : 16) Line {
    Entry entries[N];
};

// One block of ACROSS x ROWS threads. The row and the column of the vertex to go through are shared in memory of the
// block. There are two copies of both, in turns, so one barrier a vertex is enough.
template <class Entry> __device__ __forceinline__ void close_diagonal(Entry* d, int n, int pitch, Entry infinite) {
    __shared__ Line<Entry, EACH> rows[2][ACROSS];
    __shared__ Line<Entry, DOWN> columns[2][ROWS];
    const int x = threadIdx.x, y = threadIdx.y;
    Entry best[DOWN][EACH];
#pragma unroll
    for (int i = 0; i < DOWN; ++i)
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            const int r = y * DOWN + i, c = x * EACH + j;
            best[i][j] = r < n && c < n ? d[size_t(r) * pitch + c] : infinite;
        }
    for (int owner = 0; owner < ROWS; ++owner)
#pragma unroll
        for (int k = 0; k < DOWN; ++k) {
            if (y == owner)
#pragma unroll
                for (int j = 0; j < EACH; ++j) rows[k % 2][x].entries[j] = best[k][j];
            if (x == owner * (DOWN / EACH) + k / EACH)
#pragma unroll
                for (int i = 0; i < DOWN; ++i) columns[k % 2][y].entries[i] = best[i][k % EACH];
            __syncthreads();
            const Line<Entry, EACH> row = rows[k % 2][x];
            const Line<Entry, DOWN> column = columns[k % 2][y];
#pragma unroll
            for (int i = 0; i < DOWN; ++i)
#pragma unroll
                for (int j = 0; j < EACH; ++j) best[i][j] = lesser(column.entries[i] + row.entries[j], best[i][j]);
        }
#pragma unroll
    for (int i = 0; i < DOWN; ++i)
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            const int r = y * DOWN + i, c = x * EACH + j;
            if (r < n && c < n) d[size_t(r) * pitch + c] = best[i][j];
        }
}

template <class Entry> __device__ __forceinline__ void zero_diagonal(Entry* d, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) d[size_t(i) * n + i] = Entry(0);
}

#define KERNELS(ENTRY, NAME)                                                                                           \
    extern "C" __global__ void __launch_bounds__(ACROSS * ROWS, 2)                                                     \
        close_diagonal_##NAME(ENTRY* d, int n, int pitch, ENTRY infinite) {                                            \
        close_diagonal(d, n, pitch, infinite);                                                                         \
    }                                                                                                                  \
    extern "C" __global__ void zero_diagonal_##NAME(ENTRY* d, int n) { zero_diagonal(d, n); }

KERNELS(float, float32)
KERNELS(int, int32)
KERNELS(unsigned short, uint16)
