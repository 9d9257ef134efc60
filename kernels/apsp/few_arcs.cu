// Dense matrices by their few least arcs: a row's k least arcs, then the arcs that are shorter than the distances found
// with them, listed and added. The searches between are those of fast.cu.
#include <cstdint>

constexpr int THREADS = 256, DIGITS = 256;
// Rows on which is looked whether few arcs may suffice. A block of `detours` has ACROSS columns and SLICES of the arcs
// into each; TILE: arcs of whose tails it holds the distances at a time.
constexpr int SAMPLED = 8, ACROSS = 64, SLICES = 16, TILE = 256;

// An arc of fast.cu; length: the bits of the weight.
struct alignas(8) Arc {
    int32_t head;
    uint32_t length;
};
struct Found {
    int32_t row;
    Arc arc;
};

// Bits that order as the non-negative entries do; of floats without the sign of a zero.
__device__ uint32_t bits(float x) { return __float_as_uint(x) & 0x7FFFFFFFu; }
__device__ uint32_t bits(int x) { return x; }
__device__ uint32_t bits(uint16_t x) { return x; }
__device__ double value(uint32_t bits, float) { return __uint_as_float(bits); }
__device__ double value(uint32_t bits, int) { return bits; }
__device__ double value(uint32_t bits, uint16_t) { return bits; }

// The row of a sample.
__device__ int sampled(int s, int n) { return int((2 * s + 1) * (long long)n / (2 * SAMPLED)); }
__device__ float from_bits(uint32_t bits, float) { return __uint_as_float(bits); }
__device__ uint32_t from_bits(uint32_t bits, int) { return bits; }
__device__ uint32_t from_bits(uint32_t bits, uint16_t) { return bits; }

// Lowers to [SAMPLED][n] to the shortest ways from the sampled rows to the first `columns` columns by an arc more than
// the row's own arcs, or than these and the ways `from`. As bits; infinite ones add up to no less than infinite.
template <class Entry>
__device__ void detours(const Entry *a, int n, int columns, Entry infinite, const uint32_t *from, uint32_t *to) {
    using D = decltype(from_bits(0, Entry()));
    __shared__ D held[TILE][SAMPLED], bests[SLICES][SAMPLED][ACROSS];
    const int across = threadIdx.x % ACROSS, slice = threadIdx.x / ACROSS, j = blockIdx.x * ACROSS + across;
    const int span = (n + gridDim.y - 1) / gridDim.y, low = blockIdx.y * span, high = min(n, low + span);
    const uint32_t none = bits(infinite);
    D best[SAMPLED];
    for (int s = 0; s < SAMPLED; s++) best[s] = from_bits(none, Entry());
    for (int base = low; base < high; base += TILE) {
        __syncthreads();
        for (int i = threadIdx.x; i < TILE * SAMPLED; i += ACROSS * SLICES) {
            const int s = i / TILE, k = base + i % TILE, row = sampled(s, n);
            uint32_t x = none;
            if (k < high && k != row) {
                x = bits(a[size_t(row) * n + k]);
                if (from) x = min(x, from[size_t(s) * n + k]);
            }
            held[i % TILE][s] = from_bits(x, Entry());
        }
        __syncthreads();
        if (j >= columns) continue;
        for (int k = base + slice; k < min(base + TILE, high); k += SLICES) {
            const D x = from_bits(k == j ? none : bits(a[size_t(k) * n + j]), Entry());
            for (int s = 0; s < SAMPLED; s++) best[s] = min(best[s], held[k - base][s] + x);
        }
    }
    for (int s = 0; s < SAMPLED; s++) bests[slice][s][across] = best[s];
    __syncthreads();
    if (slice >= SAMPLED || j >= columns) return;
    D least = bests[0][slice][across];
    for (int other = 1; other < SLICES; other++) least = min(least, bests[other][slice][across]);
    atomicMin(&to[size_t(slice) * n + j], *reinterpret_cast<uint32_t *>(&least));
}

// Counts the sampled rows' arcs to the first `columns` columns that are shorter than the ways `to`: none but they leads
// there as quickly, if no longer way does.
template <class Entry>
__device__ void direct(const Entry *a, int n, int columns, Entry infinite, const uint32_t *to, unsigned *count) {
    const int j = blockIdx.x * THREADS + threadIdx.x, s = blockIdx.y, row = sampled(s, n);
    bool shortest = false;
    if (j < columns && j != row) {
        const uint32_t x = bits(a[size_t(row) * n + j]);
        shortest = x < bits(infinite) && x < to[size_t(s) * n + j];
    }
    const int found = __syncthreads_count(shortest);
    if (threadIdx.x == 0) atomicAdd(count, unsigned(found));
}

