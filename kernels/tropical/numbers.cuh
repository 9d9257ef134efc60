// The number types of `fast`: how an entry lies in a 32-bit word, and two terms of the sum on words.
//
// Everything is (min, +). A word of uint16 holds two neighbouring entries of C; both halves of a word of A hold the
// same entry. Two infinities add up to 0xFFFE, so no carry leaves a half.

#pragma once

#include "infinity.cuh"

// `term` takes one term of the sum into a word of C by an addition and a minimum, `two_terms` takes two by two
// additions and one three-input minimum. Integers are added as x * one + y in `two_terms`: `one` is 1, but the compiler
// does not know, so the addition runs on the multiply-add pipe and the other pipe has only minima to do.

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
    // C and what is written are all of one sign, negated or not: the unsigned order of bits is right for both.
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
    static constexpr unsigned INFINITE = INFINITE_INT32;
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
    static constexpr unsigned INFINITE = INFINITE_UINT16 * 0x10001u;
    static __device__ Entry infinite() { return INFINITE_UINT16; }
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
