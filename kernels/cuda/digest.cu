// The digest of saitan.blocks on the device: the sum of a hash of every entry with its place, modulo 2^64.
#include <cstdint>

// The finaliser of splitmix64.
static __device__ uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}

// Adds the hashes of `count` entries to *sum; T holds an entry's bits, `place` is the first one's number.
template <typename T>
static __device__ void digest(const T *entries, uint64_t count, uint64_t place, unsigned long long *sum) {
    uint64_t total = 0, step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t i = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; i < count; i += step)
        total += mix(entries[i] + (place + i) * 0x9E3779B97F4A7C15ull);
    for (int other = 16; other; other /= 2) total += __shfl_xor_sync(0xFFFFFFFFu, total, other);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, (unsigned long long)total);
}

#define KERNEL(BYTES, T)                                                                                    \
    extern "C" __global__ void digest_##BYTES(const T *entries, uint64_t count, uint64_t place,             \
                                              unsigned long long *sum) {                                    \
        digest(entries, count, place, sum);                                                                 \
    }

KERNEL(1, uint8_t)
KERNEL(2, uint16_t)
KERNEL(4, uint32_t)
KERNEL(8, uint64_t)
