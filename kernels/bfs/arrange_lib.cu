// The layout of layout.py on the device: vertices by falling degree, rows sorted, loops and parallel arcs left out; and
// the pieces of its long rows that many.cu pulls.
//
// Sorts and selections are CUB's, which are host code that launches kernels; so this file becomes a shared library, and
// what it offers is called by the host (arrange.py). Everything is queued on the default stream. A function that needs
// room says how much where `room` is null. All return a CUDA error code.
#include <cstdint>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

using Key = unsigned long long;

static constexpr int THREADS = 256;

static unsigned blocks_for(uint64_t threads) { return unsigned((threads + THREADS - 1) / THREADS); }

// A warp a row: arcs to other vertices, and a mark on what they lead to, where a bitmap of marks is wanted.
template <typename O>
static __global__ void count_arcs(uint32_t n, const O *offsets, const int *ends, uint32_t *degrees, uint8_t *marks) {
    uint64_t v = (blockIdx.x * uint64_t(THREADS) + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (v >= n) return;
    uint32_t degree = 0;
    for (O i = offsets[v] + lane; i < offsets[v + 1]; i += 32) {
        bool other = ends[i] != v;
        degree += other;
        if (marks && other) marks[ends[i]] = 1;
    }
    for (int step = 16; step; step /= 2) degree += __shfl_xor_sync(~0u, degree, step);
    if (lane == 0) degrees[v] = degree;
}

// Keys to sort vertices by, falling: 0 for those without arcs; how many have some.
static __global__ void rank_vertices(uint32_t n, const uint32_t *degrees, const uint8_t *marks, uint32_t *keys,
                                     int *vertices, uint32_t *kept) {
    uint32_t v = blockIdx.x * THREADS + threadIdx.x;
    bool keep = v < n && (degrees[v] || (marks && marks[v]));
    if (v < n) keys[v] = keep ? degrees[v] + 1 : 0, vertices[v] = v;
    uint32_t all = __syncthreads_count(keep);
    if (threadIdx.x == 0 && all) atomicAdd(kept, all);
}

static __global__ void turn_round(uint32_t n, uint32_t k, const int *old, int *place) {
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) place[old[i]] = i < k ? int(i) : -1;
}

// A warp a row: its arcs as keys of 2 x bits bits, tail first, or head first where they are turned. A loop becomes the
// greatest key, which no other arc has.
template <typename O>
static __global__ void write_keys(uint32_t n, const O *offsets, const int *ends, const int *place, uint32_t bits,
                                  bool turned, Key *keys) {
    uint64_t v = (blockIdx.x * uint64_t(THREADS) + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (v >= n) return;
    for (O i = offsets[v] + lane; i < offsets[v + 1]; i += 32) {
        Key tail = place[v], head = place[ends[i]];
        Key key = turned ? head << bits | tail : tail << bits | head;
        keys[i] = ends[i] == v ? (Key(1) << 2 * bits) - 1 : key;
    }
}

template <typename O>
static __global__ void find_rows(uint32_t k, uint64_t m, uint32_t bits, const Key *keys, O *offsets) {
    uint64_t v = blockIdx.x * uint64_t(THREADS) + threadIdx.x, low = 0, high = m;
    if (v > k) return;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (keys[middle] < Key(v) << bits)
            low = middle + 1;
        else
            high = middle;
    }
    offsets[v] = v < k ? low : m;
}

static __global__ void take_ends(uint64_t m, uint32_t bits, const Key *keys, int *ends) {
    uint64_t i = blockIdx.x * uint64_t(THREADS) + threadIdx.x;
    if (i < m) ends[i] = int(keys[i] & ((Key(1) << bits) - 1));
}

template <typename O>
static __global__ void take_first(uint32_t k, const O *offsets, const int *ends, int *first) {
    uint32_t v = blockIdx.x * THREADS + threadIdx.x;
    if (v < k) first[v] = offsets[v] < offsets[v + 1] ? ends[offsets[v]] : -1;
}

// How many pieces of `size` arcs the rows of more than `longest` arcs make, added to `count`; where there is room, a key a
// piece: its number in its row, then the vertex.
template <typename O>
static __global__ void list_hubs(uint32_t k, const O *offsets, uint32_t longest, uint32_t size, Key *keys,
                                 uint32_t *count) {
    uint32_t v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= k || offsets[v + 1] - offsets[v] <= longest) return;
    uint32_t made = uint32_t((offsets[v + 1] - offsets[v] + size - 1) / size), place = atomicAdd(count, made);
    for (uint32_t i = 0; keys && i < made; i++) keys[place + i] = Key(i) << 32 | v;
}

// Mirrored in arrange.py.
struct Hub {
    uint32_t tail, count;
    unsigned long long first;
};

template <typename O>
static __global__ void write_hubs(uint32_t pieces, const Key *keys, const O *offsets, uint32_t size, Hub *hubs) {
    uint32_t p = blockIdx.x * THREADS + threadIdx.x;
    if (p >= pieces) return;
    uint32_t v = uint32_t(keys[p]);
    O first = offsets[v] + O(keys[p] >> 32) * size, left = offsets[v + 1] - first;
    hubs[p] = {v, left < size ? uint32_t(left) : size, first};
}

