// What the decoders of `fast` share: a chunk a block, whose words are brought into shared memory and counted before a value
// is written. Nothing is read or written outside what the counts have allowed. What is wrong with a chunk is noted, which
// is all that one says whose checksum is wrong: one warp finds that out while the others write.
#pragma once
#include "chunk.cuh"

// A chunk's words where they land. They come 16 bytes at a time, all at once, so that up to three words of what lies before
// the chunk come too. Symbols are read up to two words behind the last.
template <class Bits, int THREADS> struct Landing {
    static constexpr int LONGEST = 2 + CHUNK * sizeof(Bits) / 4;
    // Pieces of 16 bytes a thread; what a chunk has beyond them comes word by word.
    static constexpr int ROUNDS = (LONGEST / 4 + THREADS - 1) / THREADS;
    uint4 pieces[(LONGEST + 3 + 2 + 3) / 4];
    u64 sums[THREADS / 32];
};

// The words of a chunk with n values, and the parts of their sum. All threads of the block call it. Returns their number, 0
// where there are none or something is wrong: `reason`.
template <class Bits, int THREADS>
__device__ inline int read_words(Landing<Bits, THREADS> &landing, const unsigned *&words, unsigned &reason,
                                 const unsigned *payload, const Table &table, long long words_in_all, long long chunk, int n) {
    constexpr int ROUNDS = Landing<Bits, THREADS>::ROUNDS;
    const unsigned lane = threadIdx.x & 31, number = unsigned(chunk), inside = number % SECTION;
    const unsigned short *lengths = table.lengths + (number - inside);
    const int t = threadIdx.x, length = lengths[inside];
    const long long begin =
        table.sections[number / SECTION] + __reduce_add_sync(ALL, lane < inside ? lengths[lane] : 0);
    reason = BAD_PLACE;
    if (begin < 0 || begin > words_in_all - length) {
        return 0;
    }
    if (length == 0) {
        // It has no checksum: the section must end where the next begins.
        const bool there = number - inside + lane < table.chunks;
        const unsigned behind = __reduce_add_sync(ALL, there && lane > inside ? lengths[lane] : 0);
        reason = begin + behind == table.sections[number / SECTION + 1] ? 0 : BAD_PLACE;
        return 0;
    }
    reason = BAD_LENGTH;
    if (length < 3 || length > max(2 + (n * int(sizeof(Bits)) + 3) / 4, 4)) {
        return 0;
    }
    payload += begin;
    // The table lies before the first chunk.
    const int offset = int(size_t(payload) >> 2 & 3), end = offset + length;
    payload -= offset;
    const int whole = min(end >> 2, ROUNDS * THREADS), rest = 4 * whole + t;
    uint4 piece[ROUNDS];
    unsigned last = 0;
#pragma unroll
    for (int k = 0; k < ROUNDS; k++) {
        if (t + THREADS * k < whole) {
            piece[k] = ((const uint4 *)payload)[t + THREADS * k];
        }
    }
    if (rest < end) {
        last = payload[rest];
    }
    unsigned *landed = (unsigned *)landing.pieces, f = factor(4 * t - offset);
    u64 sum = 0;
#pragma unroll
    for (int k = 0; k < ROUNDS; k++) {
        if (t + THREADS * k < whole) {
            unsigned part[4] = {piece[k].x, piece[k].y, piece[k].z, piece[k].w};
            landing.pieces[t + THREADS * k] = piece[k];
            for (int e = 0; e < 4; e++) {
                // What lies before the chunk does not count, nor does the checksum.
                const int place = 4 * t + e - offset;
                if (k > 0 || (place >= 0 && place != 1)) {
                    sum += u64(part[e]) * (f + 2 * STEP * (4 * THREADS * k + e));
                }
            }
        }
    }
    if (rest < end) {
        landed[rest] = last;
        sum += rest - offset == 1 ? 0 : u64(last) * factor(rest - offset);
    }
    sum = warp_sum(sum);
    if ((t & 31) == 0) {
        landing.sums[t >> 5] = sum;
    }
    __syncthreads();
    words = landed + offset;
    return length;
}

// The checksum that words should have which have landed. All lanes of a warp call it.
template <class Bits, int THREADS> __device__ inline unsigned checksum(const Landing<Bits, THREADS> &landing, long long chunk) {
    const int lane = threadIdx.x & 31;
    return folded(warp_sum(lane < THREADS / 32 ? landing.sums[lane] : 0), chunk);
}

// Value i of a raw chunk. Its words begin at any multiple of four bytes.
template <class Bits> __device__ inline Bits raw_value(const unsigned *words, int i) {
    if constexpr (sizeof(Bits) == 8) {
        return u64(words[3 + 2 * i]) << 32 | words[2 + 2 * i];
    } else {
        return ((const Bits *)(words + 2))[i];
    }
}

// Decode chunk first + blockIdx.x. Coding: of chunks that are not raw, made from the chunk's number and values in all:
//   THREADS           of a block
//   n                 values of the chunk
//   at(out, i)        where the chunk's value i belongs
//   length(w, l)      words that the l >= 4 words w should be; not above 0 for -reason. All threads call it
//   write(out, w, l)  the values. All threads call it
//   clear(out)        the same where all of them are zero
// table: of chunks in all. wrong: the least of chunk << 3 | reason (format.py's REASONS), all ones where there is none.
template <class Coding>
__device__ inline void decode(typename Coding::Bits *out, u64 *wrong, const unsigned *payload, const Table &table,
                              long long words_in_all, long long chunk, Coding &coding) {
    using Bits = typename Coding::Bits;
    constexpr int THREADS = Coding::THREADS;
    __shared__ Landing<Bits, THREADS> landing;
    const unsigned *words;
    unsigned reason;
    const int n = coding.n;
    const int length = read_words(landing, words, reason, payload, table, words_in_all, chunk, n);
    const bool changed = length && threadIdx.x < 32 && words[1] != checksum(landing, chunk);
    if (length) {
        int expected = 2 + (n * int(sizeof(Bits)) + 3) / 4;
        if (words[0] != RAW) {
            expected = length < 4 ? -BAD_LENGTH : coding.length(words, length);
        }
        reason = expected <= 0 ? -expected : length != expected ? BAD_LENGTH : 0;
    }
    if ((reason || changed) && threadIdx.x == 0) {
        atomicMin(wrong, u64(chunk) << 3 | (reason ? reason : BAD_CHECKSUM));
    }
    if (reason) {
        return;
    }
    if (length == 0) {
        coding.clear(out);
    } else if (words[0] == RAW) {
        for (int i = threadIdx.x; i < n; i += THREADS) {
            *coding.at(out, i) = raw_value<Bits>(words, i);
        }
    } else {
        coding.write(out, words, length);
    }
}
