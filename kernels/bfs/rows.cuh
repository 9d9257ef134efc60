// Rows of a layout, and what a level does with them: the frontier's pieces listed, a vertex's row scanned for a parent.
#pragma once
#include "pieces.cuh"

using Count = unsigned long long;

// Entries that a lane reads by itself before the warp helps; words whose first entries a warp has under way at once.
static constexpr int OWN = 16, BATCH = 4;
// Entries beyond which a warp holds its rows back for all warps.
static constexpr uint32_t HOLD = 512;

// Rows that are held back, in pieces; null where a warp looks through long rows by itself.
struct Held {
    Piece *pieces;
    uint32_t *count;
};

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

// Mark the heads of `count` pieces visited; write(head, its bit, tail) for each that was not. Returns how many. root: where
// `pieces` is null, as then the only ones are those of its row.
template <typename O, typename Write>
static __device__ Count expand(Place at, Rows<O> rows, const Piece *pieces, uint32_t count, uint32_t root,
                               uint32_t *visited, Write write) {
    Count found = 0;
    for (uint32_t p = at.warp; p < count; p += at.warps) {
        Piece piece;
        if (pieces) {
            piece = pieces[p];
        } else {
            O row = rows.offsets[root];
            piece = piece_of(root, row, rows.offsets[root + 1] - row, p);
        }
        const int *ends = rows.ends + piece.first;
        int head[PIECE / 32];
        uint32_t word[PIECE / 32];
#pragma unroll
        for (int i = 0; i < PIECE / 32; i++) {
            uint32_t place = 32 * i + at.lane;
            head[i] = place < piece.count ? __ldg(&ends[place]) : -1;
        }
#pragma unroll
        for (int i = 0; i < PIECE / 32; i++) word[i] = head[i] < 0 ? EVERY : visited[head[i] >> 5];
#pragma unroll
        for (int i = 0; i < PIECE / 32; i++) {
            uint32_t bit = 1u << (head[i] & 31);
            if (word[i] & bit || atomicOr(&visited[head[i] >> 5], bit) & bit) continue;
            write(head[i], bit, piece.tail);
            found++;
        }
    }
    return found;
}

// Parents of at most 32 vertices whose first entries are not in the frontier, a lane each. missed: where they stand in the
// warp's words (see find_parents), 32 times the word plus the bit; what is found is added to got[word]. Where more than
// HOLD entries are left to the warp, they go to `held`. All lanes call it.
template <typename O>
static __device__ void scan(Place at, uint32_t base, const uint16_t *missed, uint32_t count, Rows<O> in,
                            const uint32_t *frontier, int2 *answer, int level, Held held, uint32_t *got,
                            Count &inspected) {
    bool mine = at.lane < count;
    uint32_t which = mine ? missed[at.lane] : 0, v = (base + which / 32 * at.warps) * 32 + which % 32;
    O next = mine ? in.offsets[v] + 1 : 0, end = mine ? in.offsets[v + 1] : 0;
    int parent = -1;
    bool more = true;
    for (int turn = 0; turn < OWN / 4 && more; turn++) {
        int tail[4];
        bool hit[4];
#pragma unroll
        for (int i = 0; i < 4; i++) tail[i] = next + i < end ? in.ends[next + i] : -1;
#pragma unroll
        for (int i = 0; i < 4; i++) hit[i] = tail[i] >= 0 && in_set(frontier, tail[i]);
#pragma unroll
        for (int i = 3; i >= 0; i--) {
            inspected += tail[i] >= 0;
            if (hit[i]) parent = tail[i];
        }
        next = parent < 0 ? next + 4 : end;
        more = __any_sync(EVERY, next < end);
    }
    uint32_t longer = __ballot_sync(EVERY, next < end);
    if (longer && held.pieces) {
        O rest = next < end ? end - next : 0;
        if (warp_sum(rest) > HOLD) {
            append_pieces(at.lane, v, next, rest, held.pieces, held.count);
            longer = 0;
        }
    }
    for (; longer; longer &= longer - 1) {
        int whose = __ffs(longer) - 1;
        O low = __shfl_sync(EVERY, next, whose), high = __shfl_sync(EVERY, end, whose);
        for (; low < high; low += 32) {
            int tail = low + at.lane < high ? in.ends[low + at.lane] : -1;
            inspected += tail >= 0;
            uint32_t hits = __ballot_sync(EVERY, tail >= 0 && in_set(frontier, tail));
            if (hits) {
                tail = __shfl_sync(EVERY, tail, __ffs(hits) - 1);
                if (at.lane == whose) parent = tail;
                break;
            }
        }
    }
    if (parent >= 0) {
        answer[v] = {level, parent};
        atomicOr(&got[which / 32], 1u << which % 32);
    }
}

