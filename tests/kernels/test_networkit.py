"""NetworKit behind the contract: stand-ins that take and give what its classes do, since few machines have it."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from bfs_cases import directed, example, undirected
from scipy.sparse.csgraph import csgraph_from_dense, shortest_path

from saitan import apsp, bfs, sssp
from saitan.apsp.peers import Networkit as ApspNetworkit
from saitan.bfs.peers import Networkit, NetworkitCloseness
from saitan.graph import Graph
from saitan.sssp.peers import Networkit as SsspNetworkit

UNREACHED = np.finfo(np.float64).max


def weighted(dtype):
    """The same with weights, some of them 0."""
    graph = example(directed)
    return Graph(graph.offsets, graph.targets, np.random.default_rng(5).integers(0, 9, graph.m).astype(dtype))


def graph_of(coo, n, weighted, directed):
    weights, (tails, heads) = coo
    # It reads past the end of narrower numbers.
    assert tails.dtype == heads.dtype == np.int64 and weights.dtype == np.float64 and directed
    dense = np.full((n, n), np.inf)
    np.minimum.at(dense, (tails, heads), weights if weighted else 1.0)
    return csgraph_from_dense(dense, null_value=np.inf)


def marked(distances):
    return np.where(np.isfinite(distances), distances, UNREACHED)


class Search:
    """As networkit.distance.BFS and Dijkstra: the largest double where there is no path."""

    unweighted = False

    def __init__(self, graph, source, storePaths=True):
        assert storePaths is False
        self.graph, self.source = graph, source

    def run(self):
        self.found = marked(shortest_path(self.graph, unweighted=self.unweighted, indices=self.source))

    def getDistances(self):
        return self.found.tolist()


class BFS(Search):
    unweighted = True


class SPSP:
    """As networkit.distance.SPSP: a row a source."""

    def __init__(self, graph, sources):
        self.graph, self.sources = graph, sources

    def run(self):
        self.found = marked(shortest_path(self.graph, indices=self.sources))

    def getDistances(self, asarray):
        assert asarray
        return self.found


class Closeness:
    """As networkit.centrality.Closeness; of the generalised ones, that of a vertex which reaches no other is 0 / 0."""

    def __init__(self, graph, normalized, variant):
        assert variant == "generalized"
        self.graph, self.normalized = graph, normalized

    def run(self):
        hops = shortest_path(self.graph, unweighted=True)
        others = np.isfinite(hops).sum(axis=1) - 1
        with np.errstate(invalid="ignore"):
            mean = others / np.where(np.isfinite(hops), hops, 0).sum(axis=1)
        self.values = mean * others / (len(hops) - 1) if self.normalized else mean

    def scores(self):
        return self.values.tolist()


@pytest.fixture(autouse=True)
def networkit(monkeypatch):
    centrality = SimpleNamespace(Closeness=Closeness, ClosenessVariant=SimpleNamespace(GENERALIZED="generalized"))
    distance = SimpleNamespace(BFS=BFS, Dijkstra=Search, SPSP=SPSP)
    library = SimpleNamespace(distance=distance, GraphFromCoo=graph_of, centrality=centrality)
    monkeypatch.setitem(sys.modules, "networkit", library)
    monkeypatch.setitem(sys.modules, "networkit.centrality", centrality)


@pytest.mark.parametrize("make", [undirected, directed])
def test_levels_get_parents(make):
    graph = example(make)
    solver = Networkit(graph)
    run = solver.run(5)
    assert solver.memory == graph.m * 24 and 0 < run.kernel <= run.total
    solver.validate()
    assert (solver.levels == -1).any()
    assert bfs.differs(bfs.reference(graph, 5), solver.answer()) is None


@pytest.mark.parametrize("make", [undirected, directed])
def test_closeness_is_ours(make):
    graph = example(make)
    solver = NetworkitCloseness(bfs.instance({"graph": graph}, task="closeness"))
    run = solver.run(0)
    ours = bfs.prepare(bfs.instance({"graph": graph}, task="closeness"), "closeness", "cpu")
    edges = ours.run(0).counters["edges"]
    assert run.counters == {"roots": 60, "edges": edges, "teps": edges / run.kernel}
    assert solver.memory == graph.m * 24 and 0 < run.kernel <= run.total
    assert solver.validate().whole
    np.testing.assert_allclose(solver.answer()["closeness"], ours.answer()["closeness"], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
def test_distances_from_a_source_are_ours(dtype):
    graph = weighted(dtype)
    solver = SsspNetworkit(graph)
    run = solver.run(5)
    assert solver.memory == graph.m * 24 and 0 < run.kernel <= run.total
    solver.validate()
    ours = sssp.solve(graph, 5, backend="cpu").distances
    found = solver.answer()["distances"]
    assert found.dtype == ours.dtype and np.array_equal(found, ours) and (found == sssp.unreachable(dtype)).any()


@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
def test_distances_from_a_range_of_sources_are_ours(dtype):
    graph = weighted(dtype)
    instance = apsp.instance({"graph": graph}, sources=7)
    solver = ApspNetworkit(instance)
    run = solver.run([5, 7])
    assert solver.memory == graph.m * 24 + 8 * 7 * 60 and 0 < run.kernel <= run.total
    solver.validate()
    ours = apsp.prepare(instance, "fast", "cpu")
    ours.run([5, 7])
    found, right = (one.answer()["distances"] for one in (solver, ours))
    assert found.dtype == right.dtype and np.array_equal(found, right) and found.shape == (7, 60)
