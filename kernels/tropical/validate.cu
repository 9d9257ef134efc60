// The check of a product where it lies: a plain product over (min, +), and a comparison of every entry with it.
//
// A thread of the product computes ROWS entries of a column of C from device memory. There are no tiles, nothing is
// packed or skipped, and no line is shared with the kernels that are checked.

constexpr int ROWS = 8, THREADS = 128;

__device__ float lesser(float x, float y) { return fminf(x, y); }
__device__ int lesser(int x, int y) { return min(x, y); }

// C = min(C, A (x) B) of A [m, k] and B [k, n]. Wide holds the sum of two infinities. Grid: (rows / ROWS, columns).
template <class T, class Wide> __device__ void plain_product(T* c, const T* a, const T* b, int m, int k, int n) {
    const int top = blockIdx.x * ROWS, column = blockIdx.y * THREADS + threadIdx.x;
    if (column >= n) return;
    Wide best[ROWS];
    const T* factors[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const size_t row = min(top + r, m - 1);
        factors[r] = a + row * k;
        best[r] = c[row * n + column];
    }
#pragma unroll 4
    for (int l = 0; l < k; ++l) {
        const Wide y = b[size_t(l) * n + column];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) best[r] = lesser(best[r], Wide(factors[r][l]) + y);
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (top + r < m) c[size_t(top + r) * n + column] = T(best[r]);
}

// Whether a magnitude is off by no more than a share of the expected one; integers never differ rightly.
__device__ bool near(float found, float right, double below, double above) {
    const double x = fabs(double(found)), y = fabs(double(right));
    return signbit(found) == signbit(right) && x >= y * (1 - below) && x <= y * (1 + above);
}
__device__ bool near(int, int, double, double) { return false; }

// How many entries are wrong, and the number of the first.
struct Found {
    unsigned long long wrong, first;
};

// negated: the entries found are those of (max, +).
template <class T>
__device__ void compare(const T* found, const T* expected, Found* report, unsigned long long count, int negated,
                        double below, double above) {
    unsigned long long wrong = 0, first = ~0ull;
    const unsigned long long step = (unsigned long long)gridDim.x * THREADS;
    for (unsigned long long i = blockIdx.x * (unsigned long long)THREADS + threadIdx.x; i < count; i += step) {
        const T right = negated ? T(0) - expected[i] : expected[i];
        if (found[i] == right || near(found[i], right, below, above)) continue;
        if (wrong++ == 0) first = i;
    }
    if (wrong) {
        atomicAdd(&report->wrong, wrong);
        atomicMin(&report->first, first);
    }
}

#define KERNELS(T, WIDE, NAME)                                                                                         \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        plain_product_##NAME(T* c, const T* a, const T* b, int m, int k, int n) {                                      \
        plain_product<T, WIDE>(c, a, b, m, k, n);                                                                      \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        compare_##NAME(const T* found, const T* expected, Found* report, unsigned long long count, int negated,        \
                       double below, double above) {                                                                   \
        compare<T>(found, expected, report, count, negated, below, above);                                             \
    }

KERNELS(float, float, float32)
KERNELS(int, int, int32)
KERNELS(unsigned short, int, uint16)
