// `fast` on graphs of broad frontiers (small worlds, dense graphs, few hops): delta-stepping in a resident grid that
// reads as few arcs as possible, by push and pull.
//
// A *phase* ends with a barrier of the grid. It relaxes arcs whose candidate lies below a bound and leaves the rest of
// each row, which is sorted by weight, for later (rows.cuh). In a phase over the *queue* only vertices whose distance
// fell in the phase before are relaxed; a phase over *all* vertices looks at every one, because the bound has risen or
// the queue had no room. Rows of many arcs are cut into pieces that the whole grid relaxes in the next phase.
//
// The bound rises by `step` where nothing lies below it any more, and before that where a phase had so little work that
// its time was the barrier's and the loads'. The step grows as long as such phases repeat little work and shrinks where
// they repeat much. A range without a vertex is jumped over: a phase over all vertices finds the smallest candidate
// beyond the bound.
//
// Where the arcs into vertices are at hand and those into all vertices beyond the bound are together fewer than what was
// pushed below it, these vertices pull once the distances below are final: each takes the minimum over the tails below
// the bound of the arcs into it. After that only these vertices push, without a bound. On Kronecker graphs this reads a
// fifth of the arcs. The search ends early where all vertices, or the heads of all arcs, are below a bound.
//
// Where the frontier has become narrow after the pull, the rest may be left to fast.cu, whose hops take less time: the
// queue is then all that waits.
//
// Every block takes the same decisions (course.cuh) from the same counts. Counts have three slots: one is written, one
// is read by slow blocks, one is cleared for the next phase.
//
// 1. Meyer, Sanders: Delta-stepping: a parallelizable shortest path algorithm. J. Algorithms 49, 2003 (light and heavy
//    arcs).
// 2. Chakaravarthy, Checconi, Murali, Petrini, Sabharwal: Scalable single source shortest path algorithms for massively
//    parallel systems. IPDPS 2014 (pruning by the bound, pull).
// 3. Merrill, Garland, Grimshaw: Scalable GPU graph traversal. PPoPP 2012 (a warp's rows in a line).
// 4. Wang, Fussell, Lin: A fast work-efficient SSSP algorithm for GPUs (an adaptive window). PPoPP 2021.
#include "course.cuh"
#include "grid.cuh"
#include "rows.cuh"

// CONTROL in cuda_broad.py: cleared by `start`.
struct Control {
    Record record;
    uint32_t arrived, unused;
    Slot slots[3];
};

static __device__ unsigned long long warp_sum(unsigned long long value) {
    for (int other = 16; other; other /= 2) value += __shfl_xor_sync(ALL, value, other);
    return value;
}

template <typename D> struct Room {
    Entry<D> stage[WARPS][64];
    Slot slot[2];  // of even and of odd phases
    Course<D> course;
    uint32_t queue_at;
};

// Add the counts of a block to those of all, and its last entries to the queue. All threads call it.
template <typename D>
static __device__ void close_phase(Room<D> &room, uint32_t parity, Stage<D> &stage, const Counts &counts, D nearest,
                                   const List<Entry<D>> &queue, Slot *to, uint32_t lane) {
    Slot &sum = room.slot[parity];
    uint32_t done = __reduce_add_sync(ALL, counts.done), ended = __reduce_or_sync(ALL, counts.ended);
    unsigned long long relaxed = warp_sum(counts.relaxed), bits = bits_of(nearest);
    for (int other = 16; other; other /= 2) bits = min(bits, __shfl_xor_sync(ALL, bits, other));
    uint32_t repeated = __reduce_add_sync(ALL, counts.repeated), first = __reduce_add_sync(ALL, counts.first);
    unsigned long long inside = warp_sum(counts.inside);
    uint32_t at = 0;
    if (lane == 0) {
        if (done | ended | repeated) {
            atomicAdd(&sum.done, done), atomicAdd(&sum.repeated, repeated), atomicAdd(&sum.first, first);
            atomicAdd(&sum.relaxed, relaxed), atomicAdd(&sum.inside, inside), atomicOr(&sum.ended, ended);
        } else if (relaxed) {
            atomicAdd(&sum.relaxed, relaxed);
        }
        if (bits != bits_of(Distance<D>::unreached)) atomicMin(&sum.nearest, bits);
        if (stage.held) at = atomicAdd(&sum.queued, stage.held);
    }
    at = __shfl_sync(ALL, at, 0);
    __syncthreads();
    uint32_t queued = sum.queued;
    if (threadIdx.x == 0) {
        if (queued) room.queue_at = atomicAdd(&to->queued, queued);
        if (sum.done) atomicAdd(&to->done, sum.done), atomicAdd(&to->first, sum.first);
        if (sum.relaxed) atomicAdd(&to->relaxed, sum.relaxed);
        if (sum.inside) atomicAdd(&to->inside, sum.inside);
        if (sum.repeated) atomicAdd(&to->repeated, sum.repeated);
        if (sum.ended) atomicOr(&to->ended, sum.ended);
        if (sum.nearest != NOTHING.nearest) atomicMin(&to->nearest, sum.nearest);
        room.slot[parity ^ 1] = NOTHING;
    }
    if (queued) {
        __syncthreads();
        at += room.queue_at;
        if (lane < stage.held && at + lane < queue.room) queue.entries[at + lane] = stage.own[lane];
    }
}

