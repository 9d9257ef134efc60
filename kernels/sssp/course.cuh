// How a search of broad.cu goes on from phase to phase: what the next phase does, and the bound below which it relaxes.
#pragma once
#include "ending.cuh"
#include "types.cuh"
#include "window.cuh"

// Arcs that are relaxed in about the time that a phase takes without any.
static constexpr uint32_t LITTLE = 100000;
// Percent of repeated work below which the step grows, and above which it shrinks; the least step, of the first one.
static constexpr uint32_t FEW_REPEATED = 50, MANY_REPEATED = 75;
// Phases in a row of few entries after which another engine goes on.
static constexpr uint32_t NARROW_PHASES = 6;
static constexpr double GROWS = 1.25, SHRINKS = 0.75, LEAST_STEP = 1.0 / 16;

// The counts of a phase, of a block or of all together.
struct Slot {
    unsigned long long relaxed, inside;  // arcs relaxed; arcs into the vertices relaxed for the first time
    unsigned long long nearest;          // bits of the smallest candidate beyond the bound; in phases over all vertices
    uint32_t done, repeated, first;      // vertices relaxed; changes below the bound; vertices relaxed the first time
    uint32_t ended, queued, pieces;
};
static constexpr Slot NOTHING{0, 0, ~0ull, 0, 0, 0, 0, 0, 0};

// SETTINGS in cuda_broad.py.
struct Plan {
    double step;  // the first; infinite where there is no bound
    unsigned long long arcs;
    uint32_t n, room;   // vertices; entries that a queue has room for
    uint32_t heaviest;  // bits of the largest weight
    uint32_t into, adapt, timeout_ms;  // into: whether the arcs into vertices are at hand
    uint32_t few;  // entries up to which phases without a bound, past half of all vertices, are left to fast.cu; 0: none are
};

// RECORD in cuda_broad.py: what a search leaves for the host.
struct Record {
    unsigned long long relaxed, pulled;
    double step;
    uint32_t phases, sweeps, rises, ended;
    uint32_t left, turn;  // entries left to fast.cu, of the list of even or of odd phases
};

static __device__ unsigned long long bits_of(uint32_t d) { return d; }
static __device__ unsigned long long bits_of(uint64_t d) { return d; }
static __device__ unsigned long long bits_of(float d) { return __float_as_uint(d); }
static __device__ unsigned long long bits_of(double d) { return (unsigned long long)__double_as_longlong(d); }
static __device__ uint32_t of_bits(unsigned long long b, uint32_t) { return uint32_t(b); }
static __device__ uint64_t of_bits(unsigned long long b, uint64_t) { return b; }
static __device__ float of_bits(unsigned long long b, float) { return __uint_as_float(uint32_t(b)); }
static __device__ double of_bits(unsigned long long b, double) { return __longlong_as_double((long long)b); }

// What a phase does: it relaxes the queue, or looks at all vertices, or pulls; or there is none.
enum Mode { QUEUE, SWEEP, PULL, STOP };

// Every block computes the same course from the same counts, by one thread.
template <typename D> struct Course {
    static constexpr D never = Distance<D>::unreached;
    // Of the next phase: it relaxes candidates below `bound`, of vertices at `from` or beyond, `queued` entries and
    // `cut` pieces.
    Mode mode;
    D bound, from;
    uint32_t queued, cut, phases;
    Record record;
    double step, reach;
    uint32_t reached, since, narrow;  // vertices relaxed so far; phases since the bound rose; of few entries in a row
    unsigned long long inside, pushed;     // arcs into these vertices; arcs relaxed since nothing lay below the bound
    unsigned long long relaxed, done, repeated;  // since the bound rose

    __device__ void begin(const Plan &plan) {
        *this = {};
        step = reach = plan.step;
        bound = max(bound_at(reach), just_above(D(0)));
        mode = QUEUE, queued = 1;
    }

    // After a phase of the given counts.
    __device__ void advance(const Slot &sum, const Plan &plan) {
        queued = sum.queued, cut = sum.pieces;
        phases++, since++;
        record.sweeps += mode != QUEUE, record.relaxed += sum.relaxed, record.ended |= sum.ended;
        relaxed += sum.relaxed, done += sum.done, repeated += sum.repeated;
        reached += sum.first, inside += sum.inside;
        if (sum.ended) {
            mode = STOP;
        } else if (mode == PULL) {
            record.pulled = sum.relaxed, from = bound, bound = never, mode = SWEEP;
        } else {
            pushed += sum.relaxed;
            const unsigned long long beyond = plan.arcs - inside;
            const bool pulls = plan.into && bound != never && beyond <= 2 * pushed;
            if (queued || cut) {
                // Corrections alone are no reason to go further.
                const bool corrects = uint64_t(sum.repeated) * 100 >= uint64_t(FEW_REPEATED) * sum.done;
                if (bound == never || pulls || cut || corrects || sum.relaxed >= LITTLE)
                    mode = queued > plan.room ? SWEEP : QUEUE;
                else
                    rise(plan);
                narrow = bound == never && !cut && queued <= plan.few && reached > plan.n / 2 ? narrow + 1 : 0;
                if (narrow >= NARROW_PHASES) mode = STOP, record.left = queued, record.turn = phases % 2;
            } else if (bound == never || reached == plan.n || (plan.into && !beyond) ||
                       (mode == SWEEP && sum.nearest >= bits_of(never))) {
                mode = STOP;
            } else if (pulls) {
                mode = PULL;
            } else {
                if (mode == SWEEP && of_bits(sum.nearest, D()) > bound) {
                    bound = of_bits(sum.nearest, D());
                    reach = double(bound);
                }
                pushed = 0;
                rise(plan);
            }
        }
    }

   private:
    __device__ void rise(const Plan &plan) {
        if (plan.adapt) {
            if (repeated * 100 > MANY_REPEATED * done)
                step = max(step * SHRINKS, plan.step * LEAST_STEP);
            else if (repeated * 100 < FEW_REPEATED * done && relaxed < uint64_t(LITTLE) * since)
                step *= GROWS;
        }
        reach += step;
        bound = max(bound_at(reach), just_above(bound));
        relaxed = done = repeated = since = 0;
        record.rises++, mode = SWEEP;
    }
    // `never` from a certain reach on, which every D below it exceeds.
    static __device__ D bound_at(double reach) {
        constexpr bool whole = D(0.5) == D(0);
        constexpr double last = sizeof(D) == 4 ? (whole ? 4.2e9 : 3.4e38) : (whole ? 1.8e19 : 1.7e308);
        return reach < last ? as_distance(reach, D()) : never;
    }
};
