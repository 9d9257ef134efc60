// Fast on graphs of small degree and many hops (roads): a resident grid runs whole queries, without the host.
//
// Every block keeps a queue of vertices that changed, in shared memory; the distances are in device memory and change
// by atomic minima only. A *hop* relaxes the queue's entries below a bound and keeps the others; what becomes nearer
// joins the queue of the block that found it. A hop costs one block barrier. After `hops` hops, a *round*, the blocks
// of a team exchange counts and give away what they hold beyond their share. The exchange is a board: each block stores
// its counts with the round's number beside them, in 16 bytes that are written and read as a whole, and waits until it
// has read those of all others. What is given away carries the round's number in the same way. There is no other
// barrier between blocks, and no fence, which would empty L1, where the rows are.
//
// The bound rises by `step` a hop, so that the vertices in flight stay in a window that moves with the wave front. The
// share of changes that hit a vertex after its earlier distance had come below the bound (work done twice) tells
// whether the step is too long: above HIGH percent it shrinks, below LOW it grows back to what it was at first. Where
// nothing at all lies below the bound, the next lies at the nearest vertex that waits, and the step doubles.
//
// A row is four arcs (target, weight bits), NONE where there is none; four lanes relax it. The host has split vertices
// of more arcs (layout.py). An entry is stale once its vertex has a smaller distance; stale ones are dropped.
//
// Nothing is dropped for lack of room: a queue goes on in device memory, and where that ends the query ends with FULL.
//
// 1. Meyer, Sanders: Delta-stepping. J. Algorithms 49, 2003.
// 2. Davidson, Baxter, Garland, Owens: Work-efficient parallel GPU methods for single-source shortest paths (near and
//    far piles). IPDPS 2014.
// 3. Wang, Fussell, Lin: A fast work-efficient SSSP algorithm for GPUs (a window steered by what happens). PPoPP 2021.
// 4. Zhang, Brahmakshatriya, Chen, Dhulipala, Kamil, Amarasinghe, Shun: Optimizing ordered graph algorithms with
//    GraphIt (several hops between barriers: bucket fusion). CGO 2020.
#include "board.cuh"
#include "queue.cuh"
#include "types.cuh"

static constexpr uint32_t NONE = 0xFFFFFFFFu, ALL = 0xFFFFFFFFu;
static constexpr uint32_t LOW = 40, HIGH = 60;
static constexpr double SHORTEST = 1.0 / 16;  // of the first step
// Of a block, and of those the ones that hop where the front is narrow: a barrier of fewer warps takes less time.
static constexpr uint32_t MOST_THREADS = 768, FEW = 512;
// What a block keeps beyond the average before it gives away, so that small differences stay where they are.
static constexpr uint32_t SLACK = 16;

// Beside the hops that a block made in a round: it ended the round early, as its queue grew long.
static constexpr uint32_t CROWDED = 1u << 15;

// How a query ended, or'ed together; mirrored in cuda_fast.py.
enum { TOO_LONG = 1, FULL = 2, TIMED_OUT = 4 };

// What a query leaves for the host; mirrored in cuda_fast.py.
struct Record {
    unsigned long long relaxations, rounds, hops, ended, last_round;
    double step;
};

// What a round leaves where a trace is wanted; mirrored in cuda_fast.py.
struct Round {
    unsigned long long ns;
    uint32_t hops, vertices, repeated, waiting;
};

struct Settings {
    uint32_t rows;         // vertices, those split off included
    uint32_t queue;        // entries of a queue in shared memory
    uint32_t spill;        // and in device memory
    uint32_t room;         // entries that a block can give away in a round
    uint32_t blocks;       // of a team
    uint32_t hops;         // of a round
    uint32_t adapt;        // whether the step is steered
    uint32_t patience_ms;  // watchdog
    uint32_t traced;       // rounds that the trace has room for
    uint32_t first_round;  // number of the first; larger than any that a launch before left on the boards
    double step;
};

// The greatest D not above a bound that may lie outside D's range.
static __device__ uint32_t as_distance(double x, uint32_t) { return __double2uint_rd(x); }
static __device__ uint64_t as_distance(double x, uint64_t) { return __double2ull_rd(x); }
static __device__ float as_distance(double x, float) { return __double2float_rd(x); }
static __device__ double as_distance(double x, double) { return x; }

