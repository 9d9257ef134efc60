// Fast: the whole search in one launch of a resident grid, over the layout of layout.py (vertices by falling degree, rows
// sorted), with the answer put into the graph's own order at the end.
//
// A top-down level makes pieces of at most PIECE arcs of the frontier's rows (`list_pieces`), so that a hub's row is
// shared by all warps, and expands them (`expand`): visited and next are bitmaps, set by atomics; there is no queue of what
// is found, as the next level reads the bitmap. A bottom-up level gives a warp a word of the bitmap, a lane a vertex
// (`bottom_up`): the first entry of every row lies in an array of its own and is nearly always the parent; other
// entries are read only where it is not. Words are owned, so that nothing is atomic. Words are dealt out one by one, as
// neighbouring ones hold vertices of like degree. Long rows without a parent at their head are held back, in pieces, and
// looked through by all warps afterwards (`find_in_pieces`).
//
// Between levels: one barrier of all blocks bottom-up, two where rows were held back, and top-down (the first level's row
// needs no list). Every block
// takes the same decisions from the same counts. Counts have three slots: one is written, one is read by slow blocks,
// one is cleared for the next level.
//
// 1. Beamer, Asanovic, Patterson: Direction-optimizing breadth-first search. SC 2012.
// 2. Yasui, Fujisawa: Fast and scalable NUMA-based thread parallel breadth-first search (vertices by degree). HPCS 2015.
#include "crowded.cuh"
#include "grid.cuh"

static constexpr int THREADS = 1024, RESIDENT = 1;
// A frontier of more than one vertex in so many, and more than a few, goes bottom-up without its arcs being counted
// where so many vertices can have that many: the first rows are the longest.
static constexpr uint32_t CROWD = 256, HANDFUL = 32;
// A level of more arcs than so many times the vertices has rows that end in the same words; a single row never has.
static constexpr uint32_t CROWDED = 4;

// Mirrored in cuda_fast.py.
struct Control {
    uint32_t arrived, late;
    uint32_t levels, switches;
    Count inspected, begun, searched;
    Count found[3], leaving[3];
    uint32_t pieces[3], held[3];
};
struct Level {
    Count ns, inspected;  // when it began, since the clock's start; arcs looked at in all levels before
    uint32_t frontier, bottom_up;
};

struct Listed {
    Count arcs;
    uint32_t pieces;
};
struct Reached {
    Count found;
    uint32_t held;
};

// Add up two counts over the block, one atomic a block for each. All threads call it; `room` is shared.
static __device__ void add(Count a, Count *to_a, Count b, Count *to_b, ulonglong2 *room) {
    a = warp_sum(a), b = warp_sum(b);
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = {a, b};
    __syncthreads();
    if (threadIdx.x < 32) {
        bool mine = threadIdx.x < THREADS / 32;
        a = warp_sum(mine ? room[threadIdx.x].x : 0), b = warp_sum(mine ? room[threadIdx.x].y : 0);
        if (threadIdx.x == 0 && a) atomicAdd(to_a, a);
        if (threadIdx.x == 0 && b) atomicAdd(to_b, b);
    }
}

template <typename O>
static __device__ Count bottom_up(Place at, uint32_t words, Rows<O> in, const int *__restrict__ first,
                                  const uint32_t *frontier, uint32_t *visited, uint32_t *following, int2 *answer,
                                  int level, Held held, Count &inspected) {
    Count found = 0;
    for (uint32_t base = at.warp; base < words; base += at.warps * 32) {
        uint32_t w = base + at.lane * at.warps, open = w < words ? ~visited[w] : 0;
        uint32_t got = find_parents(at, base, open, in, first, frontier, answer, level, held, inspected);
        if (w < words) {
            following[w] = got;
            if (got) visited[w] = ~open | got;
            found += __popc(got);
        }
    }
    return found;
}

