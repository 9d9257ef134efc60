// `fast` on graphs of small degree and many hops (road networks): delta-stepping with a sliding bound in a persistent
// kernel that answers whole queries without the host.
//
// Every block keeps a queue of updated vertices in shared memory. The distances are in device memory and change by
// atomic minima only. A *hop* relaxes the entries of the queue below a bound and keeps the others; vertices whose
// distance fell join the queue of the block that relaxed them. A hop costs one block barrier. After several hops, a
// *round*, the blocks of a team exchange messages (mailbox.cuh): each block sends counts to all others and donates the
// entries that it holds beyond its share (work donation). Donated entries carry the round's number like the messages
// do. There is no other barrier between blocks, and no fence, because a fence would empty L1, which holds the rows.
//
// The bound rises by `step` a hop, so the frontier stays within a window of distances that moves outwards. The step
// adapts to repeated work, the share of changes to vertices that had been relaxed before: above HIGH percent it
// shrinks, below LOW it grows back to its first value. Where no entry of any block lies below the bound, the bound
// jumps to the nearest waiting vertex, and the step doubles.
//
// A row is four arcs (target, weight bits), NONE where there is no arc; four lanes relax a row. The host splits
// vertices of more arcs (layout.py). An entry is stale once its vertex has a smaller distance; stale entries are
// dropped.
//
// A queue that outgrows shared memory goes on in device memory. Where that is full too, the query ends with FULL and
// the host runs it again with more.
//
// 1. Meyer, Sanders: Delta-stepping: a parallelizable shortest path algorithm. J. Algorithms 49, 2003.
// 2. Davidson, Baxter, Garland, Owens: Work-efficient parallel GPU methods for single-source shortest paths (near and
//    far piles). IPDPS 2014.
// 3. Wang, Fussell, Lin: A fast work-efficient SSSP algorithm for GPUs (an adaptive window). PPoPP 2021.
// 4. Zhang, Brahmakshatriya, Chen, Dhulipala, Kamil, Amarasinghe, Shun: Optimizing ordered graph algorithms with
//    GraphIt (several hops between barriers: bucket fusion). CGO 2020.
// 5. Gupta, Stuart, Owens: A study of persistent threads style GPU programming for GPGPU workloads. InPar 2012.
#include "ending.cuh"
#include "mailbox.cuh"
#include "queue.cuh"
#include "types.cuh"

static constexpr uint32_t NONE = 0xFFFFFFFFu, ALL = 0xFFFFFFFFu;
static constexpr uint32_t LOW = 40, HIGH = 60;
static constexpr double SHORTEST = 1.0 / 16;  // of the first step
// Threads of a block, and those of them that hop where the frontier is narrow: a barrier of fewer warps takes less
// time.
static constexpr uint32_t THREADS = 768, NARROW_THREADS = 512;
// Entries that a block keeps beyond the average before it donates: small differences are not worth a message.
static constexpr uint32_t SLACK = 16;

// Flag beside a block's number of hops in a round: it ended the round early because its queue was long.
static constexpr uint32_t LONG_QUEUE = 1u << 15;

// What a query leaves for the host; RECORD in cuda_fast.py.
struct Record {
    unsigned long long relaxations, rounds, hops, ended, last_round;
    double step;
};

// What a round leaves where a trace is wanted; ROUND in cuda_fast.py.
struct Round {
    unsigned long long ns;
    uint32_t hops, vertices, repeated, waiting;
};

struct Settings {
    uint32_t rows;         // vertices, with the extra ones of split vertices
    uint32_t queue;        // entries of a queue in shared memory
    uint32_t spill;        // entries of it in device memory
    uint32_t most_donated; // entries that a block can donate in a round
    uint32_t blocks;       // blocks of a team
    uint32_t hops;         // hops of a round at most
    uint32_t adapt;        // whether the step adapts
    uint32_t timeout_ms;   // of a query
    uint32_t traced;       // rounds that the trace has room for
    uint32_t first_round;  // its number; larger than any that an earlier launch left in the mailboxes
    double step;
};

