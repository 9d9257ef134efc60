// Fast on graphs of small degree and many hops (roads): one resident cluster of blocks runs the whole query.
//
// Every block owns part of the vertices (an id is block << SLOT_BITS | slot), their distances (in shared memory where
// they fit) and the queue of those that changed. A *hop* relaxes the queue's entries below a bound and keeps the
// others; it costs one block barrier. A relaxation across the cut is a message to the owner. After `hops` hops, a
// *round*, every block sends every block one packet of fixed size (its counts, and messages), straight into shared
// memory, and goes on when it has all packets of the round: that is the only barrier between blocks, and no fence
// (a cluster barrier with release and acquire empties L1, where the rows are). From the counts all compute the same
// next bound.
//
// The bound rises by `step` a hop, so that the vertices in flight stay in a window that moves with the wave front. The
// share of changes that hit a vertex after its earlier distance had come below the bound (work done twice) tells
// whether the step is too long: above HIGH percent it shrinks, below LOW it grows back to what it was at first.
//
// A row is four arcs (target, weight bits), NONE where there is none; four lanes relax it. The host has split
// vertices of more arcs (layout.py). An entry is stale once its vertex has a smaller distance; stale ones are dropped.
//
// Nothing is dropped for lack of room: a queue goes on in device memory, and where that ends the query ends with FULL.
// A message that finds its packet full waits in the sender's queue, whose round ends at once; nor does the bound rise in
// such a round, as a wave that runs on while a part of it waits is run all over again.
//
// 1. Meyer, Sanders: Delta-stepping. J. Algorithms 49, 2003.
// 2. Davidson, Baxter, Garland, Owens: Work-efficient parallel GPU methods for single-source shortest paths (near and
//    far piles). IPDPS 2014.
// 3. Wang, Fussell, Lin: A fast work-efficient SSSP algorithm for GPUs (a window steered by what happens). PPoPP 2021.
#include <cooperative_groups.h>

#include "types.cuh"

namespace cg = cooperative_groups;

static constexpr uint32_t NONE = 0xFFFFFFFFu, ALL = 0xFFFFFFFFu;
static constexpr uint32_t LOW = 40, HIGH = 60;
static constexpr uint32_t SLOT_BITS = 28, SLOTS = 1u << SLOT_BITS;

// How a query ended, or'ed together; mirrored in cuda_fast.py. In a header also: a message waits.
enum { TOO_LONG = 1, FULL = 2, TIMED_OUT = 4, WAITS = 8 };

// What a block sums up in a round.
enum { DONE, REPEATED, HELD, SENT };

// Beside the length of a queue: not all messages of this hop found room.
static constexpr uint32_t CROWDED = 1u << 31;

// What a query leaves for the host; mirrored in cuda_fast.py.
struct Record {
    unsigned long long relaxations, vertices, messages, rounds, hops, ended;
    double step;
};

struct Settings {
    uint32_t slots;      // vertices a block
    uint32_t queue;      // entries of a queue in shared memory
    uint32_t spill;      // and in device memory
    uint32_t hops;       // hops a round
    uint32_t adapt;      // whether the step is steered
    uint32_t patience_ms;  // watchdog
    double step;
};

template <typename D> struct alignas(2 * sizeof(D)) Entry {
    D distance;
    uint32_t id;
};

// What a block tells the others at the end of a round, in two 16-byte parts, and its messages.
struct Header {
    uint32_t to_you, pending, done, repeated, held, sent, hops, ended;
};

template <typename D, int BLOCKS> struct alignas(16) Packet {
    static constexpr uint32_t BOX = BLOCKS <= 8 && sizeof(D) == 4 ? 124 : 60;
    Header header;
    Entry<D> messages[BOX];
};

static __device__ unsigned long long now_ns() {
    unsigned long long t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}

static __device__ uint32_t as_weight(uint32_t bits, uint32_t) { return bits; }
static __device__ float as_weight(uint32_t bits, float) { return __uint_as_float(bits); }

