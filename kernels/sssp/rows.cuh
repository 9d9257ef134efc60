// What a warp of broad.cu does to vertices: it relaxes the arcs of up to 32 rows below a bound, or pulls.
//
// Rows are sorted by weight. A vertex that was relaxed at distance `done` has relaxed its arcs before `cursor`, and
// `next` is the candidate of the arc there, unreached where there is none. These change only in the phase that relaxes
// the vertex, by one thread: of several entries of a vertex in a queue only the one that holds its distance is relaxed.
#pragma once
#include "ending.cuh"
#include "queue.cuh"
#include "types.cuh"

static constexpr uint32_t ALL = 0xFFFFFFFFu;
static constexpr uint32_t THREADS = 768, WARPS = THREADS / 32;
// A row with more arcs to relax is cut into pieces of so many, which any warp relaxes in the next phase.
static constexpr uint32_t PIECE = 64;
// Arcs that a lane has under way at once; arcs of a row that a lane pulls by itself.
static constexpr uint32_t BATCH = 2, ALONE = 32;

template <typename D> struct Piece {
    unsigned long long first;
    D distance;
    uint32_t vertex, count;
};

// Where a list has its entries, its length on the device, and its room.
template <typename T> struct List {
    T *entries;
    uint32_t *length;
    uint32_t room;
};

// into_offsets, into_arcs: the arcs into a vertex, with their tails; of a symmetric graph the same as the others.
template <typename D> struct World {
    uint32_t n;
    const int64_t *__restrict__ offsets;
    const uint2 *__restrict__ arcs;
    const int64_t *__restrict__ into_offsets;
    const uint2 *__restrict__ into_arcs;
    D *distances, *done, *next;
    uint32_t *cursor;
};

// What a thread has counted in a phase.
struct Counts {
    uint32_t relaxed = 0, inside = 0;  // arcs relaxed; arcs into the vertices relaxed for the first time
    uint32_t done = 0, repeated = 0, first = 0;  // vertices relaxed; changes below the bound; the first time
    uint32_t ended = 0;
};

// Entries that a warp has found and not yet written to the queue: they are written 32 at a time, because all warps
// append by one counter.
template <typename D> struct Stage {
    Entry<D> *own;  // [64] in shared memory
    uint32_t held = 0;
    bool full = false;  // the queue has no room: the next phase looks at all vertices

    __device__ void put(bool found, Entry<D> entry, const List<Entry<D>> &queue, uint32_t lane) {
        uint32_t who = __ballot_sync(ALL, found);
        if (!who || full) return;
        if (found) own[held + __popc(who & ((1u << lane) - 1))] = entry;
        held += __popc(who);
        if (held < 32) return;
        __syncwarp();
        uint32_t at = lane == 0 ? atomicAdd(queue.length, 32) : 0;
        at = __shfl_sync(ALL, at, 0);
        full = at + 32 > queue.room;
        if (!full) queue.entries[at + lane] = own[lane];
        held = full ? 0 : held - 32;
        Entry<D> rest = own[32 + lane];
        __syncwarp();
        if (lane < held) own[lane] = rest;
        __syncwarp();
    }
};

static __device__ uint32_t running_sum(uint32_t value, uint32_t lane) {
    for (uint32_t step = 1; step < 32; step *= 2) {
        uint32_t below = __shfl_up_sync(ALL, value, step);
        if (lane >= step) value += below;
    }
    return value;
}

