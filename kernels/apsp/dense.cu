// From a closed matrix of int32 to distances of uint32: what is infinite there is unreached here.
#include <cstdint>

// largest: set to the largest finite entry, if it is larger than what stands there.
extern "C" __global__ void distances(long long count, uint32_t *entries, uint32_t infinite, uint32_t *largest) {
    uint32_t most = 0;
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += step) {
        const uint32_t entry = entries[i];
        if (entry == infinite)
            entries[i] = 0xFFFFFFFFu;
        else
            most = entry > most ? entry : most;
    }
    for (int by = 16; by; by /= 2) most = max(most, __shfl_down_sync(0xFFFFFFFFu, most, by));
    if (threadIdx.x % 32 == 0) atomicMax(largest, most);
}