// The greatest D not above a bound that may lie outside D's range.
static __device__ uint32_t as_distance(double x, uint32_t) { return __double2uint_rd(x); }
static __device__ uint64_t as_distance(double x, uint64_t) { return __double2ull_rd(x); }
static __device__ float as_distance(double x, float) { return __double2float_rd(x); }
static __device__ double as_distance(double x, double) { return x; }

// Keep the compiler from working a value out again where it is used.
static __device__ void pin(uint32_t &x) { asm volatile("" : "+r"(x)); }
static __device__ void pin(uint64_t &x) { asm volatile("" : "+l"(x)); }
static __device__ void pin(float &x) { asm volatile("" : "+f"(x)); }
static __device__ void pin(double &x) { asm volatile("" : "+d"(x)); }

static __device__ uint32_t just_above(uint32_t d) { return d + 1; }
static __device__ uint64_t just_above(uint64_t d) { return d + 1; }
static __device__ float just_above(float d) { return __uint_as_float(__float_as_uint(d) + 1); }
static __device__ double just_above(double d) { return __longlong_as_double(__double_as_longlong(d) + 1); }

// One block, or (from sm_90 on) a cluster of them.
template <int BLOCKS> struct Team {
    __device__ static uint32_t rank() { return cg::this_cluster().block_rank(); }
    template <typename T> __device__ static T *at(T *mine, uint32_t rank) {
        return cg::this_cluster().map_shared_rank(mine, rank);
    }
    __device__ static void barrier() { cg::this_cluster().sync(); }

    // The packets of a round have come when `bytes` have: one arrival, which says how many to expect.
    __device__ static void prepare(uint64_t *arrivals) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(arrivals)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __device__ static void expect(uint64_t *arrivals, uint32_t bytes) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(arrivals)), "r"(bytes)
                     : "memory");
    }
    // A peer that does not answer would be a defect: the launch then fails instead of hanging.
    __device__ static void wait(uint64_t *arrivals, uint32_t phase, unsigned long long deadline) {
        uint32_t come = 0;
        while (true) {
            asm volatile(
                "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                : "=r"(come)
                : "r"(address(arrivals)), "r"(phase)
                : "memory");
            if (come) return;
            if (now_ns() > deadline) __trap();
        }
    }
    // Store 16 bytes where block `rank` has `to`, counted by its `arrivals`.
    __device__ static void put(uint4 *to, uint64_t *arrivals, uint32_t rank, uint4 part) {
        asm volatile(
            "{.reg .u32 a, b; mapa.shared::cluster.u32 a, %0, %2; mapa.shared::cluster.u32 b, %1, %2;"
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [a], {%3, %4, %5, %6}, [b];}" ::"r"(
                address(to)),
            "r"(address(arrivals)), "r"(rank), "r"(part.x), "r"(part.y), "r"(part.z), "r"(part.w)
            : "memory");
    }
    __device__ static uint32_t address(const void *shared) { return uint32_t(__cvta_generic_to_shared(shared)); }
};

template <> struct Team<1> {
    __device__ static uint32_t rank() { return 0; }
    template <typename T> __device__ static T *at(T *mine, uint32_t) { return mine; }
    __device__ static void barrier() { __syncthreads(); }
    __device__ static void prepare(uint64_t *) {}
    __device__ static void expect(uint64_t *, uint32_t) {}
    __device__ static void wait(uint64_t *, uint32_t, unsigned long long) { __syncthreads(); }
    __device__ static void put(uint4 *to, uint64_t *, uint32_t, uint4 part) { *to = part; }
};

