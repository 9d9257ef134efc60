// Fast over several GPUs of a host: fast.cu's search, a resident grid on each, over the vertices that are its own.
//
// Vertices come by falling degree and go to the GPUs in turn. A vertex has a *position*: GPU times `segment` plus its
// number on that GPU. Sets are bitmaps of positions; every GPU has its own copies of all. What a GPU finds it writes into
// the memory of all others (`Shared`, mapped by CUDA IPC): words of its own segment bottom-up and bits top-down as they are
// found; of a large top-down level words, gathered in a bitmap of its own first, as an atomic on the link is dear. Level and
// parent go to the vertex's owner. Of several parents found for a vertex in one level the last one stays; all are right.
// So frontiers are never exchanged, and a level ends with one barrier of all blocks of all GPUs. Counts are added up in
// every GPU's memory, by which all take the same decisions: fast.cu's, but that the arcs that leave what a top-down level
// finds are counted there, by a copy of all degrees, and those of a bottom-up level are not.
//
// Three bitmaps change places: the frontier, what is found, and the one before, which is cleared for the next level.
// `visited` takes up the frontier at the beginning of a level, as others may have found vertices of any segment.
//
// Where the GPUs cannot map one another's memory, each has a box of its own for every other one, laid out as that one's
// memory, and a launch is one level (cuda_gpus_apart.py): between two the host lets all GPUs' bitmaps of what was found
// come together, which `absorb` puts into the next frontier, and after the last one the boxes' levels and parents go to
// the vertices' owners, where `settle` takes them.
#include "grid.cuh"
#include "links.cuh"
#include "rows.cuh"

static constexpr int THREADS = 1024, RESIDENT = 1;
// A GPU that has more pieces than MANY in a level gathers what it finds.
static constexpr uint32_t MANY = 64;

// Mirrored in cuda_gpus.py. arrived: blocks of this GPU at barriers of its own; target: blocks of all at the others.
struct Control {
    uint32_t arrived, target, late, levels, switches, up;  // up: how the last level went
    Count inspected, begun, searched;
    uint32_t pieces[3], more;
};
struct Level {
    Count ns, inspected;  // when it began, since the clock's start; arcs looked at here in all levels before
    uint32_t frontier, bottom_up;
};

// A GPU's memory that all write: blocks that came to barriers of all GPUs, and counts in three slots (a vertex may count
// once a GPU); then come three bitmaps, and level and parent of its own vertices.
struct Shared {
    Count found[3], leaving[3];
    uint32_t arrived, unused[19];
};

struct Reached {
    Count found, leaving;
};

// Where a launch begins: a level, its frontier's vertices and the arcs that leave them, whether the level before went
// bottom-up. It ends after level `last`, or when there are no more vertices.
struct Stage {
    uint32_t level, last, up;
    Count frontiers, leaving;
};

struct World {
    uint32_t me, gpus, segment;  // segment: positions of a GPU, a multiple of 128
    char *const *shared;         // every GPU's, or its box
    Count set_bytes;             // of a bitmap
    uint32_t together;           // GPUs whose blocks meet at barriers: all, or this one

    __device__ uint32_t words() const { return segment / 32; }
    __device__ uint32_t *set(uint32_t gpu, uint32_t number) const {
        return reinterpret_cast<uint32_t *>(shared[gpu] + sizeof(Shared) + number * set_bytes);
    }
    __device__ int2 *answer(uint32_t gpu) const {
        return reinterpret_cast<int2 *>(shared[gpu] + sizeof(Shared) + 3 * set_bytes);
    }
    __device__ Shared *counts(uint32_t gpu) const { return reinterpret_cast<Shared *>(shared[gpu]); }
    // Add bits to a word of a set in every GPU's memory.
    __device__ void tell(uint32_t number, uint32_t word, uint32_t bits) const {
        for (uint32_t gpu = 0; bits && gpu < gpus; gpu++) atomicOr_system(&set(gpu, number)[word], bits);
    }
};

// Words w to w + 3, w a multiple of four.
static __device__ uint4 &four(uint32_t *set, uint32_t w) { return reinterpret_cast<uint4 *>(set)[w / 4]; }

// Wait until all blocks of all GPUs have come: see meet_all. target: of thread 0.
static __device__ bool world_barrier(World world, uint32_t &target, unsigned long long deadline) {
    target += gridDim.x * world.together;
    return meet_all(world.me, world.gpus, [&](uint32_t gpu) { return &world.counts(gpu)->arrived; }, target, deadline);
}

