// The number types of `fast`: how an entry lies in a 32-bit word, and two terms of the sum on words.
//
// Everything is (min, +). A word of uint16 holds two neighbouring entries of C; the factor from A is in both halves,
// and since two infinities make 0xFFFE no carry leaves a half.

#pragma once

// `term` adds a term to a word of C with a minimum of its own, `two_terms` adds two with one three-input minimum. There
// the additions of integers run on the multiply-add pipe as x * one + y, `one` being 1 but unknown to the compiler, so
// that the pipe of minima is left to minima.

// Non-negative floats have the order of their bits.
struct Float32 {
    using Entry = float;
    static constexpr int ENTRIES = 1;
    static constexpr bool ZERO_IS_LEAST = true;
    static constexpr unsigned INFINITE = 0x7F800000;
    static __device__ Entry infinite() { return __uint_as_float(INFINITE); }
    static __device__ __forceinline__ unsigned term(unsigned best, unsigned a, unsigned b) {
        return __float_as_uint(fminf(__uint_as_float(best), __uint_as_float(a) + __uint_as_float(b)));
    }
    static __device__ __forceinline__ unsigned two_terms(unsigned best, unsigned a0, unsigned b0, unsigned a1,
                                                         unsigned b1, unsigned) {
        return __vimin3_s32(best, __float_as_int(__uint_as_float(a0) + __uint_as_float(b0)),
                            __float_as_int(__uint_as_float(a1) + __uint_as_float(b1)));
    }
    static __device__ unsigned lesser(unsigned x, unsigned y) { return min(int(x), int(y)); }
    static __device__ unsigned negated(unsigned x) { return __float_as_uint(0.0f - __uint_as_float(x)); }
    // Bits of what is written, mirrored or not, are all of one sign: unsigned order is right for both.
    static __device__ unsigned atomic_lesser(unsigned* c, unsigned value, bool) { return atomicMin(c, value); }
};

// Floats of either sign.
struct SignedFloat32 : Float32 {
    static constexpr bool ZERO_IS_LEAST = false;
    static __device__ unsigned lesser(unsigned x, unsigned y) {
        return __float_as_uint(fminf(__uint_as_float(x), __uint_as_float(y)));
    }
};

struct Int32 {
    using Entry = int;
    static constexpr int ENTRIES = 1;
    static constexpr bool ZERO_IS_LEAST = true;
    static constexpr unsigned INFINITE = (1 << 30) - 1;
    static __device__ Entry infinite() { return INFINITE; }
    static __device__ __forceinline__ unsigned term(unsigned best, unsigned a, unsigned b) {
        return __viaddmin_s32(a, b, best);
    }
    static __device__ __forceinline__ unsigned two_terms(unsigned best, unsigned a0, unsigned b0, unsigned a1,
                                                         unsigned b1, unsigned one) {
        return __vimin3_s32(best, a0 * one + b0, a1 * one + b1);
    }
    static __device__ unsigned lesser(unsigned x, unsigned y) { return min(int(x), int(y)); }
    static __device__ unsigned negated(unsigned x) { return 0 - x; }
    static __device__ unsigned atomic_lesser(unsigned* c, unsigned value, bool mirrored) {
        int* place = reinterpret_cast<int*>(c);
        return mirrored ? atomicMax(place, int(value)) : atomicMin(place, int(value));
    }
};

struct UInt16 {
    using Entry = unsigned short;
    static constexpr int ENTRIES = 2;
    static constexpr bool ZERO_IS_LEAST = true;
    static constexpr unsigned INFINITE = 0x7FFF7FFF;
    static __device__ Entry infinite() { return 0x7FFF; }
    static __device__ __forceinline__ unsigned term(unsigned best, unsigned a, unsigned b) {
        return __viaddmin_u16x2(a, b, best);
    }
    static __device__ __forceinline__ unsigned two_terms(unsigned best, unsigned a0, unsigned b0, unsigned a1,
                                                         unsigned b1, unsigned one) {
        return __vimin3_u16x2(best, a0 * one + b0, a1 * one + b1);
    }
    static __device__ unsigned lesser(unsigned x, unsigned y) { return __vminu2(x, y); }
    static __device__ unsigned negated(unsigned x) { return x; }
    static __device__ unsigned atomic_lesser(unsigned* c, unsigned value, bool) {
        unsigned seen = *c, wanted;
        while ((wanted = __vminu2(seen, value)) != seen) {
            const unsigned before = atomicCAS(c, seen, wanted);
            if (before == seen) break;
            seen = before;
        }
        return seen;
    }
};