// The greatest D not above x, which may lie outside D's range.
static __device__ uint32_t as_distance(double x, uint32_t) { return __double2uint_rd(x); }
static __device__ uint64_t as_distance(double x, uint64_t) { return __double2ull_rd(x); }
static __device__ float as_distance(double x, float) { return __double2float_rd(x); }
static __device__ double as_distance(double x, double) { return x; }

static __device__ uint32_t just_above(uint32_t d) { return d + 1; }
static __device__ uint64_t just_above(uint64_t d) { return d + 1; }
static __device__ float just_above(float d) { return __uint_as_float(__float_as_uint(d) + 1); }
static __device__ double just_above(double d) { return __longlong_as_double(__double_as_longlong(d) + 1); }

// What a thread has counted: since the last exchange (first line), and in all.
struct Tally {
    uint32_t done = 0, repeated = 0, held = 0;  // done: counted by each of a row's four lanes
    uint32_t relaxed = 0, ended = 0;
};

// Relax the entries of the queue `in` below the bound, and append to `out` the others and the updated targets.
// tail: shared-memory address of the length of `out`.
//
// CHECK_FIRST: look whether an entry is stale before relaxing it (broad frontiers). Otherwise (narrow frontiers) the
// distance is loaded while the minima are under way, and a stale entry's targets are only kept off the queue: the entry
// that made it stale relaxes them from a smaller distance. With rounding, that smaller distance may give an equal sum,
// which updates nothing, so the targets of float types stay on the queue.
template <bool CHECK_FIRST, typename D, typename W>
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
            // Distances change by atomics in L2 only, so L1 may be out of date.
            const D *place = &distances[entry.id];
            D there = 0, before = 0, distance = entry.distance;
            if (CHECK_FIRST) there = __ldcg(place);
            uint32_t leads = 0;
            bool relaxes = arc.x != NONE && (!CHECK_FIRST || there == distance);
            if (relaxes) {
                entry = {Distance<D>::add(distance, as_weight(arc.y, W())), arc.x};
                before = Distance<D>::atomic_min(&distances[entry.id], entry.distance);
                // Brings the target's row into L1 for the next hop while the minimum is under way.
                if (!CHECK_FIRST) leads = rows[size_t(entry.id) * 4].x;
                tally.relaxed++;
            }
            // Loaded after the minimum: loaded before, the compiler makes the minimum wait for the comparison.
            if (!CHECK_FIRST) there = __ldcg(place);
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

// The messages of all blocks of a team, combined.
struct Totals {
    uint32_t pending, donated, done, repeated, held;
    uint32_t longest, hops;  // hops: the most of any block, and the fewest of those with a long queue
    uint32_t ended;
    uint32_t received;  // entries donated to this block
};
static constexpr Totals NO_TOTALS{0, 0, 0, 0, 0, 0, ALL, 0, 0};

// Shared memory of a block.
template <typename D> struct Shared {
    uint32_t tails[4];  // queue lengths of successive hops, cyclic
    uint32_t done, repeated, held, ended;
    Totals totals[2];  // of even and of odd rounds
    D nearest;
};

// The bound and how it rises. All blocks compute the same window from the same totals.
template <typename D> struct Window {
    double step, reach;
    D floor = just_above(D(0));  // least bound

    __device__ D bound(double reached) const { return max(floor, as_distance(reached, D())); }

    __device__ void rise(const Totals &all, const Settings &set) {
        // Where a block with a long queue ended its round early, the bound rises only by that block's hops.
        if (all.held) reach += step * (all.hops == ALL ? all.longest : all.hops);
        if (!set.adapt || !all.held || !all.done) return;
        if (all.repeated * 100ull < LOW * uint64_t(all.done))
            step = min(step * 1.125, max(step, set.step));
        else if (all.repeated * 100ull > HIGH * uint64_t(all.done))
            step = max(step * 0.8125, min(step, set.step * SHORTEST));
    }
    // Where no entry lies below the bound.
    __device__ void jump(D nearest, const Settings &set) {
        floor = just_above(nearest);
        reach = max(reach, double(nearest) + step);
        if (set.adapt) step *= 2;
    }
};

