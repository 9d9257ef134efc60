// The decoder of `fast` for whole numbers on CUDA: integers, and levels of floats. A chunk a block, eight values that lie
// together a thread.
#include "levels.cuh"
#include "read.cuh"

// The number of up to 32 (64) bits at a bit of words, of which one more (two) can be read.
template <class Code> __device__ inline Code bits_at(const unsigned *words, int at, int bits) {
    words += at >> 5;
    const unsigned low = __funnelshift_r(words[0], words[1], at);
    if (sizeof(Code) == 4) {
        return low & ~__funnelshift_lc(0, ALL, bits);
    }
    u64 beyond;
    asm("shl.b64 %0, %1, %2;" : "=l"(beyond) : "l"(~0ull), "r"(bits));
    return Code((u64(__funnelshift_r(words[1], words[2], at)) << 32 | low) & ~beyond);
}

// a / b, of numbers from 0 and 1 up to 2^12: a quotient is 1 / 2^13 of itself from the next whole number at least.
__device__ inline int quotient(int a, int b) { return int(__fdividef(float(a) + 0.5f, float(b))); }

template <class Code> __device__ inline Code unfolded(Code u) { return u >> 1 ^ (0 - (u & 1)); }

// Eight values of digits: containers are numbers of one radix, the lower bits of every value lie before them.
template <class Code>
__device__ inline void digits(Code *x, const unsigned *words, int at, unsigned radix, int container, int shift, Code base) {
    const u64 number = bits_at<u64>(words, at + EACH * shift, container);
    const unsigned fourth = radix * radix * radix * radix;
    // A double is near enough for a quotient that is one off at most.
    unsigned upper = unsigned(double(number) * __drcp_rn(double(fourth)));
    long long lower = (long long)(number - u64(upper) * fourth);
    if (lower < 0) {
        upper--;
        lower += fourth;
    } else if (lower >= fourth) {
        upper++;
        lower -= fourth;
    }
    // The quotient by it is right or one too small.
    const unsigned inverse = ALL / radix;
    for (int h = 0; h < 2; h++) {
        unsigned rest = h ? upper : unsigned(lower);
        for (int k = 4 * h; k < 4 * h + 4; k++) {
            unsigned quotient = __umulhi(rest, inverse), digit = rest - quotient * radix;
            if (digit >= radix) {
                digit -= radix;
                quotient++;
            }
            x[k] = base + (Code(digit) << shift);
            rest = quotient;
        }
    }
    if (shift) {
        for (int k = 0; k < EACH; k++) {
            x[k] += bits_at<Code>(words, at + k * shift, shift);
        }
    }
}

