// Coded rows of a matrix of distances (FORMAT.md), from a slab on the device: a block of threads for a block of columns of
// a row. `measure` finds how a block is coded and its words, and keeps the few columns that most blocks have; `write_kept`
// writes these blocks where the host says, a warp each, and `write_rest` the others; `compare` decodes all and compares
// them with the slab. The twin of packing.py, word for word.
// Neighbouring blocks of threads have the same columns of neighbouring rows, so what a row is coded against is in L2.
#include <cstdint>

static constexpr uint32_t THREADS = 256, WARPS = THREADS / 32;
static constexpr uint32_t ALL = 0xFFFFFFFFu, NONE = 0xFFFFFFFFu;
static constexpr uint32_t SPARSE = 0, PACKED = 1;
static constexpr uint32_t KEPT = 128;  // columns of a block at most that are kept for `write_kept`
static constexpr uint32_t REST = 0x80000000u;  // set in the number of a block's words where they are not

template <typename T> struct Signed;
template <> struct Signed<uint32_t> {
    using type = int32_t;
};
template <> struct Signed<uint64_t> {
    using type = int64_t;
};

// What the three kernels know of their slab: rows [count, n], of which the first has the place `first`.
template <typename T> struct Slab {
    uint32_t n, first, width, blocks;
    const T *entries;
    const uint32_t *rows;  // what a row is coded against, by place
    const uint16_t *columns, *ends;  // Order of order.py
};

// A block of columns of a row.
struct Block {
    uint32_t row, number;
    __device__ size_t place(uint32_t blocks) const { return size_t(row) * blocks + number; }
};

static __device__ uint32_t mix(uint32_t x) {
    x *= 0x85EBCA77u;
    x = (x ^ x >> 15) * 0xC2B2AE3Du;
    return x ^ x >> 13;
}

// One for all threads of the block, from one of each; `shared` holds one a warp.
template <typename V, typename F> static __device__ V reduced(V value, V *shared, F join) {
    for (int far = 16; far; far /= 2) value = join(value, __shfl_xor_sync(ALL, value, far));
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    value = shared[0];
    for (uint32_t w = 1; w < WARPS; w++) value = join(value, shared[w]);
    __syncthreads();
    return value;
}

// The differences of a block to the row that it is coded against, modulo 2^32 or 2^64; returns how many.
template <typename T> static __device__ uint32_t differences(const Slab<T> &s, Block b, T *x) {
    uint32_t low = b.number * s.width, size = min(s.width, s.n - low), above = s.rows[s.first + b.row];
    const T *own = s.entries + size_t(b.row) * s.n + low;
    const T *against = above == NONE ? nullptr : s.entries + size_t(above - s.first) * s.n + low;
#pragma unroll 8
    for (uint32_t j = threadIdx.x; j < size; j += THREADS) x[j] = against ? own[j] - against[j] : own[j];
    __syncthreads();
    return size;
}

// The difference of a column's to that of the column that it is coded against.
template <typename T> static __device__ T second(const T *x, const uint16_t *columns, uint32_t j) {
    return j ? x[j] - x[columns[j]] : x[0];
}

template <typename S> static __device__ uint32_t log_bytes(S least, S most) {
    if (least >= -128 && most < 128) return 0;
    if (least >= -32768 && most < 32768) return 1;
    return least >= -2147483648ll && most <= 2147483647ll ? 2 : 3;
}

// What is kept of the blocks: of each up to KEPT columns, their positions and values.
template <typename T> struct Kept {
    uint16_t *positions;
    T *values;
};