// Parents of the vertices whose rows `count` pieces are of, where an entry is in the frontier: added to `following` and
// `visited`. Returns how many there are.
template <typename O>
static __device__ Count find_in_pieces(Place at, Rows<O> in, const Piece *pieces, uint32_t count,
                                       const uint32_t *frontier, uint32_t *visited, uint32_t *following, int2 *answer,
                                       int level, Count &inspected) {
    Count found = 0;
    for (uint32_t p = at.warp; p < count; p += at.warps) {
        Piece piece = pieces[p];
        uint32_t w = piece.tail >> 5, bit = 1u << (piece.tail & 31);
        // Another piece of the row may have it.
        if (__any_sync(EVERY, __ldcg(&following[w]) & bit)) continue;
        int entry[PIECE / 32], parent = -1;
#pragma unroll
        for (int i = 0; i < PIECE / 32; i++) {
            uint32_t place = 32 * i + at.lane;
            entry[i] = place < piece.count ? __ldg(&in.ends[piece.first + place]) : -1;
        }
#pragma unroll
        for (int i = 0; i < PIECE / 32; i++) {
            inspected += entry[i] >= 0;
            if (entry[i] >= 0 && in_set(frontier, entry[i])) parent = entry[i];
        }
        uint32_t hits = __ballot_sync(EVERY, parent >= 0);
        if (hits && at.lane == __ffs(hits) - 1 && !(atomicOr(&following[w], bit) & bit)) {
            atomicOr(&visited[w], bit);
            answer[piece.tail] = {level, parent};
            found++;
        }
    }
    return found;
}

// Parents for the open vertices of a warp's words, which are at.warps apart from `base` on, a lane's own being `open`.
// Returns what was found of the lane's own word. first: of every vertex the first entry of its row. Where that one is
// not in the frontier, the vertex waits until there is one for every lane, as a row is a chain of loads. held: as in
// `scan`. Blocks have at most 1,024 threads.
template <typename O>
static __device__ uint32_t find_parents(Place at, uint32_t base, uint32_t open, Rows<O> in,
                                        const int *__restrict__ first, const uint32_t *frontier, int2 *answer,
                                        int level, Held held, Count &inspected) {
    __shared__ uint16_t waiting[32][32 * (BATCH + 1)];
    __shared__ uint32_t words[32][32];
    uint16_t *missed = waiting[threadIdx.x / 32];
    uint32_t *got = words[threadIdx.x / 32], count = 0;
    got[at.lane] = 0;
    __syncwarp();
    for (uint32_t left = __ballot_sync(EVERY, open != 0); left;) {
        int from[BATCH], tail[BATCH];
        uint32_t hit = 0;
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            from[i] = left ? __ffs(left) - 1 : -1;
            left &= left - 1;
            uint32_t bits = __shfl_sync(EVERY, open, from[i] & 31);
            bool mine = from[i] >= 0 && bits >> at.lane & 1;
            tail[i] = mine ? first[(base + from[i] * at.warps) * 32 + at.lane] : -1;
        }
#pragma unroll
        for (int i = 0; i < BATCH; i++) hit |= uint32_t(tail[i] >= 0 && in_set(frontier, tail[i])) << i;
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            if (from[i] < 0) break;
            inspected += tail[i] >= 0;
            bool reached = hit >> i & 1, misses = tail[i] >= 0 && !reached;
            if (reached) answer[(base + from[i] * at.warps) * 32 + at.lane] = {level, tail[i]};
            uint32_t word = __ballot_sync(EVERY, reached), rest = __ballot_sync(EVERY, misses);
            if (at.lane == from[i]) got[at.lane] = word;
            if (misses) missed[count + __popc(rest & ((1u << at.lane) - 1))] = uint16_t(32 * from[i] + at.lane);
            count += __popc(rest);
        }
        __syncwarp();
        for (uint32_t least = left ? 32 : 1; count >= least;) {
            uint32_t some = min(count, 32u);
            count -= some;
            scan(at, base, missed + count, some, in, frontier, answer, level, held, got, inspected);
            __syncwarp();
        }
    }
    __syncwarp();
    return got[at.lane];
}

// The answer in a graph's numbers, of n vertices, four a thread; room for a multiple of four everywhere. place: their
// numbers in the layout, -1 of those without arcs; old: the graph's number of what a parent is called by.
template <int THREADS>
static __device__ void restore(uint32_t n, const int4 *__restrict__ place, const int *__restrict__ old,
                               const uint32_t *visited, const int2 *answer, int4 *levels, int4 *parents) {
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < (n + 3) / 4; i += gridDim.x * THREADS) {
        int4 four = place[i];
        int at[4] = {four.x, four.y, four.z, four.w};
        int2 found[4];
#pragma unroll
        for (int j = 0; j < 4; j++) found[j] = at[j] >= 0 && in_set(visited, at[j]) ? answer[at[j]] : int2{-1, -1};
#pragma unroll
        for (int j = 0; j < 4; j++) found[j].y = found[j].y >= 0 ? old[found[j].y] : -1;
        levels[i] = {found[0].x, found[1].x, found[2].x, found[3].x};
        parents[i] = {found[0].y, found[1].y, found[2].y, found[3].y};
    }
}