template <typename D, typename W, int BLOCKS, bool SHARED> struct Query {
    using Parcel = Packet<D, BLOCKS>;
    static constexpr uint32_t BOX = Parcel::BOX;
    // Entries of the queue that four lanes have under way together; wide ones would not fit the registers.
    static constexpr int AT_ONCE = sizeof(D) == 4 ? 2 : 1;

    const uint2 *__restrict__ rows;  // of this block's vertices, as are the distances
    const Settings &set;
    D *distances;
    Entry<D> *queues, *spills;  // two queues, one read and one written
    Parcel *outgoing;           // one a block
    uint32_t *filled, *ended;  // filled: messages for each block, more than BOX if some had to wait
    uint32_t base, in;
    D bound;
    uint32_t done = 0, repeated = 0, held = 0, posted = 0;
    unsigned long long relaxed = 0;

    __device__ Entry<D> get(uint32_t i) const {
        return i < set.queue ? queues[in * set.queue + i] : spills[size_t(in) * set.spill + i - set.queue];
    }

    // Append up to COUNT entries a lane to queue `which`. All lanes of the warp call it.
    template <int COUNT>
    __device__ void append(uint32_t which, uint32_t *counter, const bool (&wanted)[COUNT],
                           const Entry<D> (&entries)[COUNT]) {
        uint32_t lanes[COUNT], total = 0, lane = threadIdx.x & 31;
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            lanes[k] = __ballot_sync(ALL, wanted[k]);
            total += __popc(lanes[k]);
        }
        if (!total) return;
        uint32_t first = 0;
        if (lane == 0) first = atomicAdd(counter, total);
        first = __shfl_sync(ALL, first, 0) & ~CROWDED;
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            uint32_t at = first + __popc(lanes[k] & ((1u << lane) - 1));
            first += __popc(lanes[k]);
            if (!wanted[k]) continue;
            if (at < set.queue)
                queues[which * set.queue + at] = entries[k];
            else if (at - set.queue < set.spill)
                spills[size_t(which) * set.spill + at - set.queue] = entries[k];
            else
                *ended = FULL;
        }
    }

    // A message to the owner of `id`; false when its packet is full, which is noted in the queue's counter.
    __device__ bool send(uint32_t id, D distance, uint32_t *counter) {
        uint32_t owner = id >> SLOT_BITS, at = atomicAdd(&filled[owner], 1);
        if (at >= BOX) {
            atomicOr(counter, CROWDED);
            return false;
        }
        outgoing[owner].messages[at] = {distance, id};
        posted++;
        return true;
    }

    __device__ D lower(uint32_t slot, D distance) { return Distance<D>::atomic_min(&distances[slot], distance); }

    __device__ D read(uint32_t slot) const {
        // Device memory is changed by atomics in L2 only: do not ask L1.
        if constexpr (SHARED)
            return distances[slot];
        else
            return __ldcg(&distances[slot]);
    }

    __device__ void hop(uint32_t count, uint32_t *counter) {
        uint32_t lane = threadIdx.x & 31, side = lane & 3, together = blockDim.x / 4;
        for (uint32_t first = threadIdx.x / 32 * 8; first < count; first += AT_ONCE * together) {
            Entry<D> entries[AT_ONCE];
            uint2 arcs[AT_ONCE];
            D nearest[AT_ONCE];
            bool live[AT_ONCE], mine[AT_ONCE], keep[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++) {
                uint32_t i = first + k * together + lane / 4;
                live[k] = i < count, keep[k] = false;
                if (!live[k]) continue;
                entries[k] = get(i);
                uint32_t slot = entries[k].id - base;
                mine[k] = slot < SLOTS;
                if (!mine[k]) continue;
                arcs[k] = rows[size_t(slot) * 4 + side];
                nearest[k] = read(slot);
            }
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++) {
                if (!live[k]) continue;
                bool due = entries[k].distance < bound;
                if (mine[k] && due) {
                    if (nearest[k] != entries[k].distance) continue;
                    done += side == 0;
                    if (arcs[k].x == NONE) continue;
                    relaxed++;
                    D candidate = Distance<D>::add(entries[k].distance, as_weight(arcs[k].y, W()));
                    uint32_t slot = arcs[k].x - base;
                    entries[k] = {candidate, arcs[k].x};
                    if (candidate == Distance<D>::unreached) {
                        *ended = TOO_LONG;
                    } else if (slot < SLOTS) {
                        D before = lower(slot, candidate);
                        keep[k] = candidate < before;
                        repeated += keep[k] && before < bound;
                    } else {
                        keep[k] = !send(arcs[k].x, candidate, counter);
                    }
                } else if (side == 0) {
                    keep[k] = !due || !send(entries[k].id, entries[k].distance, counter);
                    held += keep[k];
                }
            }
            append(in ^ 1, counter, keep, entries);
        }
    }

    __device__ void receive(const Parcel *packets, uint32_t *counter) {
        for (uint32_t i = threadIdx.x; i / 32 * 32 < BLOCKS * BOX; i += blockDim.x) {
            bool keep[1] = {i < BLOCKS * BOX && i % BOX < packets[i / BOX].header.to_you};
            Entry<D> message[1];
            if (keep[0]) {
                message[0] = packets[i / BOX].messages[i % BOX];
                keep[0] = message[0].distance < lower(message[0].id - base, message[0].distance);
            }
            append(in, counter, keep, message);
        }
    }

    // The smallest distance in the queue, into *nearest (which holds `unreached` before).
    __device__ void find_nearest(uint32_t count, D *nearest) {
        D least = Distance<D>::unreached;
        for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) least = min(least, get(i).distance);
        for (int distance = 16; distance; distance /= 2) least = min(least, __shfl_xor_sync(ALL, least, distance));
        if (threadIdx.x % 32 == 0 && least != Distance<D>::unreached) Distance<D>::atomic_min(nearest, least);
    }
};

