// The number types of shortest paths: D distances, W weights, O offsets.
//
// Distances are unsigned integers or non-negative floats; both order as their bits do, so one atomic minimum on the
// bits serves all. The type's maximum (integers) or infinity (floats) means unreached; a sum that reaches it overflows.
#pragma once
#include <cstdint>

template <typename D> struct Distance;

template <> struct Distance<uint32_t> {
    static constexpr uint32_t unreached = 0xFFFFFFFFu;
    __device__ static uint32_t add(uint32_t d, uint32_t w) {
        uint32_t sum = d + w;
        return sum < d ? unreached : sum;
    }
    __device__ static uint32_t atomic_min(uint32_t *where, uint32_t d) { return atomicMin(where, d); }
};

template <> struct Distance<uint64_t> {
    static constexpr uint64_t unreached = 0xFFFFFFFFFFFFFFFFull;
    __device__ static uint64_t add(uint64_t d, uint32_t w) { return d + w; }
    __device__ static uint64_t atomic_min(uint64_t *where, uint64_t d) {
        return atomicMin(reinterpret_cast<unsigned long long *>(where), (unsigned long long)d);
    }
};

template <> struct Distance<float> {
    static constexpr float unreached = __builtin_huge_valf();
    __device__ static float add(float d, float w) { return d + w; }
    __device__ static float atomic_min(float *where, float d) {
        return __uint_as_float(atomicMin(reinterpret_cast<unsigned *>(where), __float_as_uint(d)));
    }
};

template <> struct Distance<double> {
    static constexpr double unreached = __builtin_huge_val();
    __device__ static double add(double d, float w) { return d + w; }
    __device__ static double atomic_min(double *where, double d) {
        return __longlong_as_double(atomicMin(reinterpret_cast<unsigned long long *>(where),
                                              (unsigned long long)__double_as_longlong(d)));
    }
};

// A weight from its bits in an arc's record.
__device__ inline uint32_t as_weight(uint32_t bits, uint32_t) { return bits; }
__device__ inline float as_weight(uint32_t bits, float) { return __uint_as_float(bits); }

// FOR_EACH_TYPE(X) expands X(suffix, D, W, O) for every combination the host asks for; the suffix is
// <distances>_<weights>_<offsets>. FOR_EACH_SHORT_TYPE(X) does for those whose offsets have 32 bits.
#define FOR_EACH_SHORT_TYPE(X)               \
    X(u4_u4_i4, uint32_t, uint32_t, int32_t) \
    X(u8_u4_i4, uint64_t, uint32_t, int32_t) \
    X(f4_f4_i4, float, float, int32_t)       \
    X(f8_f4_i4, double, float, int32_t)

#define FOR_EACH_TYPE(X)                     \
    FOR_EACH_SHORT_TYPE(X)                   \
    X(u4_u4_i8, uint32_t, uint32_t, int64_t) \
    X(u8_u4_i8, uint64_t, uint32_t, int64_t) \
    X(f4_f4_i8, float, float, int64_t)       \
    X(f8_f4_i8, double, float, int64_t)
