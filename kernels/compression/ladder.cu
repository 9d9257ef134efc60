// The paper's ladder: FPC with a thread a chunk; all values of a chunk at once (C1); writes that do not collide (C2); the
// input's memory as work space (C3). Paper C (Ino and others); ladder.py says how the stream looks.
//
// fpc, c1, c1c2 write every chunk to its own place in a work space as large as the input; `gather` closes the gaps. c1c2c3
// needs neither: a block holds its whole chunk in registers when it learns where its output begins, so that it writes
// straight into the memory that it and the blocks before it have read (a chunk is never longer than its doubles).
#include "length.cuh"
#include "lookback.cuh"

constexpr int CHUNK = 1024, ENTRIES = 32;
constexpr int THREADS = 256, FPC_THREADS = 64;

__device__ inline u64 rounded(u64 bits, int drop) {
    return drop == 0 ? bits : bits + ((1ull << (drop - 1)) - 1 + ((bits >> drop) & 1));
}

// The bits without the `drop` low ones, rounded to nearest even; `unfit` is set where that breaks the bound.
__device__ inline u64 shorten(u64 bits, int drop, bool &unfit) {
    const u64 round = rounded(bits, drop);
    const unsigned exponent = bits >> 52 & 0x7FF;
    const bool whole = (bits & ((1ull << drop) - 1)) == 0;
    unfit |= !whole && (exponent == 0 || exponent == 0x7FF || (round >> 52 & 0x7FF) == 0x7FF);
    return round >> drop;
}

// Bytes of x up to the highest that is not zero.
__device__ inline int significant(u64 x) {
    return (71 - __clzll(x)) >> 3;
}

// The places in both of FPC's tables after a value.
__device__ inline void next_places(unsigned &place, unsigned &dplace, u64 value, u64 difference, int drop) {
    place = unsigned((place << 2) ^ (drop < 48 ? value >> (48 - drop) : value)) & (ENTRIES - 1);
    dplace = unsigned((dplace << 2) ^ (drop < 40 ? difference >> (40 - drop) : difference)) & (ENTRIES - 1);
}

// FPC: a thread a chunk. tables[entry][thread]: neighbours meet no bank conflict whatever entries they look up.
extern "C" __global__ void __launch_bounds__(FPC_THREADS)
fpc(u64 *work, unsigned *lengths, const u64 *in, long long count, int drop) {
    __shared__ u64 fcm[ENTRIES][FPC_THREADS], dfcm[ENTRIES][FPC_THREADS];
    const int t = threadIdx.x;
    const long long chunk = (long long)blockIdx.x * FPC_THREADS + t;
    if (chunk * CHUNK >= count) {
        return;
    }
    for (int i = 0; i < ENTRIES; i++) {
        fcm[i][t] = dfcm[i][t] = 0;
    }
    const int n = chunk_length<CHUNK>(count, chunk);
    const u64 *values = in + chunk * CHUNK;
    u64 *out = work + chunk * CHUNK;
    unsigned place = 0, dplace = 0;
    u64 last = 0, codes = 0, pending = 0;
    int held = 0, at = (n + 15) / 16; // bytes in `pending`; the next word
    bool unfit = false;
    for (int i = 0; i < n; i++) {
        const u64 value = shorten(values[i], drop, unfit);
        u64 residual = value ^ fcm[place][t];
        const u64 other = value ^ (dfcm[dplace][t] + last);
        fcm[place][t] = value;
        dfcm[dplace][t] = value - last;
        next_places(place, dplace, value, value - last, drop);
        last = value;
        int bytes = significant(residual), code = 0;
        if (significant(other) < bytes) {
            residual = other;
            bytes = significant(other);
            code = 8;
        }
        if (drop <= 8 && bytes >= 4) {
            bytes = max(bytes, 5);
            code |= bytes - 1;
        } else {
            code |= bytes;
        }
        codes |= u64(code) << 4 * (i & 15);
        if ((i & 15) == 15 || i == n - 1) {
            out[i >> 4] = codes;
            codes = 0;
        }
        pending |= residual << 8 * held;
        held += bytes;
        if (held >= 8) {
            if (at < n) { // what would not fit the chunk's place is stored raw in any case
                out[at] = pending;
            }
            at++;
            held -= 8;
            pending = held ? residual >> 8 * (bytes - held) : 0;
        }
    }
    if (held) {
        if (at < n) {
            out[at] = pending;
        }
        at++;
    }
    lengths[chunk] = unfit || at >= n ? n : at;
}