// Relax a batch of arcs a lane, from the distances given. count: places of the batch that any lane has.
template <typename D, typename W>
static __device__ void relax_batch(const World<D> &world, const uint2 *arc, const D *from, const bool *given,
                                   uint32_t count, D bound, Stage<D> &stage, const List<Entry<D>> &queue,
                                   Counts &counts, uint32_t lane) {
    Entry<D> entry[BATCH];
    D there[BATCH];
    bool lower[BATCH];
#pragma unroll
    for (uint32_t i = 0; i < BATCH; i++) {
        if (i >= count) break;
        entry[i] = {Distance<D>::add(from[i], as_weight(arc[i].y, W())), arc[i].x};
        // Distances change by atomics in L2 only, so L1 may be out of date.
        there[i] = given[i] ? __ldcg(&world.distances[arc[i].x]) : D(0);
    }
#pragma unroll
    for (uint32_t i = 0; i < BATCH; i++) {
        if (i >= count) break;
        lower[i] = given[i] && entry[i].distance < there[i];
        if (lower[i]) there[i] = Distance<D>::atomic_min(&world.distances[arc[i].x], entry[i].distance);
    }
#pragma unroll
    for (uint32_t i = 0; i < BATCH; i++) {
        if (i >= count) break;
        lower[i] = lower[i] && entry[i].distance < there[i];
        counts.repeated += lower[i] && there[i] < bound;
        stage.put(lower[i], entry[i], queue, lane);
    }
}

// The first arc from `low` on, before `high`, whose candidate does not lie below the bound. Four probes at a time, as
// it is a chain of loads.
template <typename D, typename W>
static __device__ uint32_t first_beyond(const uint2 *row, uint32_t low, uint32_t high, D distance, D bound) {
    while (low < high) {
        uint32_t span = high - low, probe[4], below = 0;
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) {
            probe[i] = span <= 4 ? low + min(i, span - 1) : low + uint32_t(uint64_t(span) * (i + 1) / 5);
            below += Distance<D>::add(distance, as_weight(row[probe[i]].y, W())) < bound;
        }
        if (span <= 4) return low + min(below, span);
        uint32_t from = low, to = high;
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) {
            if (below == i + 1) from = probe[i] + 1;
            if (below == i) to = probe[i];
        }
        low = from, high = to;
    }
    return low;
}

// Relax the rows of the vertices that the lanes are `due` to, from where they stand to the bound. next: the smallest
// candidate left in this lane's row, where it is due.
template <typename D, typename W>
static __device__ void relax_rows(const World<D> &world, bool due, uint32_t v, unsigned long long row, uint32_t length,
                                  D distance, D done, D &next, D bound, D heaviest, Stage<D> &stage,
                                  const List<Entry<D>> &queue, const List<Piece<D>> &pieces, Counts &counts,
                                  uint32_t lane) {
    uint32_t count = 0;
    unsigned long long first = 0;
    if (due) {
        next = Distance<D>::unreached;
        uint32_t begin = done == distance ? world.cursor[v] : 0, end = length;
        if (!(Distance<D>::add(distance, heaviest) < bound)) {
            end = first_beyond<D, W>(world.arcs + row, begin, length, distance, bound);
            if (end < length) {
                next = Distance<D>::add(distance, as_weight(world.arcs[row + end].y, W()));
                if (next == Distance<D>::unreached) counts.ended |= TOO_LONG;
            }
        }
        world.done[v] = distance, world.cursor[v] = end, world.next[v] = next;
        first = row + begin, count = end - begin;
        counts.relaxed += count, counts.done++;
        if (done == Distance<D>::unreached)
            counts.first++, counts.inside += uint32_t(world.into_offsets[v + 1] - world.into_offsets[v]);
    }
    uint32_t cut = count > PIECE ? (count + PIECE - 1) / PIECE : 0;
    if (uint32_t many = __ballot_sync(ALL, cut != 0)) {
        uint32_t upto = running_sum(cut, lane), at = lane == 31 ? atomicAdd(pieces.length, upto) : 0;
        at = __shfl_sync(ALL, at, 31) + upto - cut;
        for (; many; many &= many - 1) {
            int owner = __ffs(many) - 1;
            unsigned long long row_first = __shfl_sync(ALL, first, owner);
            uint32_t row_cut = __shfl_sync(ALL, cut, owner), row_at = __shfl_sync(ALL, at, owner);
            uint32_t row_count = __shfl_sync(ALL, count, owner), row_v = __shfl_sync(ALL, v, owner);
            D row_distance = __shfl_sync(ALL, distance, owner);
            for (uint32_t i = lane; i < row_cut; i += 32)
                pieces.entries[row_at + i] = {row_first + uint64_t(i) * PIECE, row_distance, row_v,
                                              min(PIECE, row_count - i * PIECE)};
        }
        if (cut) count = 0;
    }
    // The arcs of all 32 rows in a line, a lane an arc.
    uint32_t upto = running_sum(count, lane), total = __shfl_sync(ALL, upto, 31);
    first -= upto - count;
    for (uint32_t base = 0; base < total; base += 32 * BATCH) {
        uint2 arc[BATCH];
        D from[BATCH];
        bool given[BATCH];
        uint32_t places = min(BATCH, (total - base + 31) / 32);
#pragma unroll
        for (uint32_t i = 0; i < BATCH; i++) {
            if (i >= places) break;
            uint32_t k = base + 32 * i + lane, owner = 0;
#pragma unroll
            for (uint32_t step = 16; step; step /= 2)
                if (__shfl_sync(ALL, upto, owner + step - 1) <= k) owner += step;
            unsigned long long place = __shfl_sync(ALL, first, owner & 31) + k;
            from[i] = __shfl_sync(ALL, distance, owner & 31);
            given[i] = k < total;
            if (given[i]) arc[i] = world.arcs[place];
        }
        relax_batch<D, W>(world, arc, from, given, places, bound, stage, queue, counts, lane);
    }
}