extern "C" {

// old [n]: the vertices, those of most arcs first, those without any last; place [n]: where each is, -1 for those; kept:
// how many have an arc to or from another. wide: offsets have 64 bits. marks [n] where arcs go one way, or null.
// degrees, keys, sorted [n] and vertices [n] are for this function alone.
int order_vertices(void *room, size_t *needed, uint32_t n, int wide, const void *offsets, const int *ends,
                   uint8_t *marks, uint32_t *degrees, uint32_t *keys, uint32_t *sorted, int *vertices, int *old,
                   int *place, uint32_t *kept) {
    auto sort = [&] {
        return cub::DeviceRadixSort::SortPairsDescending(room, *needed, keys, sorted, vertices, old, n);
    };
    if (!room) return sort();
    cudaMemsetAsync(kept, 0, sizeof *kept);
    if (marks) cudaMemsetAsync(marks, 0, n);
    unsigned rows = blocks_for(32ull * n);
    if (wide)
        count_arcs<<<rows, THREADS>>>(n, (const uint64_t *)offsets, ends, degrees, marks);
    else
        count_arcs<<<rows, THREADS>>>(n, (const uint32_t *)offsets, ends, degrees, marks);
    rank_vertices<<<blocks_for(n), THREADS>>>(n, degrees, marks, keys, vertices, kept);
    if (int error = sort()) return error;
    uint32_t k;
    cudaMemcpy(&k, kept, sizeof k, cudaMemcpyDeviceToHost);
    turn_round<<<blocks_for(n), THREADS>>>(n, k, old, place);
    return cudaGetLastError();
}

// The different arcs as ascending keys in `a` or `b` [m], whichever `into` says (0 or 1), and how many there are.
int sort_arcs(void *room, size_t *needed, uint32_t n, uint64_t m, int wide, const void *offsets, const int *ends,
              const int *place, uint32_t bits, int turned, Key *a, Key *b, uint64_t *count, int *into,
              uint64_t *counted) {
    cub::DoubleBuffer<Key> keys(a, b);
    size_t sorting = 0, choosing = 0;
    cub::DeviceRadixSort::SortKeys(nullptr, sorting, keys, m, 0, 2 * bits);
    cub::DeviceSelect::Unique(nullptr, choosing, a, b, count, m);
    if (!room) {
        *needed = sorting > choosing ? sorting : choosing;
        return cudaGetLastError();
    }
    unsigned rows = blocks_for(32ull * n);
    if (wide)
        write_keys<<<rows, THREADS>>>(n, (const uint64_t *)offsets, ends, place, bits, turned, a);
    else
        write_keys<<<rows, THREADS>>>(n, (const uint32_t *)offsets, ends, place, bits, turned, a);
    if (int error = cub::DeviceRadixSort::SortKeys(room, *needed, keys, m, 0, 2 * bits)) return error;
    Key *sorted = keys.Current(), *unique = keys.Alternate();
    if (int error = cub::DeviceSelect::Unique(room, *needed, sorted, unique, count, m)) return error;
    cudaMemcpy(counted, count, sizeof *counted, cudaMemcpyDeviceToHost);
    Key last = 0;
    if (*counted) cudaMemcpy(&last, unique + *counted - 1, sizeof last, cudaMemcpyDeviceToHost);
    // Loops, if there are any, are one key now.
    if (*counted && last == (Key(1) << 2 * bits) - 1) --*counted;
    *into = unique == b;
    return cudaGetLastError();
}

// Rows of keys: offsets [k + 1], ends [m], and the first entry of every row [k], -1 where it is empty.
int cut_rows(uint32_t k, uint64_t m, uint32_t bits, const Key *keys, int wide, void *offsets, int *ends, int *first) {
    take_ends<<<blocks_for(m), THREADS>>>(m, bits, keys, ends);
    if (wide) {
        find_rows<<<blocks_for(k + 1ull), THREADS>>>(k, m, bits, keys, (uint64_t *)offsets);
        take_first<<<blocks_for(k), THREADS>>>(k, (const uint64_t *)offsets, ends, first);
    } else {
        find_rows<<<blocks_for(k + 1ull), THREADS>>>(k, m, bits, keys, (uint32_t *)offsets);
        take_first<<<blocks_for(k), THREADS>>>(k, (const uint32_t *)offsets, ends, first);
    }
    return cudaGetLastError();
}

// How many pieces of `size` arcs the rows of more than `longest` arcs make, at `count` on the device.
int count_hubs(uint32_t k, int wide, const void *offsets, uint32_t longest, uint32_t size, uint32_t *count) {
    cudaMemsetAsync(count, 0, sizeof *count);
    if (wide)
        list_hubs<<<blocks_for(k), THREADS>>>(k, (const uint64_t *)offsets, longest, size, nullptr, count);
    else
        list_hubs<<<blocks_for(k), THREADS>>>(k, (const uint32_t *)offsets, longest, size, nullptr, count);
    return cudaGetLastError();
}

// hubs [pieces]: those pieces, all first ones before all second ones. a, b [pieces] and count are for this function alone.
int cut_hubs(void *room, size_t *needed, uint32_t k, int wide, const void *offsets, uint32_t longest, uint32_t size,
             uint32_t pieces, Key *a, Key *b, uint32_t *count, Hub *hubs) {
    auto sort = [&] { return cub::DeviceRadixSort::SortKeys(room, *needed, a, b, pieces); };
    if (!room) return sort();
    cudaMemsetAsync(count, 0, sizeof *count);
    unsigned rows = blocks_for(k), all = blocks_for(pieces);
    if (wide)
        list_hubs<<<rows, THREADS>>>(k, (const uint64_t *)offsets, longest, size, a, count);
    else
        list_hubs<<<rows, THREADS>>>(k, (const uint32_t *)offsets, longest, size, a, count);
    if (int error = sort()) return error;
    if (wide)
        write_hubs<<<all, THREADS>>>(pieces, b, (const uint64_t *)offsets, size, hubs);
    else
        write_hubs<<<all, THREADS>>>(pieces, b, (const uint32_t *)offsets, size, hubs);
    return cudaGetLastError();
}
}
