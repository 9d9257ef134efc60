"""What the sweeps of both backends are asked, against SciPy."""

import numpy as np
from test_apsp import assert_equals_scipy
from test_phast import both_ways

from saitan import apsp
from saitan.generators import GENERATORS
from saitan.graph import Graph


def grid(width, height, low=1, high=1000, seed=1):
    return GENERATORS["grid"](width=width, height=height, weight_low=low, weight_high=high, seed=seed)


def swept(backend, graph, first=0, count=0, core=4):
    """The counters of a sweep whose distances are right."""
    solver = apsp.prepare(apsp.instance({"graph": graph}, sources=count), "sweep", backend, core=core)
    try:
        return asked(solver, first, count or graph.n)
    finally:
        solver.close()


def asked(solver, first, count):
    solver.matrix.fill(77)
    run = solver.run([first, count])
    assert solver.validate().whole
    assert_equals_scipy(solver.graph, range(first, first + count), solver.answer()["distances"])
    return run.counters


def one_way_streets_and_parts_that_are_not_connected(backend):
    half = grid(20, 20)
    kept = np.random.default_rng(1).random(half.m) < 0.8
    sources, targets, weights = half.sources[kept], half.targets[kept], half.weights[kept]
    graph = Graph.from_arcs(
        900,
        np.r_[sources, sources + 400, sources],
        np.r_[targets, targets + 400, targets],
        np.r_[weights, weights, weights + 1],
    )
    for core in (1, 64):
        swept(backend, graph, core=core)


def sums_that_need_64_bits_inside_or_in_the_answer(backend):
    for make in (both_ways, Graph.from_arcs):
        for core in (1, 9):
            # The last of 32 bits stands for unreached.
            for arc, last, bits in (
                *((2**28, 2**28, 32), (2**29 - 1, 2**29 - 1, 32), (2**32 - 2, 2**32 - 2, 64), (2**31, 2**31, 64)),
                *((2**29, 2**29 - 2, 32), (2**29, 2**29 - 1, 64)),
            ):
                weights = np.array([arc] * 7 + [last], np.uint32)
                graph = make(9, np.arange(8), np.arange(1, 9), weights)
                assert swept(backend, graph, core=core)["distance_bits"] == bits