// Add up three counts over the block: the first two go to all GPUs, by the threads that tell them of the block's coming,
// the third stays. All threads call it; `room` is shared.
static __device__ void add(World world, uint32_t slot, Count found, Count leaving, Count inspected, Control *control,
                           Count (*room)[3]) {
    Count sums[3] = {warp_sum(found), warp_sum(leaving), warp_sum(inspected)};
    if (threadIdx.x % 32 == 0)
        for (int i = 0; i < 3; i++) room[threadIdx.x / 32][i] = sums[i];
    __syncthreads();
    if (threadIdx.x >= 32) return;
    for (int i = 0; i < 3; i++) sums[i] = warp_sum(room[threadIdx.x][i]);
    if (threadIdx.x < world.gpus && sums[0]) {
        atomicAdd_system(&world.counts(threadIdx.x)->found[slot], sums[0]);
        if (sums[1]) atomicAdd_system(&world.counts(threadIdx.x)->leaving[slot], sums[1]);
    }
    if (threadIdx.x == 0 && sums[2]) atomicAdd(&control->inspected, sums[2]);
}

// Wake the links, and leave together.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    meet(uint32_t me, uint32_t gpus, uint32_t segment, char *const *shared, Count set_bytes, uint32_t together,
         Count bytes, uint32_t target, uint32_t timeout_ms) {
    const World world = {me, gpus, segment, shared, set_bytes, together};
    const unsigned long long deadline = now_ns() + timeout_ms * 1000000ull;
    wake_links(me, gpus, shared, bytes);
    world_barrier(world, target, deadline);
}

// visited, following: a segment's words of this GPU; frontier: of all positions.
template <typename O>
static __device__ Count bottom_up(Place at, World world, Rows<O> in, const int *__restrict__ first,
                                  const uint32_t *frontier, uint32_t *visited, uint32_t following, int2 *answer,
                                  int level, Count &inspected) {
    Count found = 0;
    const uint32_t words = world.words(), before = world.me * words;
    for (uint32_t base = at.warp; base < words; base += at.warps * 32) {
        uint32_t w = base + at.lane * at.warps;
        uint32_t open = w < words ? ~(visited[before + w] | frontier[before + w]) : 0;
        uint32_t got = find_parents(at, base, open, in, first, frontier, answer, level, {}, inspected);
        if (w < words) {
            visited[before + w] = ~open | got;
            if (got)
                for (uint32_t gpu = 0; gpu < world.gpus; gpu++) world.set(gpu, following)[before + w] = got;
            found += __popc(got);
        }
    }
    return found;
}

