#pragma once
#include "block.cuh"

// What the kernels of a level count; mirrored in cuda_step.py.
struct Record {
    Count arcs;       // written by `expand`
    Count listed;     // vertices in the array of the frontier
    Count found;      // vertices of the next frontier
    Count leaving;    // arcs that leave those
    Count inspected;  // arcs looked at bottom-up
};
