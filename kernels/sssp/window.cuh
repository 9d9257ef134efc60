// What a query of fast.cu is set to, and the bound below which its hops relax.
#pragma once
#include <cstdint>

// Entries that a block relaxes in a hop, on average, up to which a hop takes as long as its chain of loads whatever it
// relaxes: the step then grows, for the hops are fewer.
static constexpr uint32_t LATENT = 8;
// Percent of repeated work below which the step grows, and above which it shrinks.
static constexpr uint32_t LOW = 40, HIGH = 60;
static constexpr double SHORTEST = 1.0 / 16;  // least step, of the first one

struct Settings {
    uint32_t rows;         // vertices, with the extra ones of split vertices
    uint32_t queue;        // entries of a queue in shared memory
    uint32_t spill;        // entries of it in device memory
    uint32_t most_donated; // entries that a block can donate in a round
    uint32_t blocks;       // blocks of a team
    uint32_t hops;         // hops of a round at most
    uint32_t adapt;        // whether the step adapts
    uint32_t timeout_ms;   // of a query
    uint32_t traced;       // rounds that the trace has room for
    uint32_t first_round;  // its number; larger than any that an earlier launch left in the mailboxes
    double step;
};

// The messages of all blocks of a team, combined.
struct Totals {
    uint32_t pending, donated, done, repeated, held;
    uint32_t longest, hops;  // hops: the most of any block, and the fewest of those with a long queue
    uint32_t ended;
    uint32_t received;  // entries donated to this block
};
static constexpr Totals NO_TOTALS{0, 0, 0, 0, 0, 0, 0xFFFFFFFFu, 0, 0};

// The greatest D not above x, which may lie outside D's range.
static __device__ uint32_t as_distance(double x, uint32_t) { return __double2uint_rd(x); }
static __device__ uint64_t as_distance(double x, uint64_t) { return __double2ull_rd(x); }
static __device__ float as_distance(double x, float) { return __double2float_rd(x); }
static __device__ double as_distance(double x, double) { return x; }

static __device__ uint32_t just_above(uint32_t d) { return d + 1; }
static __device__ uint64_t just_above(uint64_t d) { return d + 1; }
static __device__ float just_above(float d) { return __uint_as_float(__float_as_uint(d) + 1); }
static __device__ double just_above(double d) { return __longlong_as_double(__double_as_longlong(d) + 1); }

// The bound and how it rises. All blocks compute the same window from the same totals.
template <typename D> struct Window {
    double step, reach;
    D floor = just_above(D(0));  // least bound

    __device__ D bound(double reached) const { return max(floor, as_distance(reached, D())); }

    __device__ void rise(const Totals &all, const Settings &set) {
        // Where a block with a long queue ended its round early, the bound rises only by that block's hops.
        if (all.held) reach += step * (all.hops == NO_TOTALS.hops ? all.longest : all.hops);
        if (!set.adapt || !all.held || !all.done) return;
        if (all.done < uint64_t(LATENT) * set.blocks * all.longest)
            step *= 1.125;
        else if (all.repeated * 100ull < LOW * uint64_t(all.done))
            step = min(step * 1.125, max(step, set.step));
        else if (all.repeated * 100ull > HIGH * uint64_t(all.done))
            step = max(step * 0.8125, min(step, set.step * SHORTEST));
    }
    // Where no entry lies below the bound.
    __device__ void jump(D nearest, const Settings &set) {
        floor = just_above(nearest);
        reach = max(reach, double(nearest) + step);
        if (set.adapt) step *= 2;
    }
};
