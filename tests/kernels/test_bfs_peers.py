"""cuGraph behind the contract: against itself where it is installed, and a stand-in of its signatures."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from bfs_cases import directed, example, undirected
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from saitan import bfs
from saitan.bfs.peers import Cugraph
from saitan.problem import Unavailable


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


def test_more_arcs_than_scipy_takes(monkeypatch):
    """It refuses them, and then there is no reference; the validator needs none."""
    graph = example(directed)
    assert bfs.reference(graph, 5) is not None
    monkeypatch.setattr("saitan.bfs.peers.SCIPY_ARCS", graph.m - 1)
    with pytest.raises(Unavailable, match=f"graphs of up to {graph.m - 1} arcs, graph drawn has {graph.m}$"):
        bfs.solve(graph, 5, "scipy", "cpu")
    assert bfs.reference(graph, 5) is None
    assert bfs.reference(bfs.instance({"graph": graph}, task="closeness"), 0) is None
