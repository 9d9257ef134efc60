// A top-down level of so many arcs that they end in the same few words of the bitmap. Reduces over a warp: sm_80 on.
#pragma once
#include "rows.cuh"

// Mark a head a lane visited, with one atomic for all of a word, as many rows may end in the same few words. Returns
// whether the lane's is new. All lanes call it.
static __device__ bool mark_together(uint32_t lane, bool open, int head, uint32_t *visited) {
    bool fresh = false;
    for (uint32_t left = __ballot_sync(EVERY, open); left;) {
        int leader = __ffs(left) - 1, word = __shfl_sync(EVERY, head >> 5, leader);
        bool with = open && head >> 5 == word;
        uint32_t bit = 1u << (head & 31), bits = __reduce_or_sync(EVERY, with ? bit : 0);
        uint32_t before = lane == leader ? atomicOr(&visited[word], bits) : 0;
        before = __shfl_sync(EVERY, before, leader);
        fresh = fresh || (with && !(before & bit));
        left &= ~__ballot_sync(EVERY, with);
    }
    return fresh;
}

// `expand` of pieces where many rows end in the same words.
template <typename O, typename Write>
static __device__ Count expand_together(Place at, Rows<O> rows, const Piece *pieces, uint32_t count, uint32_t *visited,
                                        Write write) {
    Count found = 0;
    for (uint32_t p = at.warp; p < count; p += at.warps) {
        Piece piece = pieces[p];
#pragma unroll 1
        for (uint32_t place = at.lane; place < at.lane + piece.count; place += 32) {
            int head = place < piece.count ? __ldg(&rows.ends[piece.first + place]) : -1;
            bool open = head >= 0 && !in_set(visited, head);
            if (!mark_together(at.lane, open, head, visited)) continue;
            write(head, 1u << (head & 31), piece.tail);
            found++;
        }
    }
    return found;
}