template <typename D, typename W, int BLOCKS, bool SHARED>
static __device__ void query(const uint2 *__restrict__ rows, const uint32_t *sources, D *distances, Entry<D> *spill,
                             Record *record, const Settings &set) {
    // A team a source: what follows sees its own arrays only.
    uint32_t team = blockIdx.x / BLOCKS, source = sources[team];
    distances += size_t(team) * BLOCKS * set.slots;
    spill += size_t(team) * BLOCKS * 2 * set.spill;
    record += team;

    using T = Team<BLOCKS>;
    using Parcel = Packet<D, BLOCKS>;
    constexpr uint32_t PARTS = sizeof(Parcel) / sizeof(uint4);
    __shared__ Parcel outgoing[BLOCKS], packets[2][BLOCKS];
    __shared__ uint64_t arrivals[2];
    __shared__ uint32_t tail[3], filled[BLOCKS], ended, sums[2][4];
    __shared__ D nearest, nearest_of[BLOCKS];
    extern __shared__ __align__(16) unsigned char dynamic[];

    uint32_t tid = threadIdx.x, lane = tid & 31, rank = T::rank();
    Query<D, W, BLOCKS, SHARED> q{rows + size_t(rank) * set.slots * 4, set};
    q.base = rank << SLOT_BITS;
    distances += size_t(rank) * set.slots;
    q.queues = reinterpret_cast<Entry<D> *>(dynamic);
    q.spills = spill + size_t(rank) * 2 * set.spill;
    q.outgoing = outgoing;
    q.distances = SHARED ? reinterpret_cast<D *>(q.queues + 2 * set.queue) : distances;
    q.filled = filled, q.ended = &ended;
    q.in = 0;

    if constexpr (SHARED)
        for (uint32_t i = tid; i < set.slots; i += blockDim.x) q.distances[i] = Distance<D>::unreached;
    if (tid < BLOCKS) filled[tid] = 0;
    if (tid < 3) tail[tid] = 0;
    if (tid < 4) sums[0][tid] = sums[1][tid] = 0;
    if (tid == 0) ended = 0, nearest = Distance<D>::unreached;
    if (tid == 0) T::prepare(&arrivals[0]), T::prepare(&arrivals[1]);
    T::barrier();
    uint32_t count = source - q.base < SLOTS;
    if (tid == 0 && count) {
        q.distances[source - q.base] = D(0);
        q.queues[0] = {D(0), source};
    }
    __syncthreads();

    uint32_t current = 0, all_ended = 0;
    unsigned long long rounds = 0, all_hops = 0, messages = 0, vertices = 0;
    unsigned long long deadline = now_ns() + set.patience_ms * 1000000ull;
    double step = set.step, reach = step;
    D floor = just_above(D(0));

    while (true) {
        // Two sets of packets, sums and barriers: a fast block may be a round ahead, never two, as it needs our packets.
        uint32_t parity = rounds & 1, phase = rounds >> 1 & 1;
        uint32_t hops = 0;
        double reached = reach;
        bool crowded = false;
        while (hops < set.hops && count && !crowded) {
            q.bound = max(floor, as_distance(reached, D()));
            pin(q.bound);
            q.hop(count, &tail[(current + 1) % 3]);
            // Last read before the barrier of the hop before this one.
            if (tid == 0) tail[(current + 2) % 3] = 0;
            __syncthreads();
            current = (current + 1) % 3;
            crowded = tail[current] & CROWDED;
            count = min(tail[current] & ~CROWDED, set.queue + set.spill);
            q.in ^= 1;
            hops++;
            reached += step;
        }

        uint32_t done = __reduce_add_sync(ALL, q.done), repeated = __reduce_add_sync(ALL, q.repeated);
        uint32_t held = __reduce_add_sync(ALL, q.held), sent = __reduce_add_sync(ALL, q.posted);
        vertices += q.done;
        q.done = q.repeated = q.held = q.posted = 0;
        if (lane == 0 && (done | repeated | held | sent)) {
            atomicAdd(&sums[parity][DONE], done);
            atomicAdd(&sums[parity][REPEATED], repeated);
            atomicAdd(&sums[parity][HELD], held);
            atomicAdd(&sums[parity][SENT], sent);
        }
        if (tid == 0 && rounds % 64 == 0 && now_ns() > deadline) ended = TIMED_OUT;
        __syncthreads();
        if (tid == 0) T::expect(&arrivals[parity], sizeof packets[0]);
        for (uint32_t i = tid; i < PARTS * BLOCKS; i += blockDim.x) {
            uint32_t to = i / PARTS, part = i % PARTS;
            uint4 content;
            if (part == 0) {
                content = {min(filled[to], Parcel::BOX), count, sums[parity][DONE], sums[parity][REPEATED]};
                filled[to] = 0;
            } else {
                content = part == 1 ? uint4{sums[parity][HELD], sums[parity][SENT], hops, ended | (crowded ? WAITS : 0)}
                                    : reinterpret_cast<uint4 *>(&outgoing[to])[part];
            }
            T::put(reinterpret_cast<uint4 *>(&packets[parity][rank]) + part, &arrivals[parity], to, content);
        }
        T::wait(&arrivals[parity], phase, deadline + 1000000000ull);

        Header theirs = lane < BLOCKS ? packets[parity][lane].header : Header{};
        done = __reduce_add_sync(ALL, theirs.done);
        repeated = __reduce_add_sync(ALL, theirs.repeated);
        held = __reduce_add_sync(ALL, theirs.held);
        hops = __reduce_max_sync(ALL, theirs.hops);
        sent = __reduce_add_sync(ALL, theirs.sent);
        uint32_t came = __reduce_add_sync(ALL, theirs.to_you), pending = __reduce_add_sync(ALL, theirs.pending);
        all_ended = __reduce_or_sync(ALL, theirs.ended);
        bool waits = all_ended & WAITS;
        all_ended &= ~WAITS;
        rounds++, all_hops += hops, messages += sent;
        if (all_ended || sent + pending == 0) break;

        if (tid < 4) sums[parity ^ 1][tid] = 0;
        if (came) q.receive(packets[parity], &tail[current]);
        __syncthreads();
        count = min(tail[current] & ~CROWDED, set.queue + set.spill);

        if (held && !waits) reach += step * hops;
        if (set.adapt && held && done) {
            if (repeated * 100 < LOW * done)
                step = min(step * 1.125, set.step);
            else if (repeated * 100 > HIGH * done)
                step *= 0.8125;
        }
        if (done == 0 && sent == 0) {
            // Nothing lies below the bound anywhere: go to the nearest that waits.
            q.find_nearest(count, &nearest);
            __syncthreads();
            if (tid < BLOCKS) *T::at(&nearest_of[rank], tid) = nearest;
            T::barrier();
            if (tid == 0) nearest = Distance<D>::unreached;
            D least = lane < BLOCKS ? nearest_of[lane] : Distance<D>::unreached;
            for (int distance = 16; distance; distance /= 2) least = min(least, __shfl_xor_sync(ALL, least, distance));
            floor = just_above(least);
            reach = max(reach, double(least) + step);
            // Nobody overwrites nearest_of before all have read it: the next round's barrier comes first.
        }
    }

    // Nobody leaves while a packet of his may be under way.
    T::barrier();
    if constexpr (SHARED)
        for (uint32_t i = tid; i < set.slots; i += blockDim.x) distances[i] = q.distances[i];
    for (int distance = 16; distance; distance /= 2) {
        q.relaxed += __shfl_xor_sync(ALL, q.relaxed, distance);
        vertices += __shfl_xor_sync(ALL, vertices, distance);
    }
    if (lane == 0) {
        atomicAdd(&record->relaxations, q.relaxed);
        atomicAdd(&record->vertices, vertices);
    }
    if (rank == 0 && tid == 0) {
        record->messages = messages, record->rounds = rounds, record->hops = all_hops;
        record->ended = all_ended, record->step = step;
    }
}

