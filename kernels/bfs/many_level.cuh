// The steps of a level of many.cu, which says how they make one.
#pragma once
#include "sets.cuh"

// Rows of more arcs are pulled in pieces of HUB_PIECE (arrange.py makes them).
static constexpr uint32_t HUB = 128, HUB_PIECE = 64;
// Prime, so that no warp has more of the sampled words than others.
static constexpr uint32_t SAMPLE = 61;

// Which searches go on, and which way, the same in all blocks.
struct Ways {
    uint32_t alive[MOST / 32], down[MOST / 32], sampled[MOST], found[MOST / 32];
};

template <int N>
static __device__ Part<N> part_of(const uint32_t *words, uint32_t side) {
    Part<N> part;
    for (int i = 0; i < N; i++) part.w[i] = words[side * N + i];
    return part;
}

// The pieces of the rows of the frontier's vertices that a search on its way down has there; returns their arcs.
template <int SEARCHES, typename O>
static __device__ Count list(Place at, uint32_t words, const O *__restrict__ offsets, const uint32_t *front,
                             Sets<SEARCHES> frontier, const Ways &ways, Piece *pieces, uint32_t *count) {
    using S = Sets<SEARCHES>;
    Count leaving = 0;
    for (uint32_t base = at.warp; base < words; base += at.warps * 32) {
        uint32_t w = base + at.lane * at.warps, bits = w < words ? front[w] : 0;
        for (uint32_t left = __ballot_sync(EVERY, bits != 0); left; left &= left - 1) {
            int from = __ffs(left) - 1;
            uint32_t v = (base + from * at.warps) * 32 + at.lane;
            bool listed = false;
            if (__shfl_sync(EVERY, bits, from) >> at.lane & 1)
                for (int side = 0; side < S::LANES; side++)
                    listed |= (frontier(v, side) & part_of<S::WIDTH>(ways.down, side)).any();
            O row = listed ? offsets[v] : 0, degree = listed ? offsets[v + 1] - row : 0;
            leaving += degree;
            append_pieces(at.lane, v, row, degree, pieces, count);
        }
    }
    return leaving;
}

// Empty the sets of the vertices of a bitmap.
template <int SEARCHES>
static __device__ void empty(Place at, uint32_t words, const uint32_t *full, Sets<SEARCHES> sets) {
    using S = Sets<SEARCHES>;
    for (uint32_t base = at.warp; base < words; base += at.warps * 32) {
        uint32_t w = base + at.lane * at.warps, bits = w < words ? full[w] : 0;
        for (uint32_t left = __ballot_sync(EVERY, bits != 0); left; left &= left - 1) {
            int from = __ffs(left) - 1;
            uint32_t these = __shfl_sync(EVERY, bits, from), first = (base + from * at.warps) * 32;
            for (uint32_t i = at.lane; i < 32 * S::LANES; i += 32)
                if (these >> i / S::LANES & 1) sets(first + i / S::LANES, i % S::LANES) = {};
        }
    }
}

template <int SEARCHES, typename O>
static __device__ void expand(Place at, Rows<O> rows, const Piece *pieces, uint32_t count, const Ways &ways,
                              Sets<SEARCHES> visited, Sets<SEARCHES> frontier, Sets<SEARCHES> following,
                              uint32_t *touched, Count &inspected) {
    using S = Sets<SEARCHES>;
    constexpr int AT_ONCE = 2, STRIDE = 32 / S::LANES;
    const uint32_t side = at.lane % S::LANES, arc = at.lane / S::LANES;
    const auto down = part_of<S::WIDTH>(ways.down, side);
    Piece after{};
    if (at.warp < count) after = pieces[at.warp];
    for (uint32_t p = at.warp; p < count; p += at.warps) {
        const Piece piece = after;
        // Under way while this one's arcs are.
        if (p + at.warps < count) after = pieces[p + at.warps];
        const auto bits = frontier(piece.tail, side) & down;
        if (at.lane == 0) inspected += piece.count;
        for (uint32_t i = arc; i < piece.count; i += AT_ONCE * STRIDE) {
            int head[AT_ONCE];
            typename S::Mine fresh[AT_ONCE];
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++)
                head[j] = i + j * STRIDE < piece.count ? __ldg(&rows.ends[piece.first + i + j * STRIDE]) : -1;
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++) fresh[j] = head[j] < 0 ? typename S::Mine{} : bits - visited(head[j], side);
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++)
                if (fresh[j].any() && (fresh[j] = fresh[j] - following.latest(head[j], side)).any()) {
                    following.add(head[j], side, fresh[j]);
                    uint32_t bit = 1u << head[j] % 32;
                    if (!(__ldcg(&touched[head[j] / 32]) & bit)) atomicOr(&touched[head[j] / 32], bit);
                }
        }
    }
}

