// A hop of fast.cu: a block relaxes the entries of its queue once.
#pragma once
#include "ending.cuh"
#include "queue.cuh"
#include "types.cuh"

// NONE: the target of a row's place without an arc. ALL: every lane of a warp.
static constexpr uint32_t NONE = 0xFFFFFFFFu, ALL = 0xFFFFFFFFu;
// The bit of a target that is reached over a chain (walks.py), whose number is then in the weight's place.
static constexpr uint32_t LINK = 0x80000000u;

// The chains of a core, `links` and `lengths` of Walks; none where the kernel is not for them.
struct Links {
    const int4 *all;
    const float *lengths;
};

// The distance over a chain, added arc after arc; not to the end, or not at all, where it is not below `far`.
template <typename D> static __device__ D along(const Links &links, uint32_t number, D sum, D far) {
    constexpr int AHEAD = sizeof(D) == 4 ? 24 : 16;  // as registers allow
    const int4 link = links.all[number];
    if (sum * D(__int_as_float(link.w)) + D(__int_as_float(link.z)) > far) return far;
    const int step = link.y < 0 ? -1 : 1;
    const float *at = links.lengths + link.x;
    float next[AHEAD];
    int left = abs(link.y);
    // Behind the end 0 is added.
    auto load = [&] {
#pragma unroll
        for (int i = 0; i < AHEAD; i++) next[i] = i < left ? at[i * step] : 0.0f;
    };
    load();
    while (left > 0 && sum < far) {
        float now[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) now[i] = next[i];
        left -= AHEAD, at += AHEAD * step;
        load();
#pragma unroll
        for (int i = 0; i < AHEAD; i++) sum = Distance<D>::add(sum, now[i]);
    }
    return sum;
}

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
template <bool CHECK_FIRST, bool LINKED, typename D, typename W>
static __device__ void hop(const uint2 *__restrict__ rows, const Links &links, D *distances, const Queue<D> &in,
                           const Queue<D> &out, uint32_t count, uint32_t tail, D bound, uint32_t workers,
                           Tally &tally) {
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
                if (LINKED && arc.x & LINK) {
                    entry.id = arc.x & ~LINK;
                    entry.distance = along(links, arc.y, distance, __ldcg(&distances[entry.id]));
                } else {
                    entry = {Distance<D>::add(distance, as_weight(arc.y, W())), arc.x};
                }
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
