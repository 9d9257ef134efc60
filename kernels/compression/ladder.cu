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
    constexpr unsigned INFINITE = 0x7FF00000, LEAST = 0x00100000; // exponents, in the upper word
    const u64 round = rounded(bits, drop);
    const bool fits = (unsigned(bits >> 32) & INFINITE) - LEAST < INFINITE - LEAST && (unsigned(round >> 32) & INFINITE) < INFINITE;
    unfit |= !fits && (bits & ((1ull << drop) - 1)) != 0;
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

__device__ inline int warp_sum(int x) { return __reduce_add_sync(~0u, x); }
__device__ inline u64 warp_sum(u64 x) {
    return u64(__reduce_add_sync(~0u, unsigned(x >> 32))) << 32 | __reduce_add_sync(~0u, unsigned(x));
}

// Sum over the threads before this one, of one number or of packed ones whose sums fit; `total` gets that over all. One
// barrier.
template <class Number> __device__ inline Number scan(Number value, Number *sums, Number &total) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    Number sum = value;
    for (int step = 1; step < 32; step <<= 1) {
        const Number lower = __shfl_up_sync(~0u, sum, step);
        sum += lane >= step ? lower : 0;
    }
    if (lane == 31) {
        sums[warp] = sum;
    }
    __syncthreads();
    const Number its = lane < THREADS / 32 ? sums[lane] : 0;
    total = warp_sum(its);
    return warp_sum(lane < warp ? its : 0) + sum - value;
}

// A coded chunk in shared memory, word by word; longer than a raw one where values do not fit together.
struct Coded {
    alignas(16) u64 words[2 + CHUNK / 16 + CHUNK];
    u64 references[2], sums[THREADS / 32];
};

// C1: a value a thread, four rounds. Neighbours meet in bytes of codes and in words of residuals.
extern "C" __global__ void __launch_bounds__(THREADS)
c1(u64 *work, unsigned *lengths, const u64 *in, long long count, int drop, int components) {
    __shared__ Coded coded;
    const long long chunk = blockIdx.x;
    const int n = chunk_length<CHUNK>(count, chunk), t = threadIdx.x;
    const u64 *values = in + chunk * CHUNK;
    u64 value[4];
    bool unfit = false;
    for (int r = 0; r < 4; r++) {
        const int i = r * THREADS + t;
        value[r] = i < n ? shorten(values[i], drop, unfit) : 0;
    }
    if (t < components) {
        coded.references[t] = t < n ? value[0] : 0;
    }
    const int codes = (n + 15) / 16;
    for (int i = t; i < codes; i += THREADS) {
        coded.words[components + i] = 0;
    }
    unfit = __syncthreads_or(unfit);
    // A chunk of one value has itself as the second reference.
    const u64 reference = coded.references[n > 1 ? t & (components - 1) : 0];
    int bytes[4];
    u64 packed = 0;
    for (int r = 0; r < 4; r++) {
        value[r] ^= reference;
        bytes[r] = r * THREADS + t < n ? significant(value[r]) : 0;
        packed |= u64(bytes[r]) << 16 * r;
    }
    u64 total;
    const u64 place = scan(packed, coded.sums, total);
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
    unsigned char *out = (unsigned char *)coded.words;
    if (t < components) {
        coded.words[t] = coded.references[n > 1 ? t : 0];
    }
    if (t < 8 * words - start) {
        out[start + t] = 0;
    }
    for (int r = 0; r < 4; r++) {
        const int i = r * THREADS + t;
        if (bytes[r]) {
            atomicOr((unsigned *)(coded.words + components) + i / 8, unsigned(bytes[r]) << 4 * (i & 7));
        }
        for (int b = 0; b < bytes[r]; b++) {
            out[starts[r] + b] = (unsigned char)(value[r] >> 8 * b);
        }
    }
    __syncthreads();
    for (int i = t; i < words; i += THREADS) {
        work[chunk * CHUNK + i] = coded.words[i];
    }
}

// Bytes one behind the other, whole where a word of 32 bits is a thread's own: no byte has two writers.
struct Bytes {
    unsigned char *word;
    unsigned rest = 0;
    int from, held; // of the word, the first byte that is the thread's, and those that are there