// Sum over the threads before this one, of two or four packed numbers; `total` gets that over all. Two barriers.
__device__ inline u64 scan(u64 value, u64 *sums, u64 &total) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u64 sum = value;
    for (int step = 1; step < 32; step <<= 1) {
        const u64 lower = __shfl_up_sync(~0u, sum, step);
        sum += lane >= step ? lower : 0;
    }
    if (lane == 31) {
        sums[warp] = sum;
    }
    __syncthreads();
    u64 before_warp = 0;
    total = 0;
    for (int w = 0; w < THREADS / 32; w++) {
        before_warp += w < warp ? sums[w] : 0;
        total += sums[w];
    }
    __syncthreads();
    return before_warp + sum - value;
}

// C1: a value a thread, four rounds. Neighbours share bytes of codes and words of residuals.
extern "C" __global__ void __launch_bounds__(THREADS)
c1(u64 *work, unsigned *lengths, const u64 *in, long long count, int drop, int components) {
    __shared__ u64 references[2], sums[THREADS / 32];
    const long long chunk = blockIdx.x;
    const int n = chunk_length<CHUNK>(count, chunk), t = threadIdx.x;
    const u64 *values = in + chunk * CHUNK;
    u64 *out = work + chunk * CHUNK;
    u64 value[4];
    bool unfit = false;
    for (int r = 0; r < 4; r++) {
        const int i = r * THREADS + t;
        value[r] = i < n ? shorten(values[i], drop, unfit) : 0;
    }
    if (t < components) {
        references[t] = t < n ? value[0] : 0;
    }
    const int codes = (n + 15) / 16;
    for (int i = t; i < codes; i += THREADS) {
        out[components + i] = 0;
    }
    unfit = __syncthreads_or(unfit);
    // A chunk of one value has itself as the second reference.
    const u64 reference = references[n > 1 ? t & (components - 1) : 0];
    int bytes[4];
    u64 packed = 0;
    for (int r = 0; r < 4; r++) {
        value[r] ^= reference;
        bytes[r] = r * THREADS + t < n ? significant(value[r]) : 0;
        packed |= u64(bytes[r]) << 16 * r;
    }
    u64 total;
    const u64 place = scan(packed, sums, total);
    int start = 8 * (components + codes), starts[4];
    for (int r = 0; r < 4; r++) {
        starts[r] = start + int(place >> 16 * r & 0xFFFF);
        start += int(total >> 16 * r & 0xFFFF);
    }
    const int words = (start + 7) / 8;
    const bool raw = unfit || words >= n;
    if (t == 0) {
        lengths[chunk] = raw ? n : words;
    }
    if (raw) {
        return;
    }
    unsigned char *bytes_out = (unsigned char *)out;
    if (t < components) {
        out[t] = references[n > 1 ? t : 0];
    }
    if (t < 8 * words - start) {
        bytes_out[start + t] = 0;
    }
    for (int r = 0; r < 4; r++) {
        const int i = r * THREADS + t;
        if (bytes[r]) {
            atomicOr((unsigned *)(out + components) + i / 8, unsigned(bytes[r]) << 4 * (i & 7));
        }
        for (int b = 0; b < bytes[r]; b++) {
            bytes_out[starts[r] + b] = (unsigned char)(value[r] >> 8 * b);
        }
    }
}

// A coded chunk in shared memory, word by word; longer than a raw one where values do not fit together.
struct Coded {
    u64 words[2 + CHUNK / 16 + CHUNK];
    u64 references[2], sums[THREADS / 32];
};

