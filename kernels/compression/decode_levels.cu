// The decoder of `fast` for whole numbers on CUDA: integers of up to 32 bits, and levels of floats. A chunk a block.
//
// A block reads its chunk's words into shared memory, adding up the checksum on the way; a thread takes eight values that
// lie together from there. Nothing is read or written that a check has not allowed: what is wrong with a chunk is noted,
// and its values are not written.
#include "levels.cuh"

// The number of up to 32 bits at a bit of words, of which one more can be read.
__device__ inline unsigned bits_at(const unsigned *words, int at, int bits) {
    words += at >> 5;
    const unsigned value = __funnelshift_r(words[0], words[1], at & 31);
    return bits < 32 ? value & ((1u << bits) - 1) : value;
}

__device__ inline int unfolded(unsigned u) { return int(u >> 1 ^ -(u & 1)); }

// Add to every value the sum of those before it in its column, row values a row. All threads call it.
__device__ inline void add_columns(int *levels, int n, int row) {
    // Several threads a column where there are few: first each its own rows, then what came before those.
    const int parts = max(1, THREADS / row), column = parts > 1 ? int(threadIdx.x) % row : int(threadIdx.x);
    const int part = parts > 1 ? threadIdx.x / row : 0, rows = ((n + row - 1) / row + parts - 1) / parts;
    const int low = part * rows;
    if (part < parts) {
        for (int j = column; j < row; j += parts > 1 ? row : THREADS) {
            int sum = 0;
            for (int i = j + low * row, k = 0; i < n && k < rows; i += row, k++) {
                sum += levels[place_of(i)];
                levels[place_of(i)] = sum;
            }
        }
    }
    __syncthreads();
    if (parts == 1) {
        return;
    }
    int sum = 0;
    for (int p = 1; p <= part && part < parts; p++) {
        const int i = column + (p * rows - 1) * row;
        sum += i < n ? levels[place_of(i)] : 0;
    }
    __syncthreads();
    for (int i = column + low * row, k = 0; part < parts && i < n && k < rows; i += row, k++) {
        levels[place_of(i)] += sum;
    }
    __syncthreads();
}

// Eight values of digits: containers are numbers of one radix, the lower bits of every value lie before them.
__device__ inline void digits(int *x, const unsigned *words, int at, unsigned radix, int container, int shift, int base) {
    const int top = at + EACH * shift;
    u64 number = bits_at(words, top, min(container, 32));
    if (container > 32) {
        number |= u64(bits_at(words, top + 32, container - 32)) << 32;
    }
    const unsigned fourth = radix * radix * radix * radix, upper = unsigned(number / fourth);
    // The quotient by it is right or one too small.
    const unsigned inverse = ALL / radix;
    for (int h = 0; h < 2; h++) {
        unsigned rest = h ? upper : unsigned(number - u64(upper) * fourth);
        for (int k = 4 * h; k < 4 * h + 4; k++) {
            unsigned quotient = __umulhi(rest, inverse), digit = rest - quotient * radix;
            if (digit >= radix) {
                digit -= radix;
                quotient++;
            }
            x[k] = base + int(digit << shift | bits_at(words, at + k * shift, shift));
            rest = quotient;
        }
    }
}