static __device__ uint32_t just_above(uint32_t d) { return d + 1; }
static __device__ uint64_t just_above(uint64_t d) { return d + 1; }
static __device__ float just_above(float d) { return __uint_as_float(__float_as_uint(d) + 1); }
static __device__ double just_above(double d) { return __longlong_as_double(__double_as_longlong(d) + 1); }

// What a thread has seen: since the last exchange, and in all.
struct Tally {
    uint32_t done = 0, repeated = 0, held = 0;  // done: by all four lanes
    uint32_t relaxed = 0, ended = 0;
};

// Relax the entries of a queue below the bound into the other, and hand the others on. tail: address of its length.
//
// CAREFUL: first see whether an entry is stale. Otherwise that is found out while the minima are on their way, and only
// keeps the targets of stale entries off the queue: somebody else will relax them from a smaller distance. Of sums that
// round, this one may be as small as theirs, which then finds nothing to do: those stay on.
template <bool CAREFUL, typename D, typename W>
static __device__ void hop(const uint2 *__restrict__ rows, D *distances, const Queue<D> &in, const Queue<D> &out,
                           uint32_t count, uint32_t tail, D bound, uint32_t workers, Tally &tally) {
    constexpr bool ROUNDS = D(0.5) != D(0);
    uint32_t lane = threadIdx.x & 31, side = lane & 3;
    for (uint32_t first = threadIdx.x / 32 * 8; first < count; first += workers / 4) {
        uint32_t i = first + lane / 4;
        bool live = i < count;
        Entry<D> entry;
        if (live) entry = in.get(i);
        bool due = live && entry.distance < bound, keep = live && !due && side == 0;
        tally.held += keep;
        if (due) {
            uint2 arc = rows[size_t(entry.id) * 4 + side];
            // Distances change by atomics in L2 only: do not ask L1.
            const D *place = &distances[entry.id];
            D there = 0, before = 0, distance = entry.distance;
            if (CAREFUL) there = __ldcg(place);
            uint32_t leads = 0;
            bool relaxes = arc.x != NONE && (!CAREFUL || there == distance);
            if (relaxes) {
                entry = {Distance<D>::add(distance, as_weight(arc.y, W())), arc.x};
                before = Distance<D>::atomic_min(&distances[entry.id], entry.distance);
                // Into L1 for the next hop, while the minimum is under way.
                if (!CAREFUL) leads = rows[size_t(entry.id) * 4].x;
                tally.relaxed++;
            }
            // Loaded after it, or the compiler lets the minimum wait for the comparison.
            if (!CAREFUL) there = __ldcg(place);
            bool fresh = there == distance;
            tally.done += fresh;
            if (relaxes) {
                if (fresh && entry.distance == Distance<D>::unreached) tally.ended |= TOO_LONG;
                keep = entry.distance < before && (fresh || ROUNDS) && leads != NONE;
                tally.repeated += entry.distance < before && before < bound;
            }
        }
        if (keep) {
            uint32_t at;
            asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(at) : "r"(tail) : "memory");
            if (!out.put(at, entry)) tally.ended |= FULL;
        }
    }
}

// What all blocks posted, summed up.
struct Totals {
    uint32_t pending, given, done, repeated, held;
    uint32_t longest, hops;  // of any block, and the fewest of one that was crowded
    uint32_t ended;
    uint32_t came;  // gifts to this block
};
static constexpr Totals NO_TOTALS{0, 0, 0, 0, 0, 0, ALL, 0, 0};

// What the threads of a block share.
template <typename D> struct Shared {
    uint32_t tails[4];  // lengths of queues, of the hops one after the other
    uint32_t done, repeated, held, ended;
    Totals totals[2];  // of this round and of the next
    D nearest;
};

// Where the bound is and how it rises. All blocks work it out from the same totals.
template <typename D> struct Window {
    double step, reach;
    D floor = just_above(D(0));  // the bound is no lower

    __device__ D bound(double reached) const { return max(floor, as_distance(reached, D())); }

    __device__ void rise(const Totals &all, const Settings &set) {
        // Where a block went back to give away what it holds, the wave is only as far as it came.
        if (all.held) reach += step * (all.hops == ALL ? all.longest : all.hops);
        if (!set.adapt || !all.held || !all.done) return;
        if (all.repeated * 100ull < LOW * uint64_t(all.done))
            step = min(step * 1.125, max(step, set.step));
        else if (all.repeated * 100ull > HIGH * uint64_t(all.done))
            step = max(step * 0.8125, min(step, set.step * SHORTEST));
    }
    // Nothing lies below the bound.
    __device__ void jump(D nearest, const Settings &set) {
        floor = just_above(nearest);
        reach = max(reach, double(nearest) + step);
        if (set.adapt) step *= 2;
    }
};