// C2: two neighbouring values a thread, two rounds, so that every byte of codes and of residuals has one writer, and the
// words go out whole. Returns the words of the chunk, `n` where it is stored raw; pair[r] are its values as they came.
__device__ inline int code_pairs(Coded &coded, ulonglong2 *pair, const u64 *values, int n, int drop, int components) {
    const int t = threadIdx.x;
    u64 value[2][2];
    bool unfit = false;
    for (int r = 0; r < 2; r++) {
        const int i = 2 * (r * THREADS + t);
        pair[r] = make_ulonglong2(0, 0);
        if (i + 1 < n) {
            pair[r] = *(const ulonglong2 *)(values + i);
        } else if (i < n) {
            pair[r].x = values[i];
        }
        value[r][0] = shorten(pair[r].x, drop, unfit);
        value[r][1] = shorten(pair[r].y, drop, unfit);
    }
    if (t == 0) {
        coded.references[0] = value[0][0];
        coded.references[1] = n > 1 ? value[0][1] : value[0][0];
    }
    unfit = __syncthreads_or(unfit);
    int bytes[2][2];
    u64 packed = 0;
    for (int r = 0; r < 2; r++) {
        for (int k = 0; k < 2; k++) {
            value[r][k] ^= coded.references[k & (components - 1)];
            bytes[r][k] = 2 * (r * THREADS + t) + k < n ? significant(value[r][k]) : 0;
        }
        packed |= u64(bytes[r][0] + bytes[r][1]) << 32 * r;
    }
    u64 total;
    const u64 place = scan(packed, coded.sums, total);
    const int codes = (n + 15) / 16, start = 8 * (components + codes);
    const int first = int(total & 0xFFFFFFFF), end = start + first + int(total >> 32);
    const int words = (end + 7) / 8;
    if (unfit || words >= n) {
        return n;
    }
    unsigned char *out = (unsigned char *)coded.words;
    if (t < components) {
        coded.words[t] = coded.references[t];
    }
    if (t < 8 * words - end) {
        out[end + t] = 0;
    }
    for (int r = 0; r < 2; r++) {
        if (r * THREADS + t < 8 * codes) {
            out[8 * components + r * THREADS + t] = (unsigned char)(bytes[r][0] | bytes[r][1] << 4);
        }
        int at = start + (r ? first + int(place >> 32) : int(place & 0xFFFFFFFF));
        for (int k = 0; k < 2; k++) {
            for (int b = 0; b < bytes[r][k]; b++) {
                out[at++] = (unsigned char)(value[r][k] >> 8 * b);
            }
        }
    }
    __syncthreads();
    return words;
}

extern "C" __global__ void __launch_bounds__(THREADS)
c1c2(u64 *work, unsigned *lengths, const u64 *in, long long count, int drop, int components) {
    __shared__ Coded coded;
    ulonglong2 pair[2];
    const long long chunk = blockIdx.x;
    const int n = chunk_length<CHUNK>(count, chunk);
    const int words = code_pairs(coded, pair, in + chunk * CHUNK, n, drop, components);
    if (threadIdx.x == 0) {
        lengths[chunk] = words;
    }
    if (words < n) {
        for (int i = threadIdx.x; i < words; i += THREADS) {
            work[chunk * CHUNK + i] = coded.words[i];
        }
    }
}

// C3: as c1c2, straight to the chunk's place in the stream. memory: both the doubles and the payload.
extern "C" __global__ void __launch_bounds__(THREADS)
c1c2c3(u64 *memory, long long *offsets, u64 *status, unsigned *ticket, long long count, int drop, int components) {
    __shared__ Coded coded;
    __shared__ unsigned slot;
    __shared__ u64 begin;
    const long long chunk = take_ticket(ticket, &slot);
    const int n = chunk_length<CHUNK>(count, chunk), t = threadIdx.x;
    ulonglong2 pair[2];
    const int words = code_pairs(coded, pair, memory + chunk * CHUNK, n, drop, components);
    // The barriers in code_pairs come after all reads: the length tells others that this chunk's memory is free.
    if (t < 32) {
        __threadfence();
        if (t == 0) {
            tell(status, unsigned(chunk), words);
        }
        const u64 sum = before(status, unsigned(chunk), words);
        __threadfence();
        if (t == 0) {
            begin = sum;
            offsets[chunk] = 8 * sum;
            if (chunk == gridDim.x - 1) {
                offsets[chunk + 1] = 8 * (sum + words);
            }
        }
    }
    __syncthreads();
    u64 *out = memory + begin;
    if (words < n) {
        for (int i = t; i < words; i += THREADS) {
            out[i] = coded.words[i];
        }
        return;
    }
    for (int r = 0; r < 2; r++) {
        const int i = 2 * (r * THREADS + t);
        if (i < n) {
            out[i] = pair[r].x;
        }
        if (i + 1 < n) {
            out[i + 1] = pair[r].y;
        }
    }
}

// Chunks from the work space (raw ones from the input) to the payload without gaps.
extern "C" __global__ void __launch_bounds__(THREADS)
gather(u64 *payload, long long *offsets, u64 *status, unsigned *ticket, const u64 *work, const unsigned *lengths,
       const u64 *in, long long count) {
    __shared__ unsigned slot;
    __shared__ u64 begin;
    const long long chunk = take_ticket(ticket, &slot);
    const int n = chunk_length<CHUNK>(count, chunk), words = lengths[chunk];
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0) {
            tell(status, unsigned(chunk), words);
        }
        const u64 sum = before(status, unsigned(chunk), words);
        if (threadIdx.x == 0) {
            begin = sum;
            offsets[chunk] = 8 * sum;
            if (chunk == gridDim.x - 1) {
                offsets[chunk + 1] = 8 * (sum + words);
            }
        }
    }
    __syncthreads();
    const u64 *from = (words < n ? work : in) + chunk * CHUNK;
    for (int i = threadIdx.x; i < words; i += THREADS) {
        payload[begin + i] = from[i];
    }
}