// Before a query: nothing reached yet, nothing counted. distances may be null (they are in shared memory).
template <typename D> static __device__ void start(size_t slots, D *distances, uint32_t teams, Record *records) {
    size_t first = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (distances)
        for (size_t i = first; i < slots; i += size_t(gridDim.x) * blockDim.x) distances[i] = Distance<D>::unreached;
    if (first < teams) records[first] = Record{};
}

// After it: distances in the caller's order, a row a source.
template <typename D>
static __device__ void finish(uint32_t n, const uint32_t *ids, uint32_t slots, size_t all_slots, const D *distances,
                              D *answer) {
    for (uint32_t v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x) {
        size_t place = size_t(ids[v] >> SLOT_BITS) * slots + (ids[v] & (SLOTS - 1));
        answer[size_t(blockIdx.y) * n + v] = distances[blockIdx.y * all_slots + place];
    }
}

#define QUERY(name, dims, D, W, BLOCKS, SHARED)                                                                   \
    extern "C" __global__ void dims __launch_bounds__(1024, 1)                                                    \
        name(const uint2 *__restrict__ rows, const uint32_t *sources, D *distances, Entry<D> *spill,              \
             Record *record, const __grid_constant__ Settings set) {                                              \
        query<D, W, BLOCKS, SHARED>(rows, sources, distances, spill, record, set);                                \
    }