template <typename T>
static __device__ void measure(const Slab<T> &s, uint32_t *headers, uint32_t *words, const Kept<T> &kept) {
    using S = typename Signed<T>::type;
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ S across[WARPS];
    __shared__ uint32_t found;
    __shared__ uint16_t positions[KEPT];
    __shared__ T values[KEPT];
    T *x = reinterpret_cast<T *>(memory);
    if (threadIdx.x == 0) found = 0;
    const Block b = {blockIdx.x, blockIdx.y};
    uint32_t size = differences(s, b, x);
    const uint16_t *columns = s.columns + size_t(b.number) * s.width;
    S least = 0, most = 0;
#pragma unroll 8
    for (uint32_t j = threadIdx.x; j < size; j += THREADS)
        if (T y = second(x, columns, j)) {
            uint32_t k = atomicAdd(&found, 1u);
            if (k < KEPT) positions[k] = j, values[k] = y;
            least = min(least, S(y)), most = max(most, S(y));
        }
    auto smaller = [](S a, S b) { return min(a, b); };
    auto larger = [](S a, S b) { return max(a, b); };
    least = reduced(least, across, smaller), most = reduced(most, across, larger);
    uint32_t count = found, wide = log_bytes(least, most), bits = 0;
    uint32_t sparse = 1 + (count + 1) / 2 + ((count << wide) + 3) / 4, packed = 0;
    // Where two columns differ not all x are equal: packed, they take a bit each at least.
    bool thin = count < 65536 && sparse <= 3 + (count > 1 ? (size + 31) / 32 : 0);
    if (!thin) {
        S lowest = S(x[0]), highest = lowest;
        for (uint32_t j = threadIdx.x; j < size; j += THREADS)
            lowest = min(lowest, S(x[j])), highest = max(highest, S(x[j]));
        lowest = reduced(lowest, across, smaller), highest = reduced(highest, across, larger);
        T range = T(highest) - T(lowest);
        bits = range ? 64 - __clzll((unsigned long long)range) : 0;
        packed = 3 + (size * bits + 31) / 32;
        thin = sparse <= packed && count < 65536;
    }
    size_t place = b.place(s.blocks);
    bool rest = !thin || count > KEPT;
    if (threadIdx.x == 0) {
        headers[place] = thin ? SPARSE | wide << 8 | count << 16 : PACKED | bits << 8;
        words[place] = (thin ? sparse : packed) | (rest ? REST : 0);
    }
    if (rest) return;
    for (uint32_t k = threadIdx.x; k < count; k += THREADS) {
        uint32_t before = 0;
        for (uint32_t i = 0; i < count; i++) before += positions[i] < positions[k];
        kept.positions[place * KEPT + before] = positions[k];
        kept.values[place * KEPT + before] = values[k];
    }
}

// Value k of a sparse block.
template <typename T> static __device__ void put(uint32_t *values, uint32_t wide, uint32_t k, T y) {
    if (wide == 0)
        reinterpret_cast<uint8_t *>(values)[k] = y;
    else if (wide == 1)
        reinterpret_cast<uint16_t *>(values)[k] = y;
    else
        for (uint32_t w = 0; w < wide - 1; w++) values[k * (wide - 1) + w] = uint32_t(uint64_t(y) >> 32 * w);
}

static __device__ uint32_t summed(uint32_t word, uint32_t i) { return mix(word ^ (i + 1) * 0x9E3779B1u); }

// What a row's record says of a block: where it ends, and the checksum.
template <typename T>
static __device__ void record(const Slab<T> &s, Block b, const uint32_t *starts, uint32_t end, uint32_t sum,
                              uint32_t *out) {
    uint32_t *of_row = out + starts[b.row];
    of_row[b.number] = end - (starts[b.row] + 2 * s.blocks);
    of_row[s.blocks + b.number] = sum + mix((s.first + b.row) * s.blocks + b.number);
}

// at[row, block]: where in `out` the block's words go; starts[row]: where the row's record begins.
template <typename T>
static __device__ void write_kept(const Slab<T> &s, uint32_t rows, const Kept<T> &kept, const uint32_t *headers,
                                  const uint32_t *words, const uint32_t *at, const uint32_t *starts, uint32_t *out) {
    size_t place = size_t(blockIdx.x) * WARPS + threadIdx.x / 32;
    if (place >= size_t(rows) * s.blocks || words[place] & REST) return;
    const Block b = {uint32_t(place / s.blocks), uint32_t(place % s.blocks)};
    uint32_t lane = threadIdx.x % 32, header = headers[place], size = words[place], count = header >> 16;
    uint32_t *block = out + at[place];
    for (uint32_t i = lane; i < size; i += 32) block[i] = i ? 0 : header;
    __syncwarp();
    for (uint32_t k = lane; k < count; k += 32) {
        reinterpret_cast<uint16_t *>(block + 1)[k] = kept.positions[place * KEPT + k];
        put(block + 1 + (count + 1) / 2, header >> 8 & 3, k, kept.values[place * KEPT + k]);
    }
    __syncwarp();
    uint32_t sum = 0;
    for (uint32_t i = lane; i < size; i += 32) sum += summed(block[i], i);
    for (int far = 16; far; far /= 2) sum += __shfl_xor_sync(ALL, sum, far);
    if (lane == 0) record(s, b, starts, at[place] + size, sum, out);
}