// wrong: the least of chunk << 3 | reason (format.py's REASONS), all ones where there is none.
template <class Type>
__device__ inline void decode(typename Type::Bits *out, u64 *wrong, const unsigned *payload, const long long *table,
                              long long count, long long words_in_all, long long first, int row, double step) {
    using Bits = typename Type::Bits;
    using T = typename Type::T;
    __shared__ __align__(8) unsigned words[2 + CHUNK * sizeof(Bits) / 4 + 3];
    __shared__ int levels[PLACES], sums[WARPS];
    __shared__ unsigned checksum;
    const int t = threadIdx.x;
    const long long chunk = first + blockIdx.x;
    const int n = chunk_length<CHUNK>(count, chunk), raw = 2 + (n * int(sizeof(Bits)) + 3) / 4;
    out += (long long)blockIdx.x * CHUNK;
    const auto refuse = [&](unsigned reason) {
        if (t == 0) {
            atomicMin(wrong, u64(chunk) << 3 | reason);
        }
    };
    unsigned reason;
    const int length = read_words<Bits>(words, &checksum, payload, table, words_in_all, chunk, n, reason);
    if (length == 0) {
        return refuse(reason);
    }
    const unsigned front = words[0];
    const int mode = front & 7, a = front >> 8 & 63, b = front >> 16;
    const int begin = EACH * t, mine = min(EACH, max(0, n - begin)), groups = (n + GROUP - 1) / GROUP;
    int expected = raw, width = 0, bits_before = 0, container = 0;
    unsigned strays = 0;
    if (mode != RAW) {
        if (front & ~0x00FF3F07u || mode < DIGITS || mode > ROW) {
            return refuse(BAD_MODE);
        }
        if (length < 4 || words[3] > (Type::FLOAT ? unsigned(n) : 0u)) {
            return refuse(BAD_LENGTH);
        }
        strays = words[3];
        int amount;
        if (mode == DIGITS) {
            if (b < 1 || a > 31) {
                return refuse(BAD_MODE);
            }
            container = container_bits(b);
            amount = (n + EACH - 1) / EACH * (container + EACH * a);
        } else {
            if (a > 32 || b > 6 || (mode == ROW && !(0 < row && row < n)) || 32 * length < 128 + groups * b) {
                return refuse(BAD_MODE);
            }
            const int group = t >> 1;
            width = group < groups ? a + bits_at(words, 128 + group * b, b) : 0;
            if (__syncthreads_or(width > 32)) {
                return refuse(BAD_LENGTH);
            }
            int all;
            bits_before = GROUP * scan(t & 1 ? 0 : width, sums, all) - (t & 1 ? EACH * width : 0);
            amount = groups * b + GROUP * all;
        }
        expected = 4 + (amount + 31) / 32 + int(strays) * STRAY<Type>;
    } else if (front != RAW) {
        return refuse(BAD_MODE);
    }
    if (length != expected) {
        return refuse(BAD_LENGTH);
    }
    if (words[1] != checksum) {
        return refuse(BAD_CHECKSUM);
    }
    if (mode == RAW) {
        return copy_raw(out, words, n);
    }
    const unsigned *list = words + length - strays * STRAY<Type>;
    bool outside = false;
    for (int k = t; k < int(strays); k += THREADS) {
        outside |= list[k * STRAY<Type>] >= unsigned(n);
    }
    if (__syncthreads_or(outside)) {
        return refuse(BAD_MODE);
    }

    int x[EACH] = {};
    const int base = int(words[2]);
    if (mode == DIGITS) {
        if (mine) {
            digits(x, words, 128 + t * (container + EACH * a), b, container, a, base);
        }
    } else {
        // What is in the row that opens the chunk is added up along it; in the mode of neighbours that is all.
        const int along = mode == ROW ? row : n;
        int sum = 0;
        for (int k = 0; k < EACH; k++) {
            x[k] = k < mine ? unfolded(bits_at(words, 128 + groups * b + bits_before + k * width, width)) : 0;
            if (begin + k < along) {
                x[k] = sum += x[k];
            }
        }
        int all;
        const int start = base + scan(sum, sums, all);
        for (int k = 0; k < EACH; k++) {
            x[k] += begin + k < along ? start : 0;
        }
    }
    for (int k = 0; k < EACH; k++) {
        levels[place_of(begin) + k] = x[k];
    }
    __syncthreads();
    if (mode == ROW) {
        add_columns(levels, n, row);
    }
    const auto value = [&](int i) -> Bits {
        const int level = levels[place_of(i)];
        if constexpr (!Type::FLOAT) {
            return Bits(level);
        } else {
            const T found = T(__dmul_rn(level, step));
            if constexpr (sizeof(Bits) == 8) {
                return __double_as_longlong(found);
            } else {
                return __float_as_uint(found);
            }
        }
    };
    for (int i = 2 * t; i < n; i += 2 * THREADS) {
        const Two<Bits> two = {value(i), value(i + 1)};
        if (i + 1 < n) {
            *(Two<Bits> *)(out + i) = two;
        } else {
            out[i] = two.a;
        }
    }
    if (strays) {
        __syncthreads();
        for (int k = t; k < int(strays); k += THREADS) {
            const unsigned *stray = list + k * STRAY<Type>;
            out[stray[0]] = sizeof(Bits) == 8 ? Bits(u64(stray[2]) << 32 | stray[1]) : Bits(stray[1]);
        }
    }
}

#define DECODE(name, Type)                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
    decode_levels_##name(Type::Bits *out, u64 *wrong, const unsigned *payload, const long long *table,                 \
                         long long count, long long words_in_all, long long first, int row, double step) {             \
        decode<Type>(out, wrong, payload, table, count, words_in_all, first, row, step);                               \
    }

DECODE(float64, Doubles)
DECODE(float32, Floats)
DECODE(uint32, Words)
DECODE(uint16, Halves)
