// Rows of a layout, and what a level does with them: the frontier's pieces listed, a vertex's row scanned for a parent.
#pragma once
#include "pieces.cuh"

using Count = unsigned long long;

// Entries that a lane reads by itself before the warp helps.
static constexpr int OWN = 16;

template <typename O>
struct Rows {
    const O *__restrict__ offsets;
    const int *__restrict__ ends;
};

static __device__ bool in_set(const uint32_t *set, int v) { return set[uint32_t(v) >> 5] >> (v & 31) & 1; }

static __device__ Count warp_sum(Count value) {
    for (int step = 16; step; step /= 2) value += __shfl_xor_sync(EVERY, value, step);
    return value;
}

template <typename O>
static __device__ Count list_pieces(Place at, uint32_t words, const O *__restrict__ offsets, const uint32_t *frontier,
                                    Piece *pieces, uint32_t *count) {
    Count leaving = 0;
    for (uint32_t base = at.warp; base < words; base += at.warps * 32) {
        uint32_t w = base + at.lane * at.warps, bits = w < words ? frontier[w] : 0;
        for (uint32_t left = __ballot_sync(EVERY, bits != 0); left; left &= left - 1) {
            int from = __ffs(left) - 1;
            uint32_t v = (base + from * at.warps) * 32 + at.lane;
            bool listed = __shfl_sync(EVERY, bits, from) >> at.lane & 1;
            O row = listed ? offsets[v] : 0, degree = listed ? offsets[v + 1] - row : 0;
            leaving += degree;
            append_pieces(at.lane, v, row, degree, pieces, count);
        }
    }
    return leaving;
}

// The parent of a vertex whose first entry is not in the frontier, -1 if no other is. All lanes of a warp call it.
template <typename O>
static __device__ int scan(uint32_t lane, bool wanted, uint32_t v, Rows<O> in, const uint32_t *frontier,
                           Count &inspected) {
    O at = 0, end = 0;
    if (wanted) at = in.offsets[v] + 1, end = in.offsets[v + 1];
    int parent = -1;
    for (int turn = 0; turn < OWN / 4; turn++) {
        int tail[4];
        bool hit[4];
#pragma unroll
        for (int i = 0; i < 4; i++) tail[i] = at + i < end ? in.ends[at + i] : -1;
#pragma unroll
        for (int i = 0; i < 4; i++) hit[i] = tail[i] >= 0 && in_set(frontier, tail[i]);
#pragma unroll
        for (int i = 3; i >= 0; i--) {
            inspected += tail[i] >= 0;
            if (hit[i]) parent = tail[i];
        }
        at = parent < 0 ? at + 4 : end;
        if (!__any_sync(EVERY, at < end)) return parent;
    }
    for (uint32_t longer = __ballot_sync(EVERY, at < end); longer; longer &= longer - 1) {
        int whose = __ffs(longer) - 1;
        O low = __shfl_sync(EVERY, at, whose), high = __shfl_sync(EVERY, end, whose);
        for (; low < high; low += 32) {
            int tail = low + lane < high ? in.ends[low + lane] : -1;
            inspected += tail >= 0;
            uint32_t hits = __ballot_sync(EVERY, tail >= 0 && in_set(frontier, tail));
            if (hits) {
                tail = __shfl_sync(EVERY, tail, __ffs(hits) - 1);
                if (lane == whose) parent = tail;
                break;
            }
        }
    }
    return parent;
}