template <typename T>
static __device__ void write_sparse(const T *x, const uint16_t *columns, uint32_t size, uint32_t header, uint32_t *out) {
    __shared__ uint32_t totals[WARPS];
    uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, count = header >> 16, wide = header >> 8 & 3;
    uint16_t *positions = reinterpret_cast<uint16_t *>(out + 1);
    uint32_t *values = out + 1 + (count + 1) / 2;
    // A warp has neighbouring columns, so that it writes after those before it.
    uint32_t each = (size + THREADS - 1) / THREADS * 32, begin = min(size, warp * each), end = min(size, begin + each);
    uint32_t total = 0;
    for (uint32_t from = begin; from < end; from += 32)
        total += __popc(__ballot_sync(ALL, from + lane < end && second(x, columns, from + lane) != 0));
    if (lane == 0) totals[warp] = total;
    __syncthreads();
    uint32_t k = 0;
    for (uint32_t w = 0; w < warp; w++) k += totals[w];
    for (uint32_t from = begin; from < end; from += 32) {
        T y = from + lane < end ? second(x, columns, from + lane) : T(0);
        uint32_t there = __ballot_sync(ALL, y != 0), mine = k + __popc(there & ((1u << lane) - 1));
        k += __popc(there);
        if (y == 0) continue;
        positions[mine] = from + lane;
        put(values, wide, mine, y);
    }
}

template <typename T>
static __device__ void write_packed(const T *x, uint32_t size, uint32_t header, uint32_t *out) {
    using S = typename Signed<T>::type;
    __shared__ S lowest[WARPS];
    S least = S(x[0]);
    for (uint32_t j = threadIdx.x; j < size; j += THREADS) least = min(least, S(x[j]));
    least = reduced(least, lowest, [](S a, S b) { return min(a, b); });
    uint32_t bits = header >> 8, words = (size * bits + 31) / 32;
    if (threadIdx.x == 0) out[1] = uint32_t(int64_t(least)), out[2] = uint32_t(uint64_t(int64_t(least)) >> 32);
    for (uint32_t w = threadIdx.x; w < words; w += THREADS) {
        uint32_t from = w * 32 / bits, to = min(size, (w * 32 + 31) / bits + 1), word = 0;
        for (uint32_t j = from; j < to; j++) {
            uint64_t value = T(x[j] - T(least));
            int32_t place = int32_t(j * bits) - int32_t(w * 32);
            word |= place >= 0 ? uint32_t(value << place) : uint32_t(value >> -place);
        }
        out[3 + w] = word;
    }
}

// The same of the blocks that are listed, row times blocks plus block.
template <typename T>
static __device__ void write_rest(const Slab<T> &s, const uint32_t *listed, const uint32_t *headers,
                                  const uint32_t *words, const uint32_t *at, const uint32_t *starts, uint32_t *out) {
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ uint32_t sums[WARPS];
    T *x = reinterpret_cast<T *>(memory);
    uint32_t place = listed[blockIdx.x], header = headers[place], count = words[place] & ~REST;
    const Block b = {place / s.blocks, place % s.blocks};
    uint32_t *block = out + at[place];
    for (uint32_t i = threadIdx.x; i < count; i += THREADS) block[i] = i ? 0 : header;
    uint32_t size = differences(s, b, x);
    if ((header & 255) == SPARSE)
        write_sparse(x, s.columns + size_t(b.number) * s.width, size, header, block);
    else
        write_packed(x, size, header, block);
    __syncthreads();
    uint32_t sum = 0;
    for (uint32_t i = threadIdx.x; i < count; i += THREADS) sum += summed(block[i], i);
    sum = reduced(sum, sums, [](uint32_t a, uint32_t b) { return a + b; });
    if (threadIdx.x == 0) record(s, b, starts, at[place] + count, sum, out);
}