// Send this block's counts to the others and donate the entries beyond `limit`. Returns how many entries are left.
template <typename D>
static __device__ uint32_t post(const Mailboxes &mail, const Queue<D> &in, uint32_t count, uint32_t limit,
                                uint32_t hops, Tally &tally, Shared<D> &shared, uint4 *donations, const Settings &set) {
    uint32_t done = __reduce_add_sync(ALL, tally.done), repeated = __reduce_add_sync(ALL, tally.repeated);
    uint32_t held = __reduce_add_sync(ALL, tally.held), ended = __reduce_or_sync(ALL, tally.ended);
    tally.done = tally.repeated = tally.held = 0;
    if (threadIdx.x % 32 == 0 && (done | held | ended)) {
        atomicAdd(&shared.done, done / 4);
        atomicAdd(&shared.repeated, repeated);
        atomicAdd(&shared.held, held);
        atomicOr(&shared.ended, ended);
    }
    uint32_t mine = count > limit ? min(count - limit, set.most_donated) : 0;
    count -= mine;
    for (uint32_t i = threadIdx.x; i < mine; i += blockDim.x) {
        Entry<D> entry = in.get(count + i);
        uint2 words = in_words(entry.distance);
        store_whole(&donations[size_t(mail.rank) * set.most_donated + i], {words.x, words.y, entry.id, mail.round});
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        mail.post({0, count, mine, hops | shared.ended << 16}, {0, shared.done, shared.repeated, shared.held});
        shared.done = shared.repeated = shared.held = 0;
    }
    return count;
}

// Read the messages of all blocks, a thread a block, and append the entries donated to this block to its queue.
// rotation: as in `query`.
template <typename D>
static __device__ void gather(const Mailboxes &mail, const Queue<D> &in, uint32_t count, uint32_t rotation,
                              Tally &tally, Totals &sum, const uint4 *donations, unsigned long long deadline,
                              const Settings &set) {
    uint32_t other = threadIdx.x;
    if (other / 32 * 32 >= set.blocks) return;
    Message theirs{};
    if (other < set.blocks) {
        if (!mail.read(other, theirs, deadline)) theirs = {{0, 0, 0, TIMED_OUT << 16}, {}};
        // A block's donated entries go to the blocks cyclically, beginning `rotation` blocks after it.
        uint32_t k = mail.rank + 2 * set.blocks - other - rotation;
        for (int wraps = 0; wraps < 2; wraps++) k -= k >= set.blocks ? set.blocks : 0;
        for (; k < theirs.a.z; k += set.blocks) {
            uint4 entry;
            if (!await(&donations[size_t(other) * set.most_donated + k], &uint4::w, mail.round, entry, deadline))
                tally.ended |= TIMED_OUT;
            uint32_t at = count + atomicAdd(&sum.received, 1);
            if (!in.put(at, {from_words({entry.x, entry.y}, D()), entry.z})) tally.ended |= FULL;
        }
    }
    uint32_t their_hops = theirs.a.w & (LONG_QUEUE - 1);
    uint32_t pending = __reduce_add_sync(ALL, theirs.a.y), donated = __reduce_add_sync(ALL, theirs.a.z);
    uint32_t longest = __reduce_max_sync(ALL, their_hops), ended = __reduce_or_sync(ALL, theirs.a.w >> 16);
    uint32_t fewest = __reduce_min_sync(ALL, theirs.a.w & LONG_QUEUE ? their_hops : ALL);
    uint32_t done = __reduce_add_sync(ALL, theirs.b.y), repeated = __reduce_add_sync(ALL, theirs.b.z);
    uint32_t held = __reduce_add_sync(ALL, theirs.b.w);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&sum.pending, pending);
        atomicAdd(&sum.donated, donated);
        atomicMax(&sum.longest, longest);
        atomicMin(&sum.hops, fewest);
        atomicOr(&sum.ended, ended);
        atomicAdd(&sum.done, done);
        atomicAdd(&sum.repeated, repeated);
        atomicAdd(&sum.held, held);
    }
}