    __device__ Bytes(unsigned char *words, int at) : word(words + (at & ~3)), from(at & 3), held(from) {}
    // Bytes `from` to `to` - 1 of the word.
    __device__ void part(int to) const {
        for (int b = 0; b < 4; b++) {
            if (b >= from && b < to) {
                word[b] = (unsigned char)(rest >> 8 * b);
            }
        }
    }
    // The low bytes of a number whose others are zero.
    __device__ void put(unsigned value, int bytes) {
        rest |= value << 8 * held;
        const int end = held + bytes;
        if (end >= 4) {
            if (from) {
                part(4);
                from = 0;
            } else {
                *(unsigned *)word = rest;
            }
            word += 4;
            rest = __funnelshift_lc(value, 0, 8 * held);
        }
        held = end & 3;
    }
    __device__ void put(u64 value, int bytes) {
        put(unsigned(value), min(bytes, 4));
        if (bytes > 4) {
            put(unsigned(value >> 32), bytes - 4);
        }
    }
    __device__ void end() const { part(held); }
};

// C2: four neighbouring values a thread, so that every byte of codes and of residuals has one writer, and words go out
// whole.
struct Four {
    u64 came[4], residual[4];
    unsigned codes = 0;
    int start, end, words; // where its residuals begin and where those of the chunk end, in bytes; the chunk's words

    // Of a chunk of n values; `words` is n where it is stored raw. Two barriers behind all reads.
    __device__ Four(Coded &coded, const u64 *values, int n, int drop, int components) {
        constexpr int UNFIT = 1 << 20; // more than all bytes
        const int t = threadIdx.x;
        bool unfit = false;
        if (n == CHUNK) {
            for (int k = 0; k < 4; k += 2) {
                const ulonglong2 two = *(const ulonglong2 *)(values + 4 * t + k);
                came[k] = two.x;
                came[k + 1] = two.y;
            }
        } else {
            for (int k = 0; k < 4; k++) {
                came[k] = 4 * t + k < n ? values[4 * t + k] : 0;
            }
        }
        for (int k = 0; k < 4; k++) {
            residual[k] = shorten(came[k], drop, unfit);
        }
        if (t == 0) {
            coded.references[0] = residual[0];
            coded.references[1] = n > 1 ? residual[1] : residual[0];
        }
        __syncthreads();
        int bytes = 0;
        for (int k = 0; k < 4; k++) {
            residual[k] ^= coded.references[k & (components - 1)];
            const int its = n == CHUNK || 4 * t + k < n ? significant(residual[k]) : 0;
            codes |= its << 4 * k;
            bytes += its;
        }
        int all;
        const int before = scan(bytes | (unfit ? UNFIT : 0), (int *)coded.sums, all);
        const int front = 8 * (components + (n + 15) / 16);
        start = front + before;
        end = front + all;
        words = (end + 7) / 8;
        words = all >= UNFIT || words >= n ? n : words;
    }

    // The chunk's words to shared memory, and a barrier.
    __device__ void write(Coded &coded, int n, int components) const {
        const int t = threadIdx.x, codes_at = 8 * components;
        unsigned char *out = (unsigned char *)coded.words;
        if (words == n) {
            for (int k = 0; k < 4; k += 2) {
                *(ulonglong2 *)(coded.words + 4 * t + k) = make_ulonglong2(came[k], came[k + 1]);
            }
        } else {
            if (t < components) {
                coded.words[t] = coded.references[t];
            }
            if (t < 8 * words - end) {
                out[end + t] = 0;
            }
            if (t < 4 * ((n + 15) / 16)) {
                *(unsigned short *)(out + codes_at + 2 * t) = (unsigned short)codes;
            }
            Bytes bytes(out, start);
            for (int k = 0; k < 4; k++) {
                bytes.put(residual[k], codes >> 4 * k & 15);
            }
            bytes.end();
        }
        __syncthreads();
    }
};

extern "C" __global__ void __launch_bounds__(THREADS)
c1c2(u64 *work, unsigned *lengths, const u64 *in, long long count, int drop, int components) {
    __shared__ Coded coded;
    const long long chunk = blockIdx.x;
    const int n = chunk_length<CHUNK>(count, chunk);
    const Four four(coded, in + chunk * CHUNK, n, drop, components);
    if (threadIdx.x == 0) {
        lengths[chunk] = four.words;
    }
    if (four.words < n) {
        four.write(coded, n, components);
        for (int i = threadIdx.x; i < four.words; i += THREADS) {
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
    const Four four(coded, memory + chunk * CHUNK, n, drop, components);
    // The length tells others that this chunk's memory is free.
    if (t == 0) {
        __threadfence();
        tell(status, unsigned(chunk), four.words);
    }
    four.write(coded, n, components);
    if (t < 32) {
        const u64 sum = before(status, unsigned(chunk), four.words);
        __threadfence();
        if (t == 0) {
            begin = sum;
            offsets[chunk] = 8 * sum;
            if (chunk == gridDim.x - 1) {
                offsets[chunk + 1] = 8 * (sum + four.words);
            }
        }
    }
    __syncthreads();
    for (int i = t; i < four.words; i += THREADS) {
        memory[begin + i] = coded.words[i];
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
