// Where a block's output begins when every block's length is known only to itself: a single-pass scan by decoupled
// look-back (Merrill and Garland, 2016). Blocks take their numbers from a ticket in the order in which they start, so that
// all before a waiting block run or are done.
#pragma once

typedef unsigned long long u64;

// A block's word of `status`: 0 nothing yet; LENGTH | its own length; PREFIX | the length of all blocks up to it.
constexpr u64 LENGTH = 1ull << 62, PREFIX = 2ull << 62, AMOUNT = LENGTH - 1;

// The words carry all that is told, so that they need no order with other memory; who frees memory by one fences itself.
__device__ inline u64 load_word(const u64 *word) {
    u64 value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

__device__ inline void store_word(u64 *word, u64 value) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

// The number of this block, the same in all its threads, which call it once. slot: in shared memory.
__device__ inline unsigned take_ticket(unsigned *ticket, unsigned *slot) {
    if (threadIdx.x == 0) {
        *slot = atomicAdd(ticket, 1);
    }
    __syncthreads();
    return *slot;
}

// Tell blocks to come the length of block `number`: one thread of it, before any asks for what lies before it. status:
// zeros before the launch.
__device__ inline void tell(u64 *status, unsigned number, u64 length) {
    store_word(status + number, (number == 0 ? PREFIX : LENGTH) | length);
}

// Sum of the lengths before block `number`, whose own was told, to all lanes of the one warp that calls it.
__device__ inline u64 before(u64 *status, unsigned number, u64 length) {
    const unsigned lane = threadIdx.x & 31;
    u64 sum = 0;
    bool found = false;
    for (long long nearest = (long long)number - 1; nearest >= 0 && !found; nearest -= 32) {
        const long long other = nearest - lane;
        u64 word = PREFIX;
        int last;
        // What is farther than the nearest prefix need not be there yet.
        for (bool missing = other >= 0;;) {
            if (missing) {
                word = load_word(status + other);
                missing = word == 0;
            }
            const unsigned prefixes = __ballot_sync(~0u, word >= PREFIX);
            found = prefixes;
            last = prefixes ? __ffs(prefixes) - 1 : 31;
            if (!__any_sync(~0u, missing && int(lane) <= last)) {
                break;
            }
        }
        sum += int(lane) <= last ? word & AMOUNT : 0;
    }
    for (int step = 16; step; step >>= 1) {
        sum += __shfl_xor_sync(~0u, sum, step);
    }
    if (lane == 0 && number) {
        store_word(status + number, PREFIX | (sum + length));
    }
    return sum;
}