// Post what this block has done and holds, and give away what it holds beyond `limit`. Returns what is left.
template <typename D>
static __device__ uint32_t post(const Board &board, const Queue<D> &in, uint32_t count, uint32_t limit, uint32_t hops,
                                Tally &tally, Shared<D> &shared, uint4 *gifts, const Settings &set) {
    uint32_t done = __reduce_add_sync(ALL, tally.done), repeated = __reduce_add_sync(ALL, tally.repeated);
    uint32_t held = __reduce_add_sync(ALL, tally.held), ended = __reduce_or_sync(ALL, tally.ended);
    tally.done = tally.repeated = tally.held = 0;
    if (threadIdx.x % 32 == 0 && (done | held | ended)) {
        atomicAdd(&shared.done, done / 4);
        atomicAdd(&shared.repeated, repeated);
        atomicAdd(&shared.held, held);
        atomicOr(&shared.ended, ended);
    }
    uint32_t mine = count > limit ? min(count - limit, set.room) : 0;
    count -= mine;
    for (uint32_t i = threadIdx.x; i < mine; i += blockDim.x) {
        Entry<D> entry = in.get(count + i);
        uint2 words = in_words(entry.distance);
        store_whole(&gifts[size_t(board.rank) * set.room + i], {words.x, words.y, entry.id, board.round});
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        board.post({0, count, mine, hops | shared.ended << 16}, {0, shared.done, shared.repeated, shared.held});
        shared.done = shared.repeated = shared.held = 0;
    }
    return count;
}

// Read what the others post, a thread each, and take this block's gifts into its queue. `turn`: as in `query`.
template <typename D>
static __device__ void gather(const Board &board, const Queue<D> &in, uint32_t count, uint32_t turn, Tally &tally,
                              Totals &sum, const uint4 *gifts, unsigned long long deadline, const Settings &set) {
    uint32_t other = threadIdx.x;
    if (other / 32 * 32 >= set.blocks) return;
    Counts theirs{};
    if (other < set.blocks) {
        if (!board.read(other, theirs, deadline)) theirs = {{0, 0, 0, TIMED_OUT << 16}, {}};
        // The gifts of a block go to one block after the other, beginning with the one `turn` further on.
        uint32_t k = board.rank + 2 * set.blocks - other - turn;
        for (int wraps = 0; wraps < 2; wraps++) k -= k >= set.blocks ? set.blocks : 0;
        for (; k < theirs.a.z; k += set.blocks) {
            uint4 gift;
            if (!await(&gifts[size_t(other) * set.room + k], &uint4::w, board.round, gift, deadline))
                tally.ended |= TIMED_OUT;
            uint32_t at = count + atomicAdd(&sum.came, 1);
            if (!in.put(at, {from_words({gift.x, gift.y}, D()), gift.z})) tally.ended |= FULL;
        }
    }
    uint32_t their_hops = theirs.a.w & (CROWDED - 1);
    uint32_t pending = __reduce_add_sync(ALL, theirs.a.y), given = __reduce_add_sync(ALL, theirs.a.z);
    uint32_t longest = __reduce_max_sync(ALL, their_hops), ended = __reduce_or_sync(ALL, theirs.a.w >> 16);
    uint32_t fewest = __reduce_min_sync(ALL, theirs.a.w & CROWDED ? their_hops : ALL);
    uint32_t done = __reduce_add_sync(ALL, theirs.b.y), repeated = __reduce_add_sync(ALL, theirs.b.z);
    uint32_t held = __reduce_add_sync(ALL, theirs.b.w);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&sum.pending, pending);
        atomicAdd(&sum.given, given);
        atomicMax(&sum.longest, longest);
        atomicMin(&sum.hops, fewest);
        atomicOr(&sum.ended, ended);
        atomicAdd(&sum.done, done);
        atomicAdd(&sum.repeated, repeated);
        atomicAdd(&sum.held, held);
    }
}