template <typename T>
static __device__ T sparse_value(const uint32_t *values, uint32_t wide, uint32_t k) {
    using S = typename Signed<T>::type;
    if (wide == 0) return T(S(reinterpret_cast<const int8_t *>(values)[k]));
    if (wide == 1) return T(S(reinterpret_cast<const int16_t *>(values)[k]));
    if (wide == 2) return T(S(int32_t(values[k])));
    return T(uint64_t(values[2 * k]) | uint64_t(values[2 * k + 1]) << 32);
}

template <typename T>
static __device__ T packed_value(const uint32_t *block, uint32_t bits, uint32_t j) {
    uint64_t value = 0;
    for (uint32_t have = 0, place = j * bits; have < bits; have += 32 - place % 32, place = place / 32 * 32 + 32)
        value |= uint64_t(block[3 + place / 32] >> place % 32) << have;
    if (bits < 64) value &= (1ull << bits) - 1;
    return T((uint64_t(block[1]) | uint64_t(block[2]) << 32) + value);
}

// Decodes every block and compares it with the slab; *wrong becomes the smallest place, row times blocks plus block.
template <typename T>
static __device__ void compare(const Slab<T> &s, const uint32_t *at, const uint32_t *out, unsigned long long *wrong) {
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ T before[THREADS];
    T *x = reinterpret_cast<T *>(memory), *steps = x + s.width;
    const Block b = {blockIdx.x, blockIdx.y};
    size_t place = b.place(s.blocks);
    const uint32_t *block = out + at[place];
    uint32_t header = block[0], size = differences(s, b, x);
    bool differs = false;
    if ((header & 255) == SPARSE) {
        const uint16_t *positions = reinterpret_cast<const uint16_t *>(block + 1);
        const uint16_t *ends = s.ends + size_t(b.number) * s.width;
        uint32_t count = header >> 16, wide = header >> 8 & 3;
        for (uint32_t j = threadIdx.x; j <= size; j += THREADS) steps[j] = 0;
        __syncthreads();
        // One thread: a block holds few columns, and this is a check.
        if (threadIdx.x == 0)
            for (uint32_t k = 0; k < count; k++) {
                T value = sparse_value<T>(block + 1 + (count + 1) / 2, wide, k);
                steps[positions[k]] += value;
                steps[ends[positions[k]]] -= value;
            }
        __syncthreads();
        uint32_t each = (size + THREADS - 1) / THREADS, from = threadIdx.x * each, to = min(size, from + each);
        T sum = 0;
        for (uint32_t j = from; j < to; j++) sum += steps[j];
        before[threadIdx.x] = sum;
        __syncthreads();
        sum = 0;
        for (uint32_t t = 0; t < threadIdx.x; t++) sum += before[t];
        for (uint32_t j = from; j < to; j++) {
            sum += steps[j];
            differs |= sum != x[j];
        }
    } else {
        for (uint32_t j = threadIdx.x; j < size; j += THREADS)
            differs |= packed_value<T>(block, header >> 8, j) != x[j];
    }
    if (differs) atomicMin(wrong, (unsigned long long)place);
}

#define KERNELS(suffix, T)                                                                                         \
    extern "C" __global__ void __launch_bounds__(THREADS, 6)                                                       \
        measure_##suffix(Slab<T> slab, Kept<T> kept, uint32_t *headers, uint32_t *words) {                         \
        measure<T>(slab, headers, words, kept);                                                                    \
    }                                                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                          \
        write_kept_##suffix(Slab<T> slab, uint32_t rows, Kept<T> kept, const uint32_t *headers,                    \
                            const uint32_t *words, const uint32_t *at, const uint32_t *starts, uint32_t *out) {    \
        write_kept<T>(slab, rows, kept, headers, words, at, starts, out);                                          \
    }                                                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                          \
        write_rest_##suffix(Slab<T> slab, const uint32_t *listed, const uint32_t *headers, const uint32_t *words,  \
                            const uint32_t *at, const uint32_t *starts, uint32_t *out) {                           \
        write_rest<T>(slab, listed, headers, words, at, starts, out);                                              \
    }                                                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                          \
        compare_##suffix(Slab<T> slab, const uint32_t *at, const uint32_t *out, unsigned long long *wrong) {       \
        compare<T>(slab, at, out, wrong);                                                                          \
    }

KERNELS(4, uint32_t)
KERNELS(8, uint64_t)