// Searches on their way up that lack a hub look at its arcs. Lanes choose among 32 pieces, which the warp then takes.
template <int SEARCHES, typename O>
static __device__ void pull_hubs(Place at, Rows<O> in, const Piece *hubs, uint32_t count, const Ways &ways,
                                 const uint32_t *open, Sets<SEARCHES> visited, Sets<SEARCHES> frontier,
                                 Sets<SEARCHES> following, uint32_t *touched, Count &inspected) {
    using S = Sets<SEARCHES>;
    constexpr int STRIDE = 32 / S::LANES, AT_ONCE = HUB_PIECE / STRIDE < 4 ? HUB_PIECE / STRIDE : 4;
    const uint32_t side = at.lane % S::LANES, arc = at.lane / S::LANES;
    const auto up = part_of<S::WIDTH>(ways.alive, side) - part_of<S::WIDTH>(ways.down, side);
    if (!__any_sync(EVERY, up.any())) return;
    for (uint32_t base = at.warp * 32; base < count; base += at.warps * 32) {
        Piece own{};
        bool live = base + at.lane < count;
        if (live) {
            own = hubs[base + at.lane];
            live = open[own.tail / 32] >> own.tail % 32 & 1;
        }
        if (live) {
            live = false;
            for (int s = 0; s < S::LANES; s++)
                live |= (part_of<S::WIDTH>(ways.alive, s) - part_of<S::WIDTH>(ways.down, s) -
                         (visited(own.tail, s) | following.latest(own.tail, s))).any();
        }
        for (uint32_t left = __ballot_sync(EVERY, live); left; left &= left - 1) {
            int whose = __ffs(left) - 1;
            uint32_t v = __shfl_sync(EVERY, own.tail, whose), arcs = __shfl_sync(EVERY, own.count, whose);
            const int *ends = in.ends + __shfl_sync(EVERY, own.first, whose);
            if (at.lane == 0) inspected += arcs;
            typename S::Mine got{};
            for (uint32_t i = arc; i < arcs; i += AT_ONCE * STRIDE) {
                int tail[AT_ONCE];
#pragma unroll
                for (int j = 0; j < AT_ONCE; j++) tail[j] = i + j * STRIDE < arcs ? ends[i + j * STRIDE] : -1;
#pragma unroll
                for (int j = 0; j < AT_ONCE; j++)
                    if (tail[j] >= 0) got = got | frontier(tail[j], side);
            }
            got = (got.over(S::LANES, 32) & up) - visited(v, side);
            if (arc == 0) following.add(v, side, got);
            if (__any_sync(EVERY, got.any()) && at.lane == 0) atomicOr(&touched[v / 32], 1u << v % 32);
        }
    }
}

// Bits by vertex, of a warp's 32 vertices, from what is said of their parts: `first` of parts 0 .. 31, `second` of the
// others where a set has two.
template <int LANES>
static __device__ uint32_t by_vertex(uint32_t first, uint32_t second) {
    static_assert(LANES <= 2, "a lane holds 16 bytes");
    if (LANES == 1) return first;
    auto paired = [](uint32_t x) {
        x = (x | x >> 1) & 0x55555555, x = (x | x >> 1) & 0x33333333, x = (x | x >> 2) & 0x0F0F0F0F;
        x = (x | x >> 4) & 0x00FF00FF;
        return (x | x >> 8) & 0xFFFF;
    };
    return paired(first) | paired(second) << 16;
}

// What every search found among the 32 vertices of a warp, whose fresh sets are in shared memory.
template <int SEARCHES>
static __device__ void sample(uint32_t lane, const typename Sets<SEARCHES>::Mine *fresh, uint32_t *sampled) {
    using S = Sets<SEARCHES>;
    for (int word = 0; word < S::WORDS; word++) {
        uint32_t bits = ((const uint32_t *)fresh)[lane * S::WORDS + word], mine = 0;
        for (int b = 0; b < 32; b++) {
            uint32_t who = __ballot_sync(EVERY, bits >> b & 1);
            if (lane == b) mine = __popc(who);
        }
        if (mine) atomicAdd(&sampled[word * 32 + lane], mine);
    }
}