// The smallest distance in any block's queue, by another exchange of messages.
template <typename D>
static __device__ D find_nearest(Mailboxes &mail, const Queue<D> &in, uint32_t count, D &nearest, uint32_t blocks,
                                 unsigned long long deadline) {
    D least = Distance<D>::unreached;
    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) least = min(least, in.get(i).distance);
    if (least != Distance<D>::unreached) Distance<D>::atomic_min(&nearest, least);
    __syncthreads();
    uint2 words = in_words(nearest);
    __syncthreads();
    mail.round++;
    if (threadIdx.x == 0) mail.post({0, words.x, words.y, 0}, {});
    Message theirs;
    if (threadIdx.x < blocks && mail.read(threadIdx.x, theirs, deadline))
        Distance<D>::atomic_min(&nearest, from_words({theirs.a.y, theirs.a.z}, D()));
    __syncthreads();
    least = nearest;
    __syncthreads();
    if (threadIdx.x == 0) nearest = Distance<D>::unreached;
    return least;
}

// Answer one source by all blocks of a team. Returns how it ended.
template <typename D, typename W>
static __device__ uint32_t query(const uint2 *__restrict__ rows, uint32_t source, D *distances, Queue<D> in,
                                 Queue<D> out, uint4 *donations, Mailboxes &mail, Record *record, Round *trace,
                                 const Settings &set) {
    __shared__ Shared<D> shared;
    uint32_t tid = threadIdx.x, tails = shared_address(shared.tails), current = 0;
    pin(tails);
    // Threads that hop where the frontier is narrow, and the entries that one pass of them takes.
    const uint32_t hopping = min(blockDim.x, NARROW_THREADS), pass = hopping / 4, capacity = set.queue + set.spill;
    const float share = 1.0f / set.blocks;
    uint32_t count = mail.rank == 0, limit = SLACK, long_queue = pass, most_hops = set.hops, rotation = 1;
    bool narrow = true;
    if (tid == 0) {
        shared = {{}, 0, 0, 0, 0, {NO_TOTALS, NO_TOTALS}, Distance<D>::unreached};
        if (count) {
            Distance<D>::atomic_min(&distances[source], D(0));
            in.put(0, {D(0), source});
        }
    }
    __syncthreads();

    unsigned long long begin = now_ns(), deadline = begin + set.timeout_ms * 1000000ull;
    unsigned long long rounds = 0, all_hops = 0;
    Window<D> window{set.step, set.step};
    Tally tally;
    Totals all;

    while (true) {
        mail.round++;
        uint32_t hops = 0;
        const uint32_t workers = narrow ? hopping : blockDim.x;
        auto take = [&](uint32_t more) {  // continue with the queue that so many more hops have filled
            current = (current + more) % 4;
            if (more % 2) swap(in, out);
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(count) : "r"(tails + current * 4) : "memory");
            count = min(count, capacity);
            hops += more;
        };
        if (tid < workers) {
            double reached = window.reach;
            D bound = window.bound(reached);
            while (hops < most_hops && count && (!hops || count <= long_queue)) {
                uint32_t tail = tails + (current + 1) % 4 * 4;
                // The next hop's length; last read before the barrier of the previous hop.
                if (tid == 0)
                    asm volatile("st.shared.u32 [%0], %1;" ::"r"(tails + (current + 2) % 4 * 4), "r"(0) : "memory");
                if (narrow)
                    hop<false, D, W>(rows, distances, in, out, count, tail, bound, workers, tally);
                else
                    hop<true, D, W>(rows, distances, in, out, count, tail, bound, workers, tally);
                // Computed before the barrier, not after it.
                reached += window.step;
                bound = window.bound(reached);
                pin(bound);
                __barrier_sync_count(1, workers);
                take(1);
            }
        }
        if (workers < blockDim.x) {
            // The count is the number of hops: thread i votes if more than i hops were made.
            uint32_t made = __syncthreads_count(tid < hops);
            if (tid >= workers && made) take(made);
        }
        const bool is_long = hops && count > long_queue;

        Totals &sum = shared.totals[rounds % 2];
        uint4 *donated_now = donations + size_t(mail.round % 2) * set.blocks * set.most_donated;
        count = post(mail, in, count, limit, hops | (is_long ? LONG_QUEUE : 0), tally, shared, donated_now, set);
        gather(mail, in, count, rotation, tally, sum, donated_now, deadline, set);
        __syncthreads();
        all = sum;
        if (tid == 0) shared.totals[(rounds + 1) % 2] = NO_TOTALS;
        count = min(count + all.received, capacity);
        rotation = rotation + 1 < set.blocks ? rotation + 1 : 0;

        uint32_t waiting = all.pending + all.donated;
        if (trace && mail.rank == 0 && tid == 0 && rounds < set.traced)
            trace[rounds] = {now_ns() - begin, all.longest, all.done, all.repeated, waiting};
        rounds++, all_hops += all.longest;
        if (all.ended || !waiting) break;

        uint32_t average = float(waiting) * share;
        narrow = average <= pass / 2;
        // A hop of a broad frontier takes as long as the longest queue; a narrow one gains little by equal shares.
        limit = average + average / (narrow ? 2 : 8) + SLACK;
        long_queue = max(pass, 2 * limit);
        most_hops = narrow ? set.hops : max(1, set.hops * (pass / 2) / average);
        window.rise(all, set);
        if (!all.done) window.jump(find_nearest(mail, in, count, shared.nearest, set.blocks, deadline), set);
    }

    unsigned long long relaxed = tally.relaxed;
    for (int other = 16; other; other /= 2) relaxed += __shfl_xor_sync(ALL, relaxed, other);
    if (tid % 32 == 0 && relaxed) atomicAdd(&record->relaxations, relaxed);
    if (mail.rank == 0 && tid == 0) {
        record->rounds = rounds, record->hops = all_hops;
        record->ended = all.ended, record->last_round = mail.round, record->step = window.step;
    }
    __syncthreads();
    return all.ended;
}

