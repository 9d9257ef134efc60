// What many.cu leaves: which searches reached a vertex, and the bits of their levels.
#pragma once
#include "sets.cuh"

static constexpr int THREADS = 256;

// The sets that a search leaves, `width` words each: visited [k], planes [.., k]; levels: of all searches, where it lies.
struct Found {
    uint32_t k, width, count;
    const uint32_t *visited, *planes, *levels;

    // Planes that some level needs.
    __device__ int used() const { return 32 - __clz(*levels - 1); }
    __device__ uint32_t plane(int i, uint32_t v, uint32_t word) const {
        return planes[(size_t(i) * k + v) * width + word];
    }
};

#define FOUND uint32_t k, uint32_t width, uint32_t count, const uint32_t *visited, const uint32_t *planes, const uint32_t *deepest
#define GIVEN {k, width, count, visited, planes, deepest}