// For every vertex that some search lacks: look at the arcs of a short row for the searches on their way up, then take
// what was found by all ways. open: vertices that a search lacks; touched: those that other warps found, emptied; next:
// those found by any, written whole. staged: room for two sets of every vertex of the warp.
template <int SEARCHES, typename O>
static __device__ void pull(Place at, uint32_t k, uint32_t words, Rows<O> in, Ways &ways, uint32_t *open,
                            uint32_t *touched, uint32_t *next, Sets<SEARCHES> visited, Sets<SEARCHES> frontier,
                            Sets<SEARCHES> following, uint32_t *planes, uint32_t level,
                            typename Sets<SEARCHES>::Mine *staged, Count &inspected) {
    using S = Sets<SEARCHES>;
    using Mine = typename S::Mine;
    constexpr uint32_t ARCS = 4, GROUP = ARCS * S::LANES, GROUPS = 32 / GROUP, MOST_ARCS = 4;
    const uint32_t side = at.lane % S::LANES, arc = at.lane / S::LANES % ARCS, group = at.lane / GROUP;
    const Mine alive = part_of<S::WIDTH>(ways.alive, side), up = alive - part_of<S::WIDTH>(ways.down, side);
    const bool pulls = __any_sync(EVERY, up.any());
    Mine *before = staged, *got = staged + 32 * S::LANES;
    Mine all{};
    for (uint32_t w = at.warp; w < words; w += at.warps) {
        const uint32_t lacking = open[w], given = touched[w], todo = pulls ? lacking : lacking & given;
        if (at.lane == 0 && given) touched[w] = 0;
        if (!todo) {
            if (at.lane == 0) next[w] = 0;
            continue;
        }
        uint32_t wants[2] = {0, 0};
#pragma unroll
        for (int r = 0; r < S::LANES; r++) {
            uint32_t part = at.lane + 32 * r, bit = part / S::LANES, v = w * 32 + bit;
            Mine old{}, by_others{};
            bool here = todo >> bit & 1;
            if (here) old = visited(v, side);
            if (here && given >> bit & 1) by_others = following.latest(v, side);
            before[part] = old, got[part] = by_others;
            wants[r] = __ballot_sync(EVERY, here && (up - (old | by_others)).any());
        }
        uint32_t pulling = pulls ? by_vertex<S::LANES>(wants[0], wants[1]) : 0;
        O start = 0, stop = 0;
        if (pulling >> at.lane & 1) {
            start = in.offsets[w * 32 + at.lane], stop = in.offsets[w * 32 + at.lane + 1];
            if (stop - start > HUB) stop = start;
        }
        pulling = __ballot_sync(EVERY, start < stop);
        __syncwarp();
        // Every group of lanes takes the next vertex that lacks something.
        while (pulling) {
            uint32_t mine = pulling;
            for (uint32_t g = 0; g < GROUPS; g++) {
                if (g < group) mine &= mine - 1;
                pulling &= pulling - 1;
            }
            const bool here = mine;
            const uint32_t bit = here ? __ffs(mine) - 1 : 0, part = bit * S::LANES + side;
            O from = __shfl_sync(EVERY, start, bit), end = __shfl_sync(EVERY, stop, bit);
            if (!here) end = from;
            Mine had{}, wanted{};
            if (here) had = got[part], wanted = up - (before[part] | had);
            Mine seen{};
            uint32_t more = 2;
            for (bool goes = here; __any_sync(EVERY, goes);) {
                int tail[MOST_ARCS];
#pragma unroll
                for (int j = 0; j < MOST_ARCS; j++)
                    tail[j] = goes && j < more && from + j * ARCS + arc < end ? in.ends[from + j * ARCS + arc] : -1;
#pragma unroll
                for (int j = 0; j < MOST_ARCS; j++)
                    if (tail[j] >= 0) seen = seen | frontier(tail[j], side), inspected += side == 0;
                seen = seen.over(S::LANES, GROUP);
                from += more * ARCS;
                more = MOST_ARCS;
                uint32_t want = __ballot_sync(EVERY, (wanted - seen).any());
                goes = goes && from < end && want >> group * GROUP & ((1u << GROUP) - 1);
            }
            __syncwarp();
            if (here && arc == 0) got[part] = had | (seen & wanted);
        }
        __syncwarp();
        uint32_t found[2] = {0, 0}, still[2] = {0, 0};
#pragma unroll
        for (int r = 0; r < S::LANES; r++) {
            uint32_t part = at.lane + 32 * r, v = w * 32 + part / S::LANES;
            const Mine old = before[part], fresh = got[part] - old, now = old | fresh;
            if (fresh.any()) {
                visited(v, side) = now;
                following(v, side) = fresh;
                for (int i = 0; level >> i; i++)
                    if (level >> i & 1) {
                        Mine &plane = Sets<SEARCHES>{(Mine *)planes + size_t(i) * k * S::LANES}(v, side);
                        plane = plane | fresh;
                    }
            }
            got[part] = fresh;
            all = all | fresh;
            found[r] = __ballot_sync(EVERY, fresh.any());
            still[r] = __ballot_sync(EVERY, (alive - now).any());
        }
        uint32_t closed = todo & ~by_vertex<S::LANES>(still[0], still[1]);
        if (at.lane == 0) {
            next[w] = by_vertex<S::LANES>(found[0], found[1]);
            if (closed) open[w] = lacking & ~closed;
        }
        __syncwarp();
        if (w % SAMPLE == 0 && (found[0] | found[1])) sample<SEARCHES>(at.lane, got, ways.sampled);
        __syncwarp();
    }
    all = all.over(S::LANES, 32);
    if (at.lane < S::LANES)
        for (int i = 0; i < S::WIDTH; i++)
            if (all.w[i]) atomicOr(&ways.found[side * S::WIDTH + i], all.w[i]);
}