template <class Type> struct Whole {
    using Bits = typename Type::Bits;
    using T = typename Type::T;
    using Level = typename Type::Level;
    using Code = typename Type::Code;
    static constexpr int THREADS = ::THREADS;
    const Extent extent;
    const int n;
    const double step;
    // Of this thread: the width of its group, where its values begin.
    int width = 0, bit = 0;

    __device__ Whole(const Extent &extent, double step) : extent(extent), n(extent.n), step(step) {}

    __device__ Bits *at(Bits *out, int i) const { return out + extent.at(i); }

    __device__ static int stray_count(const unsigned *words) { return Type::FLOAT ? words[3] : 0; }

    // Every warp finds the places of all groups: lane l has the widths of groups 4 l to 4 l + 3, a byte each.
    __device__ bool widths(const unsigned *words, int groups, int least, int head, int &all) {
        const int t = threadIdx.x, lane = t & 31;
        unsigned heads = 4 * lane < groups ? bits_at<unsigned>(words, 128 + 4 * lane * head, 4 * head) : 0, four = 0;
        int sum = 0;
        for (int k = 0; k < 4; k++) {
            const int w = 4 * lane + k < groups ? least + (heads & ((1 << head) - 1)) : 0;
            heads >>= head;
            four |= w << 8 * k;
            sum += w;
        }
        // Bytes of up to 191 are added up without loss.
        const bool good = !__any_sync(ALL, __vmaxu4(four, LEVEL<Type> * 0x01010101u) != LEVEL<Type> * 0x01010101u);
        int before = sum;
        for (int step = 1; step < 32; step <<= 1) {
            const int lower = __shfl_up_sync(ALL, before, step);
            before += lane >= step ? lower : 0;
        }
        all = __shfl_sync(ALL, before, 31);
        const int owner = t >> 3, which = 8 * (t >> 1 & 3);
        four = __shfl_sync(ALL, four, owner);
        before = __shfl_sync(ALL, before - sum, owner);
        width = four >> which & 255;
        before += (four & ((1u << which) - 1)) * 0x01010101u >> 24;
        bit = 128 + groups * head + GROUP * before + (t & 1 ? EACH * width : 0);
        return good;
    }

    __device__ int length(const unsigned *words, int length) {
        const unsigned front = words[0];
        const int mode = front & 7, a = front >> 8 & 127, b = front >> 16, groups = (n + GROUP - 1) / GROUP;
        if (front & ~0x00FF7F07u || mode < DIGITS || mode > ROW) {
            return -BAD_MODE;
        }
        if (words[3] > (Type::FLOAT ? unsigned(n) : sizeof(Level) == 8 ? ALL : 0)) {
            return -BAD_LENGTH;
        }
        int amount;
        if (mode == DIGITS) {
            if (b < 1 || a >= LEVEL<Type>) {
                return -BAD_MODE;
            }
            amount = (n + EACH - 1) / EACH * (container_bits(b) + EACH * a);
        } else {
            if (a > LEVEL<Type> || b > 7 || (mode == ROW && extent.row == 0) || 32 * length < 128 + groups * b) {
                return -BAD_MODE;
            }
            int all;
            if (!widths(words, groups, a, b, all)) {
                return -BAD_LENGTH;
            }
            amount = groups * b + GROUP * all;
        }
        const int strays = stray_count(words), expected = 4 + (amount + 31) / 32 + strays * STRAY<Type>;
        if (strays && length == expected) {
            const unsigned *list = words + length - strays * STRAY<Type>;
            bool outside = false;
            for (int k = threadIdx.x; k < strays; k += THREADS) {
                outside |= list[k * STRAY<Type>] >= unsigned(n);
            }
            if (__syncthreads_or(outside)) {
                return -BAD_MODE;
            }
        }
        return expected;
    }

    __device__ Bits value(Level level) const {
        if constexpr (!Type::FLOAT) {
            return Bits(level);
        } else {
            // Adding and subtracting 2^52 + 2^31 is faster than a conversion.
            const double whole = __hiloint2double(0x43300000, level ^ 0x80000000) - 4503601774854144.0;
            const T found = T(__dmul_rn(whole, step));
            if constexpr (sizeof(Bits) == 8) {
                return __double_as_longlong(found);
            } else {
                return __float_as_uint(found);
            }
        }
    }

    __device__ void store(Bits *to, Two<Level> found) const {
        const Bits a = value(found.a), b = value(found.b);
        if constexpr (sizeof(Bits) == 8) {
            // Left to the compiler it is written in halves.
            asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(a), "l"(b) : "memory");
        } else {
            *(Two<Bits> *)to = {a, b};
        }
    }
    __device__ void store(Bits *to, Level found) const { *to = value(found); }
    __device__ static Two<Level> &taken(Levels<Level> &levels, int i, Two<Level>) { return levels.two(i); }
    __device__ static Level &taken(Levels<Level> &levels, int i, Level) { return levels[i]; }
    __device__ static Two<Level> sum(Two<Level> x, Two<Level> y) {
        return {Level(Code(x.a) + Code(y.a)), Level(Code(x.b) + Code(y.b))};
    }
    __device__ static Level sum(Level x, Level y) { return Level(Code(x) + Code(y)); }

    // Every value is the sum of those above it in its column and of itself. Columns: one, or two side by side.
    template <class Columns> __device__ void write_columns(Bits *out, Levels<Level> &levels) const {
        constexpr int WIDTH = sizeof(Columns) / sizeof(Level);
        __shared__ Columns totals[THREADS];
        const int across = extent.row / WIDTH, rows = quotient(n + extent.row - 1, extent.row), t = threadIdx.x;
        // Where there are few columns, several threads have parts of each.
        const int parts = min(rows, max(1, quotient(THREADS, across))), each = quotient(rows + parts - 1, parts);
        const int part = parts > 1 ? quotient(t, across) : 0, low = part * each * extent.row, high = min(n, low + each * extent.row);
        int column = parts > 1 ? t - part * across : t;
        Columns before = {};
        if (parts > 1) {
            if (part < parts) {
#pragma unroll 4
                for (int i = low + WIDTH * column; i < high; i += extent.row) {
                    before = sum(before, taken(levels, i, before));
                }
            }
            totals[t] = before;
            __syncthreads();
            before = {};
            for (int p = 0; p < part && part < parts; p++) {
                before = sum(before, totals[p * across + column]);
            }
        }
        for (; part < parts && column < across; column += parts > 1 ? across : THREADS) {
            Columns found = before;
            Bits *to = out + part * each * extent.stride + WIDTH * column;
#pragma unroll 4
            for (int i = low + WIDTH * column; i < high; i += extent.row, to += extent.stride) {
                found = sum(found, taken(levels, i, found));
                store(to, found);
            }
        }
    }

    __device__ void clear(Bits *out) const {
#pragma unroll 1
        for (int i = threadIdx.x; i < n; i += THREADS) {
            *at(out, i) = 0;
        }
    }

    __device__ void write(Bits *out, const unsigned *words, int length) const {
        __shared__ Levels<Level> levels;
        __shared__ Code sums[WARPS];
        const int t = threadIdx.x, lane = t & 31, warp = t >> 5, begin = EACH * t;
        const int mode = words[0] & 7, a = words[0] >> 8 & 127, b = words[0] >> 16;
        const Code base = sizeof(Code) == 8 ? Code(u64(words[3]) << 32 | words[2]) : Code(words[2]);
        Code x[EACH] = {}, all;
        if (mode == DIGITS) {
            if (begin < n) {
                const int container = container_bits(b);
                digits(x, words, 128 + t * (container + EACH * a), b, container, a, base);
            }
        } else {
            // What is in the row that opens the chunk is added up along it; in the mode of neighbours that is all.
            const int along = mode == ROW ? extent.row : CHUNK;
            Code sum = 0;
            for (int k = 0; k < EACH; k++) {
                x[k] = unfolded(bits_at<Code>(words, bit + k * width, width));
                sum += begin + k < along ? x[k] : 0;
            }
            Code before = base + scan(sum, sums, all);
            for (int k = 0; k < EACH; k++) {
                if (begin + k < along) {
                    x[k] = before += x[k];
                }
            }
        }
        Level numbers[EACH];
        for (int k = 0; k < EACH; k++) {
            numbers[k] = Level(x[k]);
        }
        if (mode == ROW) {
            levels.put(begin, numbers);
            __syncthreads();
            // A chunk of whole rows ends with the last column.
            if ((extent.stride | extent.row | n) % 2 == 0) {
                write_columns<Two<Level>>(out, levels);
            } else {
                write_columns<Level>(out, levels);
            }
        } else if (sizeof(Bits) <= 2 && n == CHUNK && extent.together(EACH)) {
            // As they lie in a thread.
            struct alignas(EACH * sizeof(Bits) <= 16 ? EACH * sizeof(Bits) : 16) Row {
                Bits x[EACH];
            } row;
            for (int k = 0; k < EACH; k++) {
                row.x[k] = Bits(numbers[k]);
            }
            *(Row *)at(out, begin) = row;
        } else {
            // Side by side, within the values of a warp.
            constexpr int ROWS = CHUNK / TILE_COLUMNS / WARPS;
            levels.put(begin, numbers);
            __syncwarp();
            int i = TILE_COLUMNS * ROWS * warp + 2 * lane;
            if (n == CHUNK && extent.together(2)) {
                Bits *to = at(out, i);
                for (int r = 0; r < ROWS; r++, i += TILE_COLUMNS, to += extent.pitch) {
                    store(to, levels.two(i));
                }
            } else {
#pragma unroll 1
                for (int r = 0; r < 2 * ROWS; r++, i += r & 1 ? 1 : TILE_COLUMNS - 1) {
                    if (i < n) {
                        store(at(out, i), levels[i]);
                    }
                }
            }
        }
        const int strays = stray_count(words);
        if (strays) {
            __syncthreads();
            const unsigned *list = words + length - strays * STRAY<Type>;
            for (int k = t; k < strays; k += THREADS) {
                const unsigned *stray = list + k * STRAY<Type>;
                *at(out, stray[0]) = sizeof(Bits) == 8 ? Bits(u64(stray[2]) << 32 | stray[1]) : Bits(stray[1]);
            }
        }
    }
};

// origin: the value that out[0] is, the first of chunk `first`.
#define DECODE(name, Type)                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, sizeof(Type::Level) == 8 ? 4 : 8)                            \
    decode_levels_##name(Type::Bits *out, u64 *wrong, const unsigned *payload, long long *sections,                    \
                         unsigned short *lengths, unsigned chunks,                                                     \
                         long long count, long long words_in_all, long long first, int row, int bands,                 \
                         long long origin, double step) {                                                              \
        Whole<Type> whole(Extent(count, first + blockIdx.x, row, bands), step);                                        \
        decode(out + (whole.extent.begin - origin), wrong, payload, {sections, lengths, chunks}, words_in_all,          \
               first + blockIdx.x, whole);                                                                             \
    }

using Shorts = Integers<unsigned short, unsigned short>;
using Bytes = Integers<unsigned char, unsigned char>;
DECODE(float64, Doubles)
DECODE(float32, Floats)
DECODE(uint64, Longs)
DECODE(uint32, Ints)
DECODE(uint16, Shorts)
DECODE(uint8, Bytes)
