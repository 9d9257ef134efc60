// Rows of a frontier in pieces of at most PIECE arcs, so that a hub's row is shared by all warps of a grid.
#pragma once
#include <cstdint>

static constexpr uint32_t EVERY = 0xFFFFFFFFu, PIECE = 128, FEW = 4;

// Where a warp stands in the grid: neighbouring numbers are of different blocks.
struct Place {
    uint32_t lane, warp, warps;
};

// At most PIECE arcs of a row, by the offset of the first.
struct alignas(16) Piece {
    uint32_t tail, count;
    unsigned long long first;
};

template <typename O>
static __device__ Piece piece_of(uint32_t tail, O row, O degree, uint32_t number) {
    O before = O(number) * PIECE;
    return {tail, uint32_t(min(degree - before, O(PIECE))), row + before};
}

// Append the pieces of a row a lane; degree 0 where a lane has none. All lanes of a warp call it.
template <typename O>
static __device__ void append_pieces(uint32_t lane, uint32_t v, O row, O degree, Piece *pieces, uint32_t *count) {
    uint32_t mine = uint32_t((degree + PIECE - 1) / PIECE), upto = mine;
    for (int step = 1; step < 32; step *= 2) {
        uint32_t below = __shfl_up_sync(EVERY, upto, step);
        if (lane >= step) upto += below;
    }
    uint32_t place = lane == 31 ? atomicAdd(count, upto) : 0;
    place = __shfl_sync(EVERY, place, 31) + upto - mine;
    if (mine <= FEW)
        for (uint32_t i = 0; i < mine; i++) pieces[place + i] = piece_of(v, row, degree, i);
    for (uint32_t many = __ballot_sync(EVERY, mine > FEW); many; many &= many - 1) {
        int whose = __ffs(many) - 1;
        uint32_t theirs = __shfl_sync(EVERY, mine, whose), first = __shfl_sync(EVERY, place, whose);
        uint32_t tail = __shfl_sync(EVERY, v, whose);
        O start = __shfl_sync(EVERY, row, whose), length = __shfl_sync(EVERY, degree, whose);
        for (uint32_t i = lane; i < theirs; i += 32) pieces[first + i] = piece_of(tail, start, length, i);
    }
}
