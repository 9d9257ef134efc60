// The exchange between the blocks of a team after a round of fast.cu: counts by messages, entries by work donation.
#pragma once
#include "hop.cuh"
#include "mailbox.cuh"
#include "window.cuh"

// Flag beside a block's number of hops in a round: it ended the round early because its queue was long.
static constexpr uint32_t LONG_QUEUE = 1u << 15;

// Shared memory of a block.
template <typename D> struct Shared {
    uint32_t tails[4];  // queue lengths of successive hops, cyclic
    uint32_t done, repeated, held, ended;
    Totals totals[2];  // of even and of odd rounds
    D nearest;
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
