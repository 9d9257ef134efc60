"""The graph as `fast` takes it on the GPU: every arc that matters, the lightest of parallel ones, rows by weight."""

import numpy as np
import pytest

from saitan.graph import Graph
from saitan.sssp.layout import levels
from saitan.sssp.simplify import INSERTED, simplified


@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
@pytest.mark.parametrize("degree", [0, 1, 3, 3 * INSERTED])
def test_lightest_of_parallel_arcs_by_weight(dtype, degree):
    random = np.random.default_rng(7)
    for n in (1, 2, 7, 300):
        arcs = n * degree
        weights = random.integers(0, random.choice([1, 3, 1000, 2**32]), arcs, np.uint64).astype(dtype)
        graph = Graph.from_arcs(n, *random.integers(0, n, (2, arcs)), weights, metadata={"name": "drawn"})
        simple = simplified(graph)
        least = {}
        for ends, weight in zip(zip(graph.sources, graph.targets, strict=True), graph.weights.tolist(), strict=True):
            if ends[0] != ends[1]:
                least[ends] = min(least.get(ends, weight), weight)
        ends = zip(simple.sources, simple.targets, strict=True)
        assert dict(zip(ends, simple.weights.tolist(), strict=True)) == least and simple.m == len(least)
        rows = np.diff(simple.sources.astype(np.int64)) == 0
        assert (simple.weights[1:] >= simple.weights[:-1])[rows].all()
        assert simple.name == "drawn" and simple.weights.dtype == dtype


def test_levels_of_a_path_and_a_star():
    ends = np.arange(9)
    assert levels(Graph.from_arcs(10, ends, ends + 1, np.ones(9, np.uint32))) == 10
    assert levels(Graph.from_arcs(10, np.zeros(9, int), ends + 1, np.ones(9, np.uint32))) == 2
    assert levels(Graph.from_arcs(3, [], [], np.ones(0, np.uint32))) == 1
