// Sets of searches, a bit each: a vertex's in parts of 16 bytes at most, a lane a part.
#pragma once
#include "rows.cuh"

static constexpr int MOST = 256;

template <int N>
struct alignas(4 * N) Part {
    uint32_t w[N];

    __device__ bool any() const {
        uint32_t all = 0;
        for (int i = 0; i < N; i++) all |= w[i];
        return all;
    }
    __device__ Part operator&(const Part &b) const { return each(b, [](uint32_t x, uint32_t y) { return x & y; }); }
    __device__ Part operator|(const Part &b) const { return each(b, [](uint32_t x, uint32_t y) { return x | y; }); }
    __device__ Part operator-(const Part &b) const { return each(b, [](uint32_t x, uint32_t y) { return x & ~y; }); }
    template <typename F>
    __device__ Part each(const Part &b, F of) const {
        Part c;
        for (int i = 0; i < N; i++) c.w[i] = of(w[i], b.w[i]);
        return c;
    }
    // ORed over the lanes whose numbers differ in the given bits.
    __device__ Part over(uint32_t low, uint32_t high) const {
        Part all = *this;
        for (uint32_t step = low; step < high; step *= 2)
            for (int i = 0; i < N; i++) all.w[i] |= __shfl_xor_sync(EVERY, all.w[i], step);
        return all;
    }
};

// Not from L1, which atomics do not change.
static __device__ Part<1> load_latest(const Part<1> *from) { return {__ldcg(from->w)}; }
static __device__ Part<2> load_latest(const Part<2> *from) {
    uint2 two = __ldcg((const uint2 *)from);
    return {two.x, two.y};
}
static __device__ Part<4> load_latest(const Part<4> *from) {
    uint4 four = __ldcg((const uint4 *)from);
    return {four.x, four.y, four.z, four.w};
}

template <int SEARCHES>
struct Sets {
    static constexpr int WORDS = SEARCHES / 32, LANES = WORDS > 4 ? WORDS / 4 : 1, WIDTH = WORDS / LANES;
    using Mine = Part<WIDTH>;

    Mine *at;  // [vertices, LANES]

    __device__ Mine &operator()(uint32_t v, uint32_t side) const { return at[size_t(v) * LANES + side]; }
    __device__ Mine latest(uint32_t v, uint32_t side) const {
        return load_latest(&operator()(v, side));
    }
    __device__ void add(uint32_t v, uint32_t side, const Mine &bits) const {
        uint32_t *to = operator()(v, side).w;
        if constexpr (WIDTH == 1) {
            if (bits.w[0]) atomicOr(to, bits.w[0]);
        } else {
            for (int i = 0; i < WIDTH; i += 2)
                if (Count two = Count(bits.w[i + 1]) << 32 | bits.w[i]) atomicOr((Count *)(to + i), two);
        }
    }
};