// `bytes` bytes at byte `at` of words that have one more behind them.
__device__ inline u64 read_bytes(const u64 *words, int at, int bytes) {
    const int shift = 8 * (at & 7);
    u64 value = words[at >> 3] >> shift;
    if (shift) {
        value |= words[(at >> 3) + 1] << (64 - shift);
    }
    return bytes == 8 ? value : value & ((1ull << 8 * bytes) - 1);
}

// Code 1 back to doubles: a block a chunk.
extern "C" __global__ void __launch_bounds__(THREADS)
decode_first(u64 *out, const u64 *payload, const long long *offsets, long long count, int drop, int components) {
    __shared__ u64 coded[CHUNK + 1], sums[THREADS / 32];
    const long long chunk = blockIdx.x;
    const int n = chunk_length<CHUNK>(count, chunk), t = threadIdx.x;
    const long long low = offsets[chunk] >> 3;
    const int words = int((offsets[chunk + 1] >> 3) - low);
    out += chunk * CHUNK;
    if (words == n) {
        for (int i = t; i < n; i += THREADS) {
            out[i] = payload[low + i];
        }
        return;
    }
    for (int i = t; i <= words; i += THREADS) {
        coded[i] = i < words ? payload[low + i] : 0;
    }
    __syncthreads();
    int bytes[4];
    u64 packed = 0;
    for (int r = 0; r < 4; r++) {
        const int i = r * THREADS + t;
        bytes[r] = i < n ? int(coded[components + i / 16] >> 4 * (i & 15) & 15) : 0;
        packed |= u64(bytes[r]) << 16 * r;
    }
    u64 total;
    const u64 place = scan(packed, sums, total);
    int start = 8 * (components + (n + 15) / 16);
    for (int r = 0; r < 4; r++) {
        const int i = r * THREADS + t;
        if (i < n) {
            const u64 residual = read_bytes(coded, start + int(place >> 16 * r & 0xFFFF), bytes[r]);
            out[i] = (residual ^ coded[t & (components - 1)]) << drop;
        }
        start += int(total >> 16 * r & 0xFFFF);
    }
}

// Code 0 back to doubles: a thread a chunk.
extern "C" __global__ void __launch_bounds__(FPC_THREADS)
decode_fpc(u64 *out, const u64 *payload, const long long *offsets, long long count, int drop) {
    __shared__ u64 fcm[ENTRIES][FPC_THREADS], dfcm[ENTRIES][FPC_THREADS];
    const int t = threadIdx.x;
    const long long chunk = (long long)blockIdx.x * FPC_THREADS + t;
    if (chunk * CHUNK >= count) {
        return;
    }
    const int n = chunk_length<CHUNK>(count, chunk);
    const u64 *coded = payload + (offsets[chunk] >> 3);
    const int words = int((offsets[chunk + 1] - offsets[chunk]) >> 3);
    out += chunk * CHUNK;
    if (words == n) {
        for (int i = 0; i < n; i++) {
            out[i] = coded[i];
        }
        return;
    }
    for (int i = 0; i < ENTRIES; i++) {
        fcm[i][t] = dfcm[i][t] = 0;
    }
    unsigned place = 0, dplace = 0;
    u64 last = 0, codes = 0, pending = 0;
    int held = 0, at = (n + 15) / 16;
    for (int i = 0; i < n; i++) {
        if ((i & 15) == 0) {
            codes = coded[i >> 4];
        }
        const int code = codes & 15;
        codes >>= 4;
        int bytes = code & 7;
        bytes += drop <= 8 && bytes > 3;
        // `pending` holds the next `held` < 8 bytes, zeros above them.
        u64 residual = pending;
        if (bytes > held) {
            const u64 word = coded[at++];
            residual |= word << 8 * held;
            const int taken = bytes - held;
            pending = taken == 8 ? 0 : word >> 8 * taken;
            held = 8 - taken;
        } else {
            pending = bytes == 8 ? 0 : pending >> 8 * bytes;
            held -= bytes;
        }
        residual &= bytes == 8 ? ~0ull : (1ull << 8 * bytes) - 1;
        const u64 value = residual ^ (code & 8 ? dfcm[dplace][t] + last : fcm[place][t]);
        fcm[place][t] = value;
        dfcm[dplace][t] = value - last;
        next_places(place, dplace, value, value - last, drop);
        last = value;
        out[i] = value << drop;
    }
}