// k, m: vertices and arcs of the layout; root: its position; n: vertices of the graph that are this GPU's.
template <typename O>
static __device__ void search(World world, Stage stage, uint32_t k, Count m, uint32_t root, Rows<O> out, Rows<O> in,
                              const int *first, const uint32_t *degrees, uint32_t *visited, uint32_t *gathered,
                              Piece *pieces, Control *control, uint32_t target, uint32_t n, const int4 *place,
                              const int *old, int4 *levels, int4 *parents, Level *trace, uint32_t traced,
                              double alpha, double beta, uint32_t timeout_ms) {
    __shared__ Count room[THREADS / 32][3];
    const unsigned long long deadline = now_ns() + timeout_ms * 1000000ull;
    const uint32_t words = world.words(), all = words * world.gpus, before = world.me * words;
    const uint32_t thread = blockIdx.x * THREADS + threadIdx.x, threads = gridDim.x * THREADS;
    const Place at = {threadIdx.x % 32, threadIdx.x / 32 * gridDim.x + blockIdx.x, threads / 32};
    const bool owns = root / world.segment == world.me;
    const uint32_t own_root = root - world.me * world.segment;
    int2 *answer = world.answer(world.me);
    Shared *counts = world.counts(world.me);
    uint32_t came = 0;
    const bool begins = stage.level == 1;
    for (uint32_t w = thread; begins && w < all; w += threads) {
        // Bits beyond a GPU's last vertex count as visited.
        uint32_t gpu = w / words, there = (k + world.gpus - 1 - gpu) / world.gpus, low = (w - gpu * words) * 32;
        uint32_t beyond = there <= low ? EVERY : there - low < 32 ? EVERY << (there - low) : 0;
        uint32_t own = w == root / 32 ? 1u << root % 32 : 0;
        visited[w] = beyond | own;
        gathered[w] = 0;
        world.set(world.me, 0)[w] = own;
        world.set(world.me, 1)[w] = world.set(world.me, 2)[w] = 0;
    }
    if (begins && thread == 0) {
        if (owns) answer[own_root] = {0, int(root)};
        control->arrived = control->late = control->levels = control->switches = 0;
        control->inspected = 0;
        trace[0].frontier = 0;
        for (int i = 0; i < 3; i++) counts->found[i] = counts->leaving[i] = control->pieces[i] = 0;
    }
    if (begins) {
        if (!world_barrier(world, target, deadline)) goto late;
        if (thread == 0) control->begun = now_ns();
    }
    {
        Count frontiers = stage.frontiers, arcs_out = begins ? degrees[root] : stage.leaving;
        bool up = stage.up;
        uint32_t level = stage.level;
        for (; frontiers && level <= stage.last; level++) {
            const uint32_t slot = level % 3, next = (level + 1) % 3;
            const uint32_t frontier = (level - 1) % 3, following = slot, spare = next;
            uint32_t *reached = world.set(world.me, frontier);
            bool last = up;
            up = up ? double(frontiers) * beta * double(m) >= double(k) * k : arcs_out * alpha > m;
            if (thread == 0) {
                counts->found[next] = counts->leaving[next] = control->pieces[next] = 0;
                if (level <= traced) trace[level - 1].ns = now_ns(), trace[level - 1].inspected = control->inspected;
                if (level < traced) trace[level].frontier = 0;
            }
            Count arcs = 0, members = 0;
            uint32_t count = 0;
            for (uint32_t w = 4 * thread; w < all; w += 4 * threads) {
                uint4 bits = four(reached, w);
                four(world.set(world.me, spare), w) = {};
                members += __popc(bits.x) + __popc(bits.y) + __popc(bits.z) + __popc(bits.w);
                // The root is there; bottom-up this GPU's words are their finders'.
                if ((bits.x | bits.y | bits.z | bits.w) && level > 1 && !(up && w - before < words)) {
                    uint4 seen = four(visited, w);
                    four(visited, w) = {seen.x | bits.x, seen.y | bits.y, seen.z | bits.z, seen.w | bits.w};
                }
            }
            if (level == 1) {
                // The root's row needs no list.
                O row = owns ? out.offsets[own_root + 1] - out.offsets[own_root] : 0;
                count = uint32_t((row + PIECE - 1) / PIECE);
                if (thread == 0) arcs = row;
            } else if (!up) {
                arcs = list_pieces(at, words, out.offsets, reached + before, pieces, &control->pieces[slot]);
                if (!grid_barrier(&control->arrived, came, deadline)) goto late;
                count = read_once([=] { return __ldcg(&control->pieces[slot]); });
            }
            Count found, leaving = 0, inspected = 0;
            if (up) {
                found = bottom_up(at, world, in, first, reached, visited, following, answer, level, inspected);
            } else {
                auto write = [&](int head, uint32_t bit, uint32_t tail) {
                    if (count > MANY)
                        atomicOr(&gathered[head >> 5], bit);
                    else
                        world.tell(following, head >> 5, bit);
                    uint32_t owner = uint32_t(head) / world.segment;
                    world.answer(owner)[head - owner * world.segment] = {int(level), int(world.me * world.segment + tail)};
                    leaving += degrees[head];
                };
                found = expand(at, out, level == 1 ? nullptr : pieces, count, own_root, visited, write);
                inspected = arcs;
                if (count > MANY) {
                    if (!grid_barrier(&control->arrived, came, deadline)) goto late;
                    for (uint32_t w = 4 * thread; w < all; w += 4 * threads) {
                        uint4 bits = four(gathered, w);
                        if (!(bits.x | bits.y | bits.z | bits.w)) continue;
                        four(gathered, w) = {};
                        world.tell(following, w, bits.x), world.tell(following, w + 1, bits.y);
                        world.tell(following, w + 2, bits.z), world.tell(following, w + 3, bits.w);
                    }
                }
            }
            if (thread == 0 && up != last) control->switches++;
            add(world, slot, found, leaving, inspected, control, room);
            members = warp_sum(members);
            if (at.lane == 0 && members && level <= traced) atomicAdd(&trace[level - 1].frontier, uint32_t(members));
            if (thread == 0 && level <= traced) trace[level - 1].bottom_up = up;
            if (!world_barrier(world, target, deadline)) goto late;
            Reached all_found =
                read_once([=] { return Reached{__ldcg(&counts->found[slot]), __ldcg(&counts->leaving[slot])}; });
            frontiers = all_found.found, arcs_out = all_found.leaving;
        }
        if (thread == 0) {
            control->levels = level - 1;
            control->up = up;
            control->target = target;
            control->searched = now_ns();
        }
        // A level alone: what the others found is not here yet.
        if (level > stage.last) return;
    }
    restore<THREADS>(n, place, old, visited + before, answer, levels, parents);
    return;
late:
    if (threadIdx.x == 0) control->late = 1;
}

