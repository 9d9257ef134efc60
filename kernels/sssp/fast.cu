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
// The bound rises by `step` a hop, so the frontier stays within a window of distances that moves outwards. The step is
// steered by time. While a hop has so few entries that its time is that of a chain of loads, the step grows: relaxing
// more, even repeatedly, costs nothing, and hops become fewer. Otherwise it adapts to repeated work, the share of changes
// to vertices that had been relaxed before: above HIGH percent it shrinks, below LOW it grows back to its first value. Where no entry of any block lies below the bound, the bound
// jumps to the nearest waiting vertex, and the step doubles.
//
// A row is four arcs (target, weight bits), NONE where there is no arc; four lanes relax a row. The host splits
// vertices of more arcs (layout.py). In the kernels `linked_*` an arc may be a chain (walks.py), which a lane adds up. An entry is stale once its vertex has a smaller distance; stale entries are
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
//
// Read hop.cuh, window.cuh and exchange.cuh first, then `query`.
#include "exchange.cuh"

// Threads of a block, and those of them that hop where the frontier is narrow: a barrier of fewer warps takes less
// time.
static constexpr uint32_t THREADS = 768, NARROW_THREADS = 512;
// Where arcs may be chains, more registers a thread load more of a chain ahead.
static constexpr uint32_t LINKED_THREADS = 512;
// Entries that a block keeps beyond the average before it donates: small differences are not worth a message.
static constexpr uint32_t SLACK = 16;

// What a query leaves for the host; RECORD in cuda_resident.py.
struct Record {
    unsigned long long relaxations, rounds, hops, ended, last_round;
    double step;
};

// What a round leaves where a trace is wanted; ROUND in cuda_resident.py.
struct Round {
    unsigned long long ns;
    uint32_t hops, vertices, repeated, waiting;
};

// What broad.cu has left to this kernel: entries of distances that stand already. `go_on` in cuda_resident.py passes it.
template <typename D> struct Left {
    const Entry<D> *lists;  // two, each with room for `room`
    const uint32_t *count;  // and which of the lists
    uint32_t room;
};

// Answer one source by all blocks of a team, or go on from what is left. Returns how it ended.
template <bool LINKED, typename D, typename W>
static __device__ uint32_t query(const uint2 *__restrict__ rows, const Links &links, uint32_t source, const Left<D> &left, D *distances,
                                 Queue<D> in, Queue<D> out, uint4 *donations, Mailboxes &mail, Record *record, Round *trace,
                                 const Settings &set) {
    __shared__ Shared<D> shared;
    uint32_t tid = threadIdx.x, tails = shared_address(shared.tails), current = 0;
    pin(tails);
    // Threads that hop where the frontier is narrow, and the entries that one pass of them takes.
    const uint32_t hopping = min(blockDim.x, NARROW_THREADS), pass = hopping / 4, capacity = set.queue + set.spill;
    const float share = 1.0f / set.blocks;
    const uint32_t given = left.lists ? left.count[0] : 1;
    Tally tally;
    uint32_t count = min((given + set.blocks - 1 - mail.rank) / set.blocks, capacity), limit = SLACK, long_queue = pass, most_hops = set.hops, rotation = 1;
    bool narrow = true;
    if (tid == 0) {
        shared = {{}, 0, 0, 0, 0, {NO_TOTALS, NO_TOTALS}, Distance<D>::unreached};
        if (count && !left.lists) {
            Distance<D>::atomic_min(&distances[source], D(0));
            in.put(0, {D(0), source});
        }
    }
    if (left.lists) {
        for (uint32_t i = tid; i < count; i += blockDim.x)
            in.put(i, left.lists[size_t(left.count[1]) * left.room + i * set.blocks + mail.rank]);
        if (given > capacity * set.blocks) tally.ended |= FULL;
    }
    __syncthreads();

    unsigned long long begin = now_ns(), deadline = begin + set.timeout_ms * 1000000ull;
    unsigned long long rounds = 0, all_hops = 0;
    Window<D> window{set.step, set.step};
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
                    hop<false, LINKED, D, W>(rows, links, distances, in, out, count, tail, bound, workers, tally);
                else
                    hop<true, LINKED, D, W>(rows, links, distances, in, out, count, tail, bound, workers, tally);
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
template <bool LINKED, typename D, typename W>
static __device__ void queries(const uint2 *__restrict__ rows, const Links &links, const uint32_t *sources, const Left<D> &left,
                               uint32_t count, D *distances, Entry<D> *spill, uint4 *donations, Message *counts, Record *records, Round *trace,
                               const Settings &set) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    if (left.lists && !left.count[0]) return;
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
        ended = query<LINKED, D, W>(rows, links, sources[i], left, mine, in, out, donations, mail, &records[i], trace, set);
    }
}

// Before a launch: no vertex is reached, nothing is counted.
template <typename D>
static __device__ void start(size_t all, D *distances, uint32_t count, Record *records) {
    size_t first = blockIdx.x * size_t(blockDim.x) + threadIdx.x, step = size_t(gridDim.x) * blockDim.x;
    for (size_t i = first; i < all; i += step) distances[i] = Distance<D>::unreached;
    for (size_t i = first; i < count; i += step) records[i] = Record{};
}

#define QUERIES(name, LINKED, D, W)                                                                               \
    extern "C" __global__ void __launch_bounds__(LINKED ? LINKED_THREADS : THREADS, 1)                            \
        name(const uint2 *__restrict__ rows, const __grid_constant__ Links links, const uint32_t *sources,        \
             const __grid_constant__ Left<D> left, uint32_t count, D *distances, Entry<D> *spill,                 \
             uint4 *donations, Message *counts, Record *records, Round *trace,                                    \
             const __grid_constant__ Settings set) {                                                              \
        queries<LINKED, D, W>(rows, links, sources, left, count, distances, spill, donations, counts, records,    \
                              trace, set);                                                                        \
    }

#define KERNELS(suffix, D, W)                                                                                     \
    extern "C" __global__ void start_##suffix(size_t all, D *distances, uint32_t count, Record *records) {        \
        start(all, distances, count, records);                                                                    \
    }                                                                                                             \
    QUERIES(queries_##suffix, false, D, W)

KERNELS(u4_u4, uint32_t, uint32_t)
KERNELS(u8_u4, uint64_t, uint32_t)
KERNELS(f4_f4, float, float)
KERNELS(f8_f4, double, float)
QUERIES(linked_f4_f4, true, float, float)
QUERIES(linked_f8_f4, true, double, float)
