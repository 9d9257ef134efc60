// How many values a chunk has.
#pragma once

// Of `count` values cut in chunks of CHUNK; not above 0 beyond the last.
template <int CHUNK> __device__ inline int chunk_length(long long count, long long chunk) {
    const long long rest = count - chunk * CHUNK;
    return rest < CHUNK ? int(rest) : CHUNK;
}