// Answer one source, which `start` has put into the first queue. entries, pieces: two lists each.
template <typename D, typename W>
static __device__ void query(const World<D> &world, Entry<D> *entries, Piece<D> *pieces, uint32_t pieces_room,
                             Control *control, const Plan &plan) {
    __shared__ Room<D> room;
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * WARPS;
    // Neighbouring numbers are of different blocks.
    const uint32_t warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    const unsigned long long deadline = now_ns() + plan.timeout_ms * 1000000ull;
    const D never = Distance<D>::unreached, heaviest = D(as_weight(plan.heaviest, W()));
    const Course<D> &course = room.course;
    uint32_t arrived = 0;
    if (threadIdx.x == 0) room.slot[0] = room.slot[1] = NOTHING, room.course.begin(plan);
    __syncthreads();

    while (course.mode != STOP) {
        const uint32_t number = course.phases % 3, turn = course.phases % 2;
        const D bound = course.bound;
        Slot *slot = &control->slots[number];
        const List<Entry<D>> queue{entries + size_t(turn ^ 1) * plan.room, &slot->queued, plan.room};
        const List<Piece<D>> cuts{pieces + size_t(turn ^ 1) * pieces_room, &slot->pieces, pieces_room};
        if (blockIdx.x == 0 && threadIdx.x == 0) control->slots[(number + 1) % 3] = NOTHING;
        Stage<D> stage{room.stage[threadIdx.x / 32]};
        Counts counts;
        D nearest = never;

        const bool sweeps = course.mode == SWEEP;
        const Piece<D> *left = pieces + size_t(turn) * pieces_room;
        for (uint32_t i = warp; i < course.cut; i += warps)
            relax_piece<D, W>(world, left[i], bound, stage, queue, counts, lane);
        if (course.mode != PULL) {
            // Of a queue, a warp takes as few neighbouring entries as keep all warps busy.
            const uint32_t total = sweeps ? plan.n : course.queued;
            const uint32_t each = sweeps ? 32 : min(32, (total + warps - 1) / warps);
            const Entry<D> *listed = entries + size_t(turn) * plan.room;
            for (uint32_t base = (warps - 1 - warp) * each; base < total; base += warps * each) {
                uint32_t v = base + lane;
                bool due = lane < each && v < total;
                D distance = never, was = never, rest = never;
                unsigned long long row = 0, end = 0;
                if (due && sweeps) {
                    distance = __ldcg(&world.distances[v]), was = world.done[v], rest = world.next[v];
                    if (distance < course.from || distance >= bound) rest = never;
                    due = distance >= course.from && distance < bound && (was != distance || rest < bound);
                    if (due) row = world.offsets[v], end = world.offsets[v + 1];
                } else if (due) {
                    Entry<D> entry = listed[v];
                    v = entry.id, distance = entry.distance, was = world.done[v];
                    row = world.offsets[v], end = world.offsets[v + 1];
                    due = __ldcg(&world.distances[v]) == distance && was != distance;
                }
                if (__any_sync(ALL, due))
                    relax_rows<D, W>(world, due, v, row, uint32_t(end - row), distance, was, rest, bound, heaviest,
                                     stage, queue, cuts, counts, lane);
                nearest = min(nearest, rest);
            }
        } else {
            for (uint32_t base = warp * 32; base < plan.n; base += warps * 32)
                pull<D, W>(world, base + lane, bound, counts, lane);
        }
        close_phase(room, turn, stage, counts, nearest, queue, slot, lane);
        __syncthreads();
        if (threadIdx.x == 0) {
            if (meet(&control->arrived, arrived, deadline)) {
                room.course.advance(*slot, plan);
            } else {
                room.course.mode = STOP, room.course.record.ended = TIMED_OUT;
            }
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        if (course.record.ended) atomicOr(&control->record.ended, course.record.ended);
        if (blockIdx.x == 0) {
            Record record = course.record;
            control->record.relaxed = record.relaxed, control->record.pulled = record.pulled;
            control->record.step = course.step, control->record.phases = course.phases;
            control->record.sweeps = record.sweeps, control->record.rises = record.rises;
            control->record.left = record.left, control->record.turn = record.turn;
        }
    }
}

// Before a launch: only the source is reached, and waits in the first queue.
template <typename D>
static __device__ void start(uint32_t n, uint32_t source, D *distances, D *done, Entry<D> *entries, Control *control) {
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (uint32_t v = thread; v < n; v += gridDim.x * blockDim.x) {
        distances[v] = v == source ? D(0) : Distance<D>::unreached;
        done[v] = Distance<D>::unreached;
    }
    if (thread) return;
    entries[0] = {D(0), source};
    *control = Control{};
    control->slots[0] = NOTHING;
}

#define KERNELS(suffix, D, W)                                                                                     \
    extern "C" __global__ void broad_start_##suffix(uint32_t n, uint32_t source, D *distances, D *done,            \
                                                    Entry<D> *entries, Control *control) {                        \
        start(n, source, distances, done, entries, control);                                                      \
    }                                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                                      \
        broad_##suffix(const int64_t *offsets, const uint2 *arcs, const int64_t *into_offsets,                     \
                       const uint2 *into_arcs, D *distances, D *done, D *next, uint32_t *cursor, Entry<D> *entries, \
                       Piece<D> *pieces, uint32_t pieces_room, Control *control,                                  \
                       const __grid_constant__ Plan plan) {                                                       \
        query<D, W>({plan.n, offsets, arcs, into_offsets, into_arcs, distances, done, next, cursor}, entries,     \
                    pieces, pieces_room, control, plan);                                                          \
    }

KERNELS(u4_u4, uint32_t, uint32_t)
KERNELS(u8_u4, uint64_t, uint32_t)
KERNELS(f4_f4, float, float)
KERNELS(f8_f4, double, float)