// The smallest distance in any block's queue, by an exchange of its own.
template <typename D>
static __device__ D find_nearest(Board &board, const Queue<D> &in, uint32_t count, D &nearest, uint32_t blocks,
                                 unsigned long long deadline) {
    D least = Distance<D>::unreached;
    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) least = min(least, in.get(i).distance);
    if (least != Distance<D>::unreached) Distance<D>::atomic_min(&nearest, least);
    __syncthreads();
    uint2 words = in_words(nearest);
    __syncthreads();
    board.round++;
    if (threadIdx.x == 0) board.post({0, words.x, words.y, 0}, {});
    Counts theirs;
    if (threadIdx.x < blocks && board.read(threadIdx.x, theirs, deadline))
        Distance<D>::atomic_min(&nearest, from_words({theirs.a.y, theirs.a.z}, D()));
    __syncthreads();
    least = nearest;
    __syncthreads();
    if (threadIdx.x == 0) nearest = Distance<D>::unreached;
    return least;
}

// One source, by all blocks of a team. Returns how it ended.
template <typename D, typename W>
static __device__ uint32_t query(const uint2 *__restrict__ rows, uint32_t source, D *distances, Queue<D> in,
                                 Queue<D> out, uint4 *gifts, Board &board, Record *record, Round *trace,
                                 const Settings &set) {
    __shared__ Shared<D> shared;
    uint32_t tid = threadIdx.x, tails = shared_address(shared.tails), current = 0;
    pin(tails);
    // Threads that hop where the front is narrow, and entries that one pass of theirs takes.
    const uint32_t few = min(blockDim.x, FEW), pass = few / 4, capacity = set.queue + set.spill;
    const float share = 1.0f / set.blocks;
    uint32_t count = board.rank == 0, limit = SLACK, crowd = pass, most_hops = set.hops, turn = 1;
    bool narrow = true;
    if (tid == 0) {
        shared = {{}, 0, 0, 0, 0, {NO_TOTALS, NO_TOTALS}, Distance<D>::unreached};
        if (count) {
            Distance<D>::atomic_min(&distances[source], D(0));
            in.put(0, {D(0), source});
        }
    }
    __syncthreads();

    unsigned long long begin = now_ns(), deadline = begin + set.patience_ms * 1000000ull;
    unsigned long long rounds = 0, all_hops = 0;
    Window<D> window{set.step, set.step};
    Tally tally;
    Totals all;

    while (true) {
        board.round++;
        uint32_t hops = 0;
        const uint32_t workers = narrow ? few : blockDim.x;
        auto take = [&](uint32_t more) {  // the queue that so many more hops have left
            current = (current + more) % 4;
            if (more % 2) swap(in, out);
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(count) : "r"(tails + current * 4) : "memory");
            count = min(count, capacity);
            hops += more;
        };
        if (tid < workers) {
            double reached = window.reach;
            D bound = window.bound(reached);
            while (hops < most_hops && count && (!hops || count <= crowd)) {
                uint32_t tail = tails + (current + 1) % 4 * 4;
                // The next hop's; last read before the barrier of the hop before this one.
                if (tid == 0)
                    asm volatile("st.shared.u32 [%0], %1;" ::"r"(tails + (current + 2) % 4 * 4), "r"(0) : "memory");
                if (narrow)
                    hop<false, D, W>(rows, distances, in, out, count, tail, bound, workers, tally);
                else
                    hop<true, D, W>(rows, distances, in, out, count, tail, bound, workers, tally);
                // Ready before the barrier.
                reached += window.step;
                bound = window.bound(reached);
                pin(bound);
                __barrier_sync_count(1, workers);
                take(1);
            }
        }
        if (workers < blockDim.x) {
            // As many threads say yes as there were hops.
            uint32_t made = __syncthreads_count(tid < hops);
            if (tid >= workers && made) take(made);
        }
        const bool crowded = hops && count > crowd;

        Totals &sum = shared.totals[rounds % 2];
        uint4 *gifts_now = gifts + size_t(board.round % 2) * set.blocks * set.room;
        count = post(board, in, count, limit, hops | (crowded ? CROWDED : 0), tally, shared, gifts_now, set);
        gather(board, in, count, turn, tally, sum, gifts_now, deadline, set);
        __syncthreads();
        all = sum;
        if (tid == 0) shared.totals[(rounds + 1) % 2] = NO_TOTALS;
        count = min(count + all.came, capacity);
        turn = turn + 1 < set.blocks ? turn + 1 : 0;

        uint32_t waiting = all.pending + all.given;
        if (trace && board.rank == 0 && tid == 0 && rounds < set.traced)
            trace[rounds] = {now_ns() - begin, all.longest, all.done, all.repeated, waiting};
        rounds++, all_hops += all.longest;
        if (all.ended || !waiting) break;

        uint32_t average = float(waiting) * share;
        narrow = average <= pass / 2;
        // A wide front takes as long as the longest queue; of a narrow one little is to be gained by sharing.
        limit = average + average / (narrow ? 2 : 8) + SLACK;
        crowd = max(pass, 2 * limit);
        most_hops = narrow ? set.hops : max(1, set.hops * (pass / 2) / average);
        window.rise(all, set);
        if (!all.done) window.jump(find_nearest(board, in, count, shared.nearest, set.blocks, deadline), set);
    }

    unsigned long long relaxed = tally.relaxed;
    for (int other = 16; other; other /= 2) relaxed += __shfl_xor_sync(ALL, relaxed, other);
    if (tid % 32 == 0 && relaxed) atomicAdd(&record->relaxations, relaxed);
    if (board.rank == 0 && tid == 0) {
        record->rounds = rounds, record->hops = all_hops;
        record->ended = all.ended, record->last_round = board.round, record->step = window.step;
    }
    __syncthreads();
    return all.ended;
}