#if __CUDA_ARCH__ >= 900
#define CLUSTERS(suffix, D, W)                                                                                    \
    QUERY(cluster8_shared_##suffix, __cluster_dims__(8), D, W, 8, true)                                           \
    QUERY(cluster8_device_##suffix, __cluster_dims__(8), D, W, 8, false)                                          \
    QUERY(cluster16_shared_##suffix, __cluster_dims__(16), D, W, 16, true)                                        \
    QUERY(cluster16_device_##suffix, __cluster_dims__(16), D, W, 16, false)
#else
#define CLUSTERS(suffix, D, W)
#endif

#define KERNELS(suffix, D, W)                                                                                     \
    extern "C" __global__ void start_##suffix(size_t slots, D *distances, uint32_t teams, Record *records) {      \
        start(slots, distances, teams, records);                                                                  \
    }                                                                                                             \
    extern "C" __global__ void finish_##suffix(uint32_t n, const uint32_t *ids, uint32_t slots,                   \
                                               size_t all_slots, const D *distances, D *answer) {                 \
        finish(n, ids, slots, all_slots, distances, answer);                                                               \
    }                                                                                                             \
    QUERY(cluster1_shared_##suffix, , D, W, 1, true)                                                              \
    QUERY(cluster1_device_##suffix, , D, W, 1, false)                                                             \
    CLUSTERS(suffix, D, W)

KERNELS(u4_u4, uint32_t, uint32_t)
KERNELS(u8_u4, uint64_t, uint32_t)
KERNELS(f4_f4, float, float)
KERNELS(f8_f4, double, float)