// k: vertices of the layout, m: arcs out; n: vertices of the graph. traced: room in `trace`.
template <typename O>
static __device__ void search(uint32_t k, Count m, uint32_t root, Rows<O> out, Rows<O> in, const int *first,
                              uint32_t *visited, uint32_t *frontier, uint32_t *following, int2 *answer, Piece *pieces,
                              Control *control, uint32_t target, uint32_t n, const int4 *place, const int *old,
                              int4 *levels, int4 *parents, Level *trace, uint32_t traced, double alpha, double beta,
                              uint32_t timeout_ms) {
    __shared__ ulonglong2 room[THREADS / 32];
    const unsigned long long begun = now_ns(), deadline = begun + timeout_ms * 1000000ull;
    const uint32_t words = (k + 31) / 32, thread = blockIdx.x * THREADS + threadIdx.x, threads = gridDim.x * THREADS;
    const Place at = {threadIdx.x % 32, threadIdx.x / 32 * gridDim.x + blockIdx.x, threads / 32};
    for (uint32_t w = thread; w < words; w += threads) {
        // Bits beyond the last vertex count as visited.
        uint32_t beyond = w == words - 1 && k % 32 ? EVERY << k % 32 : 0, own = w == root / 32 ? 1u << root % 32 : 0;
        visited[w] = beyond | own;
        frontier[w] = own;
        following[w] = 0;
    }
    if (thread == 0) {
        answer[root] = {0, int(root)};
        control->late = control->levels = control->switches = 0;
        control->inspected = 0;
        control->begun = begun;
        for (int i = 0; i < 3; i++) control->found[i] = control->leaving[i] = control->pieces[i] = control->held[i] = 0;
    }
    if (!grid_barrier(&control->arrived, target, deadline)) goto late;
    {
        Count frontiers = 1;
        bool up = false;
        uint32_t switches = 0, level = 1;
        for (; frontiers; level++) {
            const uint32_t slot = level % 3, next = (level + 1) % 3;
            bool before = up;
            up = up ? double(frontiers) * beta * double(m) >= double(k) * k
                    : frontiers > max(k / CROWD, HANDFUL) && out.offsets[frontiers] * alpha > m;
            if (thread == 0) {
                control->found[next] = control->leaving[next] = control->pieces[next] = control->held[next] = 0;
                if (level <= traced) trace[level - 1] = {now_ns(), control->inspected, uint32_t(frontiers), 0};
            }
            Count arcs = 0;
            uint32_t count = 0;
            if (level == 1) {
                // The root's row needs no list.
                arcs = out.offsets[root + 1] - out.offsets[root];
                count = uint32_t((arcs + PIECE - 1) / PIECE);
            } else if (!up) {
                for (uint32_t w = thread; w < words; w += threads) following[w] = 0;
                Count leaving = list_pieces(at, words, out.offsets, frontier, pieces, &control->pieces[slot]);
                // Few warps list anything.
                leaving = warp_sum(leaving);
                if (at.lane == 0 && leaving) atomicAdd(&control->leaving[slot], leaving);
                if (!grid_barrier(&control->arrived, target, deadline)) goto late;
                Listed listed = read_once(
                    [=] { return Listed{__ldcg(&control->leaving[slot]), __ldcg(&control->pieces[slot])}; });
                arcs = listed.arcs, count = listed.pieces;
            }
            up = up || arcs * alpha > m;
            Count found, inspected = 0;
            if (up) {
                // A list of the frontier is not needed any more.
                Held held = {pieces, &control->held[slot]};
                found = bottom_up(at, words, in, first, frontier, visited, following, answer, level, held, inspected);
            } else {
                auto write = [=](int head, uint32_t bit, uint32_t tail) {
                    atomicOr(&following[head >> 5], bit);
                    answer[head] = {int(level), int(tail)};
                };
                if (arcs > Count(k) * CROWDED)
                    found = expand_together(at, out, pieces, count, visited, write);
                else
                    found = expand(at, out, level == 1 ? nullptr : pieces, count, root, visited, write);
                if (thread == 0) inspected = arcs;
            }
            switches += up != before;
            add(found, &control->found[slot], inspected, &control->inspected, room);
            if (thread == 0 && level <= traced) trace[level - 1].bottom_up = up;
            auto reach = [=] { return Reached{__ldcg(&control->found[slot]), __ldcg(&control->held[slot])}; };
            if (!grid_barrier(&control->arrived, target, deadline)) goto late;
            Reached reached = read_once(reach);
            if (reached.held) {
                inspected = 0;
                found = find_in_pieces(at, in, pieces, reached.held, frontier, visited, following, answer, level,
                                       inspected);
                add(found, &control->found[slot], inspected, &control->inspected, room);
                if (!grid_barrier(&control->arrived, target, deadline)) goto late;
                reached = read_once(reach);
            }
            frontiers = reached.found;
            uint32_t *taken = frontier;
            frontier = following;
            following = taken;
        }
        if (thread == 0) {
            control->levels = level - 1;
            control->switches = switches;
            control->searched = now_ns();
        }
    }
    restore<THREADS>(n, place, old, visited, answer, levels, parents);
    return;
late:
    if (threadIdx.x == 0) control->late = 1;
}

#define KERNEL(O, SUFFIX)                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) search_##SUFFIX(                                  \
        uint32_t k, Count m, uint32_t root, const O *offsets, const int *ends, const O *in_offsets, const int *in_ends, \
        const int *first, uint32_t *visited, uint32_t *frontier, uint32_t *following, int2 *answer, Piece *pieces,    \
        Control *control, uint32_t target, uint32_t n, const int4 *place, const int *old, int4 *levels, int4 *parents, \
        Level *trace, uint32_t traced, double alpha, double beta, uint32_t timeout_ms) {                              \
        search<O>(k, m, root, {offsets, ends}, {in_offsets, in_ends}, first, visited, frontier, following, answer,    \
                  pieces, control, target, n, place, old, levels, parents, trace, traced, alpha, beta, timeout_ms);   \
    }

KERNEL(uint32_t, u4)
KERNEL(uint64_t, u8)