// Team t of `teams` answers the sources t, t + teams, and so on. All blocks must be resident.
template <typename D, typename W>
static __device__ void queries(const uint2 *__restrict__ rows, const uint32_t *sources, uint32_t count, D *distances,
                               Entry<D> *spill, uint4 *donations, Message *counts, Record *records, Round *trace,
                               const Settings &set) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    uint32_t team = blockIdx.x / set.blocks, teams = gridDim.x / set.blocks;
    Queue<D> in{shared_address(dynamic), spill + size_t(blockIdx.x) * 2 * set.spill, set.queue, set.spill}, out = in;
    out.in_shared += in.size * sizeof(Entry<D>), out.in_device += in.spill;
    pin(in.in_shared), pin(out.in_shared), pin(in.size);
    out.size = in.size;
    donations += size_t(team) * 2 * set.blocks * set.most_donated;
    Mailboxes mail{counts + size_t(team) * 2 * set.blocks, set.blocks, blockIdx.x % set.blocks, set.first_round};
    uint32_t ended = 0;
    for (uint32_t i = team; i < count && !(ended & TIMED_OUT); i += teams) {
        uint64_t own = __cvta_generic_to_global(distances + size_t(i) * set.rows);
        pin(own);
        D *mine = reinterpret_cast<D *>(__cvta_global_to_generic(own));
        ended = query<D, W>(rows, sources[i], mine, in, out, donations, mail, &records[i], trace, set);
    }
}

// Before a launch: no vertex is reached, nothing is counted.
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
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                                 \
        queries_##suffix(const uint2 *__restrict__ rows, const uint32_t *sources, uint32_t count, D *distances,   \
                         Entry<D> *spill, uint4 *donations, Message *counts, Record *records, Round *trace,            \
                         const __grid_constant__ Settings set) {                                                  \
        queries<D, W>(rows, sources, count, distances, spill, donations, counts, records, trace, set);                \
    }

KERNELS(u4_u4, uint32_t, uint32_t)
KERNELS(u8_u4, uint64_t, uint32_t)
KERNELS(f4_f4, float, float)
KERNELS(f8_f4, double, float)