// A block a row: its k least finite entries off the diagonal as arcs, filled up by loops of 0. The k-th least is found
// eight bits at a time. total, number: of the weights without these loops.
template <class Entry>
__device__ void least(const Entry *a, int n, int k, Entry infinite, Arc *arcs, double *total, unsigned *number) {
    __shared__ unsigned counts[DIGITS], digit, before;
    __shared__ int taken, ties;
    const int row = blockIdx.x;
    const Entry *own = a + size_t(row) * n;
    const uint32_t none = bits(infinite);
    uint32_t prefix = 0, mask = 0;
    unsigned wanted = k;
    for (int shift = 8 * (sizeof(Entry) - 1); shift >= 0; shift -= 8) {
        for (int i = threadIdx.x; i < DIGITS; i += THREADS) counts[i] = 0;
        __syncthreads();
        for (int j = threadIdx.x; j < n; j += THREADS) {
            const uint32_t x = bits(own[j]);
            if (j != row && x < none && (x & mask) == prefix) atomicAdd(&counts[x >> shift & 255], 1u);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned sum = 0, d = 0;
            while (d < DIGITS - 1 && sum + counts[d] < wanted) sum += counts[d++];
            digit = d;
            before = sum;
            taken = ties = 0;
        }
        __syncthreads();
        wanted -= before;
        prefix |= digit << shift;
        mask |= 255u << shift;
    }
    Arc *mine = arcs + size_t(row) * k;
    double sum = 0;
    // From a column of the row's own on, so that among equal weights no column is left out by all rows.
    const int start = int(row * 0x9E3779B1u % unsigned(n));
    for (int i = threadIdx.x; i < n; i += THREADS) {
        const int j = i + start < n ? i + start : i + start - n;
        const uint32_t x = bits(own[j]);
        if (j == row || x >= none || x > prefix) continue;
        // Of those equal to the k-th least as many as are wanted, from the end.
        int place;
        if (x < prefix) {
            place = atomicAdd(&taken, 1);
        } else {
            const int tie = atomicAdd(&ties, 1);
            if (tie >= int(wanted)) continue;
            place = k - 1 - tie;
        }
        mine[place] = {j, x};
        sum += value(x, Entry());
    }
    __syncthreads();
    const int end = k - min(ties, int(wanted));
    for (int place = taken + threadIdx.x; place < end; place += THREADS) mine[place] = {row, 0};
    for (int by = 16; by; by /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, by);
    if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
    if (threadIdx.x == 0) atomicAdd(number, unsigned(k - end + taken));
}

__device__ bool shorter(float x, float d) { return x < d; }
__device__ bool shorter(int x, uint32_t d) { return uint32_t(x) < d; }
__device__ bool shorter(uint16_t x, uint32_t d) { return x < d; }

// A distance as an entry; lost: set where it is finite and no entry is.
__device__ float as_entry(float d, float, unsigned *) { return d; }
template <class Entry> __device__ Entry as_entry(uint32_t d, Entry infinite, unsigned *lost) {
    if (d == 0xFFFFFFFFu) return infinite;
    if (d >= uint32_t(infinite)) *lost = 1;
    return Entry(d);
}

// Lists the arcs of rows `first` on that are shorter than the distances found, as long as there is room; extra: how many
// of each row. The distances become entries of `out`, which may lie where they do.
template <class Entry, class D>
__device__ void compare(const Entry *a, D *found, long long count, int n, int first, Entry infinite, Entry *out,
                        Found *list, unsigned capacity, unsigned *cursor, unsigned *extra, unsigned *lost) {
    a += size_t(first) * n;
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += step) {
        const Entry x = a[i];
        const D d = found[i];
        if (x != infinite && shorter(x, d)) {
            const unsigned place = atomicAdd(cursor, 1u);
            // What is listed beyond the room is not looked at: the host gives up.
            if (place >= capacity) return;
            const int row = first + int(i / n);
            list[place] = {row, {int(i % n), bits(x)}};
            atomicAdd(&extra[row], 1u);
        }
        out[i] = as_entry(d, infinite, lost);
    }
}

// The arcs of all rows in one array: the first k of a row, then those that are listed of it. filled [n]: zeros.
extern "C" __global__ void join(int n, int k, const int *offsets, const Arc *arcs, const Found *list, unsigned count,
                                unsigned *filled, Arc *joined) {
    const long long step = (long long)gridDim.x * blockDim.x, all = (long long)n * k;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < all + count; i += step) {
        if (i < all) {
            joined[offsets[i / k] + i % k] = arcs[i];
        } else {
            const Found found = list[i - all];
            joined[offsets[found.row] + k + atomicAdd(&filled[found.row], 1u)] = found.arc;
        }
    }
}

#define KERNELS(NAME, Entry, D)                                                                                        \
    extern "C" __global__ void __launch_bounds__(ACROSS * SLICES)                                                      \
        detours_##NAME(const Entry *a, int n, int columns, Entry infinite, const uint32_t *from, uint32_t *to) {       \
        detours(a, n, columns, infinite, from, to);                                                                    \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        direct_##NAME(const Entry *a, int n, int columns, Entry infinite, const uint32_t *to, unsigned *count) {       \
        direct(a, n, columns, infinite, to, count);                                                                    \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        least_##NAME(const Entry *a, int n, int k, Entry infinite, Arc *arcs, double *total, unsigned *number) {       \
        least(a, n, k, infinite, arcs, total, number);                                                                 \
    }                                                                                                                  \
    extern "C" __global__ void compare_##NAME(const Entry *a, D *found, long long count, int n, int first,             \
                                              Entry infinite, Entry *out, Found *list, unsigned capacity,              \
                                              unsigned *cursor, unsigned *extra, unsigned *lost) {                     \
        compare(a, found, count, n, first, infinite, out, list, capacity, cursor, extra, lost);                        \
    }

KERNELS(float32, float, float)
KERNELS(int32, int, uint32_t)
KERNELS(uint16, uint16_t, uint32_t)
