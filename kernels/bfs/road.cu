// Fast on roads: one block makes the whole search, level by level from a queue, with the visited vertices in shared memory.
//
// A road network has hundreds of levels of a few hundred vertices, so that a level is one chain of latencies: an entry of
// the queue, a row from L2, the atomic on the bitmap, an append, a block barrier. A barrier of several blocks would cost
// more than all of it. A row is four heads in 16 bytes, NONE where there is none; a vertex of more arcs goes on in an
// extension row, whose number, as -2 - number, stands in the place of the fourth head. A warp appends what its lanes
// found by one atomic.
//
// What is found is written side by side, in the order in which it is found, as one multiprocessor writes few separate
// places in a cycle; the whole grid puts it in its places afterwards (`settle`). The part of a level that outgrows its
// queue in shared memory is read from there.
#include <cstdint>

static constexpr int THREADS = 1024;
static constexpr uint32_t EVERY = 0xFFFFFFFFu;
static constexpr int NONE = -1;

// Mirrored in cuda_fast.py.
struct Record {
    unsigned long long levels, inspected, reached;
};

extern "C" __global__ void clear(uint32_t n, int *levels, int *parents) {
    for (uint32_t v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x)
        levels[v] = parents[v] = -1;
}

// order, found: [n], the vertices in the order in which they are found, and the level and parent of each.
// room: entries of either queue in shared memory, behind the bitmap.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    search(uint32_t n, const int4 *__restrict__ rows, int root, int *order, int2 *found, uint32_t room,
           Record *record) {
    extern __shared__ uint32_t shared[];
    __shared__ uint32_t lengths[3];
    __shared__ unsigned long long arcs;
    const uint32_t words = (n + 31) / 32, lane = threadIdx.x % 32;
    uint32_t *seen = shared;
    int *queues = (int *)(shared + words);
    for (uint32_t w = threadIdx.x; w < words; w += THREADS) seen[w] = w == root / 32 ? 1u << root % 32 : 0;
    if (threadIdx.x == 0) {
        arcs = lengths[0] = lengths[1] = lengths[2] = 0;
        queues[0] = order[0] = root;
        found[0] = {0, root};
    }
    __syncthreads();
    // The level's vertices begin at `start` of `order`.
    uint32_t start = 0, length = 1, level = 1;
    unsigned long long inspected = 0;
    for (; length; level++) {
        uint32_t *fresh = &lengths[level % 3], in = (level - 1) % 2, out = level % 2, next = start + length;
        if (threadIdx.x == 0) lengths[(level + 1) % 3] = 0;
        for (uint32_t first = threadIdx.x - lane; first < length; first += THREADS) {
            uint32_t i = first + lane;
            int tail = NONE;
            if (i < length) tail = i < room ? queues[in * room + i] : order[start + i];
            for (int row = tail; __any_sync(EVERY, row >= 0);) {
                int4 four = row >= 0 ? rows[row] : int4{NONE, NONE, NONE, NONE};
                int head[4] = {four.x, four.y, four.z, four.w};
                row = head[3] <= -2 ? -2 - head[3] : -1;
                uint32_t before = 0, mine = 0, all = 0;
                // All four atomics are under way before the first answer is looked at; none where a head was seen
                // before, as atomics on one word go one after another.
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    inspected += head[j] >= 0;
                    uint32_t bit = 1u << (head[j] & 31);
                    if (head[j] >= 0 && !(*(volatile uint32_t *)&seen[head[j] >> 5] & bit))
                        mine |= uint32_t(!(atomicOr(&seen[head[j] >> 5], bit) & bit)) << j;
                }
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    uint32_t who = __ballot_sync(EVERY, mine >> j & 1);
                    before += __popc(who & ((1u << lane) - 1));
                    all += __popc(who);
                }
                if (all) {
                    uint32_t place = lane == 0 ? atomicAdd(fresh, all) : 0;
                    place = __shfl_sync(EVERY, place, 0) + before;
#pragma unroll
                    for (int j = 0; j < 4; j++) {
                        if (!(mine >> j & 1)) continue;
                        if (place < room) queues[out * room + place] = head[j];
                        order[next + place] = head[j];
                        found[next + place] = {int(level), tail};
                        place++;
                    }
                }
            }
        }
        __syncthreads();
        start = next;
        length = *fresh;
    }
    atomicAdd(&arcs, inspected);
    __syncthreads();
    if (threadIdx.x == 0) *record = {level - 1, arcs, start};
}

extern "C" __global__ void settle(const int *order, const int2 *found, const Record *record, int *levels,
                                  int *parents) {
    uint32_t reached = uint32_t(record->reached);
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < reached; i += gridDim.x * blockDim.x) {
        levels[order[i]] = found[i].x;
        parents[order[i]] = found[i].y;
    }
}