// Relax a piece, unless its vertex has come nearer since: then its whole row is relaxed again.
template <typename D, typename W>
static __device__ void relax_piece(const World<D> &world, const Piece<D> &piece, D bound, Stage<D> &stage,
                                   const List<Entry<D>> &queue, Counts &counts, uint32_t lane) {
    if (__shfl_sync(ALL, __ldcg(&world.distances[piece.vertex]), 0) != piece.distance) return;
    uint2 arc[BATCH];
    D from[BATCH];
    bool given[BATCH];
    static_assert(PIECE == 32 * BATCH, "a batch is a piece");
#pragma unroll
    for (uint32_t i = 0; i < BATCH; i++) {
        from[i] = piece.distance, given[i] = 32 * i + lane < piece.count;
        if (given[i]) arc[i] = world.arcs[piece.first + 32 * i + lane];
    }
    relax_batch<D, W>(world, arc, from, given, (piece.count + 31) / 32, bound, stage, queue, counts, lane);
}

// The vertex beyond the bound, if this lane's is, takes the minimum over the tails below it of the arcs into it.
template <typename D, typename W>
static __device__ void pull(const World<D> &world, uint32_t v, D bound, Counts &counts, uint32_t lane) {
    auto through = [&](uint2 arc) {
        D near = world.distances[arc.x];
        if (near >= bound) return Distance<D>::unreached;
        D candidate = Distance<D>::add(near, as_weight(arc.y, W()));
        if (candidate == Distance<D>::unreached) counts.ended |= TOO_LONG;
        return candidate;
    };
    uint32_t length = 0;
    int64_t row = 0;
    D best = Distance<D>::unreached;
    if (v < world.n && world.distances[v] >= bound)
        row = world.into_offsets[v], length = world.into_offsets[v + 1] - row;
    counts.relaxed += length;
    if (length <= ALONE)
        for (uint32_t i = 0; i < length; i++) best = min(best, through(world.into_arcs[row + i]));
    for (uint32_t many = __ballot_sync(ALL, length > ALONE); many; many &= many - 1) {
        int owner = __ffs(many) - 1;
        int64_t row_first = __shfl_sync(ALL, row, owner);
        uint32_t row_length = __shfl_sync(ALL, length, owner);
        D row_best = Distance<D>::unreached;
        for (uint32_t i = lane; i < row_length; i += 32)
            row_best = min(row_best, through(world.into_arcs[row_first + i]));
        for (int other = 16; other; other /= 2) row_best = min(row_best, __shfl_xor_sync(ALL, row_best, other));
        if (lane == uint32_t(owner)) best = row_best;
    }
    if (best < Distance<D>::unreached) world.distances[v] = best;
}