// What all GPUs found in a level, their bitmaps of all positions side by side, as the next frontier.
extern "C" __global__ void __launch_bounds__(THREADS)
    absorb(uint32_t gpus, uint32_t words, const uint32_t *gathered, uint32_t *following) {
    for (uint32_t w = blockIdx.x * THREADS + threadIdx.x; w < words; w += gridDim.x * THREADS) {
        uint32_t bits = 0;
        for (uint32_t gpu = 0; gpu < gpus; gpu++) bits |= gathered[size_t(gpu) * words + w];
        following[w] = bits;
    }
}

// Levels and parents of this GPU's vertices that another one found; of level -1 where it did not. They are on the level
// that any of them says.
extern "C" __global__ void __launch_bounds__(THREADS)
    settle(uint32_t gpus, uint32_t segment, const int2 *arrived, int2 *answer) {
    for (uint32_t v = blockIdx.x * THREADS + threadIdx.x; v < segment; v += gridDim.x * THREADS)
        for (uint32_t gpu = 0; gpu < gpus; gpu++) {
            int2 theirs = arrived[size_t(gpu) * segment + v];
            if (theirs.x >= 0) answer[v] = theirs;
        }
}

// Rows of this GPU's vertices, of which each is the layout's number over gpus, with ends by position; a warp a row.
template <typename O>
static __device__ void spread(uint32_t own, uint32_t me, uint32_t gpus, uint32_t segment, const O *whole,
                              const int *whole_ends, const O *offsets, int *ends, int *first) {
    uint32_t lane = threadIdx.x % 32, v = (blockIdx.x * size_t(THREADS) + threadIdx.x) / 32;
    if (v >= own) return;
    O from = whole[size_t(v) * gpus + me], to = offsets[v], count = offsets[v + 1] - to;
    for (O i = lane; i < count; i += 32) {
        uint32_t end = whole_ends[from + i];
        int position = int(end % gpus * segment + end / gpus);
        ends[to + i] = position;
        if (i == 0 && first) first[v] = position;
    }
    if (count == 0 && lane == 0 && first) first[v] = -1;
}

#define KERNEL(O, SUFFIX)                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) search_##SUFFIX(                                  \
        uint32_t me, uint32_t gpus, uint32_t segment, char *const *shared, Count set_bytes, uint32_t together,        \
        uint32_t level, uint32_t last, uint32_t up, Count frontiers, Count leaving, uint32_t k, Count m,              \
        uint32_t root, const O *offsets, const int *ends, const O *in_offsets, const int *in_ends, const int *first,  \
        const uint32_t *degrees, uint32_t *visited, uint32_t *gathered, Piece *pieces, Control *control,              \
        uint32_t target, uint32_t n, const int4 *place, const int *old, int4 *levels, int4 *parents, Level *trace,    \
        uint32_t traced, double alpha, double beta, uint32_t timeout_ms) {                                            \
        search<O>({me, gpus, segment, shared, set_bytes, together}, {level, last, up, frontiers, leaving}, k, m,      \
                  root, {offsets, ends}, {in_offsets, in_ends}, first, degrees, visited, gathered, pieces, control,   \
                  target, n, place, old, levels, parents, trace, traced, alpha, beta, timeout_ms);                    \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                             \
        spread_##SUFFIX(uint32_t own, uint32_t me, uint32_t gpus, uint32_t segment, const O *whole,                   \
                        const int *whole_ends, const O *offsets, int *ends, int *first) {                             \
        spread<O>(own, me, gpus, segment, whole, whole_ends, offsets, ends, first);                                   \
    }

KERNEL(uint32_t, u4)
KERNEL(uint64_t, u8)
