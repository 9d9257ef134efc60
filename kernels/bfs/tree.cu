// Parents from levels: every reached vertex takes a neighbour one level above. For searches that give levels only.
#include <cstdint>

static constexpr int THREADS = 256;
// Arcs that a thread looks at by itself before its warp helps.
static constexpr int OWN = 16;
static constexpr uint32_t EVERY = 0xFFFFFFFFu;

// offsets, tails: the arcs into every vertex. The root is its own parent; -1 where a vertex is not reached, or where no
// neighbour is one level above (which no right answer has).
template <typename O>
static __device__ void hang(uint32_t n, uint32_t root, const O *__restrict__ offsets, const int *__restrict__ tails,
                            const int *__restrict__ levels, int *parents) {
    const uint32_t lane = threadIdx.x % 32, step = gridDim.x * THREADS;
    for (uint32_t base = blockIdx.x * THREADS + threadIdx.x - lane; base < n; base += step) {
        uint32_t v = base + lane;
        int above = v < n ? levels[v] - 1 : -1, parent = v == root ? int(root) : -1;
        O at = 0, end = 0;
        if (above >= 0) at = offsets[v], end = offsets[v + 1];
        for (O own = at + OWN; at < min(end, own); at++)
            if (levels[tails[at]] == above) {
                parent = tails[at];
                at = end;
                break;
            }
        for (uint32_t longer = __ballot_sync(EVERY, at < end); longer; longer &= longer - 1) {
            int whose = __ffs(longer) - 1, wanted = __shfl_sync(EVERY, above, whose);
            O low = __shfl_sync(EVERY, at, whose), high = __shfl_sync(EVERY, end, whose);
            for (; low < high; low += 32) {
                int tail = low + lane < high ? tails[low + lane] : -1;
                uint32_t hits = __ballot_sync(EVERY, tail >= 0 && levels[tail] == wanted);
                if (!hits) continue;
                tail = __shfl_sync(EVERY, tail, __ffs(hits) - 1);
                if (lane == whose) parent = tail;
                break;
            }
        }
        if (v < n) parents[v] = parent;
    }
}

#define KERNEL(O, SUFFIX)                                                                                            \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                            \
        hang_##SUFFIX(uint32_t n, uint32_t root, const O *offsets, const int *tails, const int *levels, int *parents) { \
        hang<O>(n, root, offsets, tails, levels, parents);                                                           \
    }

KERNEL(uint32_t, u4)
KERNEL(uint64_t, u8)