// A team of blocks takes every so many-th source. All blocks must be resident.
template <typename D, typename W>
static __device__ void queries(const uint2 *__restrict__ rows, const uint32_t *sources, uint32_t count, D *distances,
                               Entry<D> *spill, uint4 *gifts, Counts *counts, Record *records, Round *trace,
                               const Settings &set) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    uint32_t team = blockIdx.x / set.blocks, teams = gridDim.x / set.blocks;
    Queue<D> in{shared_address(dynamic), spill + size_t(blockIdx.x) * 2 * set.spill, set.queue, set.spill}, out = in;
    out.near += in.size * sizeof(Entry<D>), out.far += in.spill;
    pin(in.near), pin(out.near), pin(in.size);
    out.size = in.size;
    gifts += size_t(team) * 2 * set.blocks * set.room;
    Board board{counts + size_t(team) * 2 * set.blocks, set.blocks, blockIdx.x % set.blocks, set.first_round};
    uint32_t ended = 0;
    for (uint32_t i = team; i < count && !(ended & TIMED_OUT); i += teams) {
        uint64_t own = __cvta_generic_to_global(distances + size_t(i) * set.rows);
        pin(own);
        D *mine = reinterpret_cast<D *>(__cvta_global_to_generic(own));
        ended = query<D, W>(rows, sources[i], mine, in, out, gifts, board, &records[i], trace, set);
    }
}

// Before a launch: nothing reached yet, nothing counted.
template <typename D>
static __device__ void start(size_t all, D *distances, uint32_t count, Record *records) {
    size_t first = blockIdx.x * size_t(blockDim.x) + threadIdx.x, step = size_t(gridDim.x) * blockDim.x;
    for (size_t i = first; i < all; i += step) distances[i] = Distance<D>::unreached;
    for (size_t i = first; i < count; i += step) records[i] = Record{};
}

#define KERNELS(suffix, D, W)                                                                                     \
    extern "C" __global__ void start_##suffix(size_t all, D *distances, uint32_t count, Record *records) {        \
        start(all, distances, count, records);                                                                    \
    }                                                                                                             \
    extern "C" __global__ void __launch_bounds__(MOST_THREADS, 1)                                                 \
        queries_##suffix(const uint2 *__restrict__ rows, const uint32_t *sources, uint32_t count, D *distances,   \
                         Entry<D> *spill, uint4 *gifts, Counts *counts, Record *records, Round *trace,            \
                         const __grid_constant__ Settings set) {                                                  \
        queries<D, W>(rows, sources, count, distances, spill, gifts, counts, records, trace, set);                \
    }

KERNELS(u4_u4, uint32_t, uint32_t)
KERNELS(u8_u4, uint64_t, uint32_t)
KERNELS(f4_f4, float, float)
KERNELS(f8_f4, double, float)
