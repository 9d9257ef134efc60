"""cuGraph and NetworKit behind the contract: against themselves where installed, and stand-ins of their signatures."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from bfs_cases import directed, undirected
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, shortest_path

from saitan import bfs
from saitan.bfs.peers import Cugraph, Networkit, NetworkitCloseness
from saitan.problem import Unavailable


def example(make):
    """A random graph with parallel arcs, loops and vertices that are not reached; root 5 is none of them."""
    ends = np.random.default_rng(4).integers(0, 60, (70, 2)).tolist()
    return make(60, [*ends, (5, 6)])


class Array(np.ndarray):
    """A NumPy array that can be asked for its host copy, as CuPy's."""

    def get(self):
        return np.array(self)


class Device:
    synchronised = 0

    def synchronize(self):
        Device.synchronised += 1


class SGGraph:
    """Takes what pylibcugraph 26.10 takes, in its order; numbers of vertices are its own business."""

    def __init__(
        self, resource_handle, graph_properties, src_or_offset_array, dst_or_index_array, weight_array=None,
        store_transposed=False, renumber=False, do_expensive_check=False, edge_id_array=None, edge_type_array=None,
        edge_start_time_array=None, edge_end_time_array=None, input_array_format="COO", vertices_array=None,
        drop_self_loops=False, drop_multi_edges=False, symmetrize=False,
    ):  # fmt: skip
        assert input_array_format == "CSR" and renumber and not store_transposed and weight_array is None
        assert src_or_offset_array.dtype == dst_or_index_array.dtype == np.int32
        self.symmetric, n = graph_properties["is_symmetric"], len(src_or_offset_array) - 1
        ones = np.ones(len(dst_or_index_array))
        self.matrix = csr_array((ones, dst_or_index_array, src_or_offset_array), shape=(n, n))


def search(handle, graph, sources, direction_optimizing, depth_limit, compute_predecessors, do_expensive_check):
    # "direction_optimizing: ... the graph must be symmetric"
    assert graph.symmetric or not direction_optimizing
    assert compute_predecessors and depth_limit == -1 and sources.dtype == np.int32 and len(sources) == 1
    order, before = breadth_first_order(graph.matrix, int(sources[0]))
    levels = np.full(len(before), np.iinfo(np.int32).max, np.int32)
    levels[sources[0]] = 0
    for v in order[1:]:
        levels[v] = levels[before[v]] + 1
    before[before < 0] = -1
    mixed = np.random.default_rng(0).permutation(len(before)).astype(np.int32)
    return levels[mixed].view(Array), before[mixed].view(Array), mixed.view(Array)


@pytest.mark.parametrize("make", [undirected, directed])
def test_answers_are_put_in_order(monkeypatch, make):
    library = SimpleNamespace(ResourceHandle=object, GraphProperties=dict, SGGraph=SGGraph, bfs=search)
    monkeypatch.setitem(sys.modules, "pylibcugraph", library)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(asarray=np.array, cuda=SimpleNamespace(Device=Device)))
    graph = example(make)
    solver = Cugraph(graph)
    assert solver.memory == 61 * 4 + graph.m * 4
    before = Device.synchronised
    run = solver.run(5)
    assert Device.synchronised == before + 2 and 0 < run.kernel <= run.total
    solver.validate()
    assert (solver.levels == -1).any()
    assert bfs.differs(bfs.reference(graph, 5), solver.answer()) is None


@pytest.mark.gpu
@pytest.mark.parametrize("make", [undirected, directed])
def test_cugraph_is_right(make):
    pytest.importorskip("pylibcugraph", reason="pylibcugraph is not installed (pip install -e '.[cugraph]')")
    result = bfs.solve(example(make), 5, "cugraph", "cuda")
    assert bfs.differs(bfs.reference(example(make), 5), {"levels": result.levels}) is None


def test_says_how_to_install_it_where_it_is_not():
    if bfs.VARIANTS["cugraph"].missing() is None:
        pytest.skip("pylibcugraph is installed")
    with pytest.raises(Unavailable, match=r"pylibcugraph is not installed \(pip install -e '\.\[cugraph\]'\)"):
        bfs.prepare(example(undirected), "cugraph", "cuda")


class NetworkitBFS:
    """Takes and gives what networkit.distance.BFS does: the largest double where there is no path."""

    def __init__(self, graph, source, storePaths=True):
        assert storePaths is False
        self.graph, self.source = graph, source

    def run(self):
        hops = shortest_path(self.graph, unweighted=True, indices=self.source)
        self.hops = np.where(np.isfinite(hops), hops, np.finfo(np.float64).max)

    def getDistances(self):
        return self.hops.tolist()


class NetworkitsCloseness:
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


@pytest.fixture
def networkit(monkeypatch):
    def graph(coo, n, weighted, directed):
        (ones, (tails, heads)), kinds = coo, (weighted, directed)
        assert kinds == (False, True) and tails.dtype == heads.dtype == np.int64
        return csr_array((ones, (tails, heads)), shape=(n, n))

    centrality = SimpleNamespace(
        Closeness=NetworkitsCloseness, ClosenessVariant=SimpleNamespace(GENERALIZED="generalized")
    )
    library = SimpleNamespace(distance=SimpleNamespace(BFS=NetworkitBFS), GraphFromCoo=graph, centrality=centrality)
    monkeypatch.setitem(sys.modules, "networkit", library)
    monkeypatch.setitem(sys.modules, "networkit.centrality", centrality)


@pytest.mark.parametrize("make", [undirected, directed])
def test_networkits_levels_get_parents(networkit, make):
    graph = example(make)
    solver = Networkit(graph)
    run = solver.run(5)
    assert solver.memory == graph.m * 24 and 0 < run.kernel <= run.total
    solver.validate()
    assert (solver.levels == -1).any()
    assert bfs.differs(bfs.reference(graph, 5), solver.answer()) is None


@pytest.mark.parametrize("make", [undirected, directed])
def test_networkits_closeness_is_ours(networkit, make):
    graph = example(make)
    solver = NetworkitCloseness(bfs.instance({"graph": graph}, task="closeness"))
    run = solver.run(0)
    ours = bfs.prepare(bfs.instance({"graph": graph}, task="closeness"), "closeness", "cpu")
    edges = ours.run(0).counters["edges"]
    assert run.counters == {"searches": 60, "edges": edges, "teps": edges / run.kernel}
    assert solver.memory == graph.m * 24 and 0 < run.kernel <= run.total
    assert solver.validate().whole
    np.testing.assert_allclose(solver.answer()["closeness"], ours.answer()["closeness"], rtol=1e-12)


def test_more_arcs_than_scipy_takes(monkeypatch):
    """It refuses them, and then there is no reference; the validator needs none."""
    graph = example(directed)
    assert bfs.reference(graph, 5) is not None
    monkeypatch.setattr("saitan.bfs.peers.SCIPY_ARCS", graph.m - 1)
    with pytest.raises(Unavailable, match=f"graphs of up to {graph.m - 1} arcs, graph drawn has {graph.m}$"):
        bfs.solve(graph, 5, "scipy", "cpu")
    assert bfs.reference(graph, 5) is None
    assert bfs.reference(bfs.instance({"graph": graph}, task="closeness"), 0) is None
