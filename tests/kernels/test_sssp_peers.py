"""cuGraph behind the contract: against itself where it is installed, otherwise against a stand-in of its signatures."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from saitan import sssp
from saitan.graph import Graph
from saitan.problem import Unavailable
from saitan.sssp.peers import Cugraph, in_type_of


def example(dtype):
    """A random graph with parallel arcs and vertices that are not reached."""
    random = np.random.default_rng(4)
    n, m = 60, 90
    # Beyond 2^24 a float32 no longer holds every integer: there uint32 would show it, float32 stays below.
    weights = random.integers(1, 2**25 if dtype == np.uint32 else 2**10, m).astype(dtype)
    return Graph.from_arcs(n, random.integers(0, n, m), random.integers(0, n, m), weights)


@pytest.mark.parametrize(
    ("weights", "distances", "dtype", "wanted"),
    [
        (np.uint32, [0, 2**32 - 2, np.inf], np.uint32, [0, 2**32 - 2, 2**32 - 1]),
        (np.uint32, [0, 2**32 - 1, np.inf], np.uint64, [0, 2**32 - 1, 2**64 - 1]),
        (np.uint32, [np.inf, 2**53 - 1, 0], np.uint64, [2**64 - 1, 2**53 - 1, 0]),
        (np.uint32, [np.inf], np.uint32, [2**32 - 1]),
        (np.float32, [0, 0.1, np.inf], np.float32, [0, np.float32(0.1), np.inf]),
        (np.float32, [0, float(np.finfo(np.float32).max), np.inf], np.float32, [0, np.finfo(np.float32).max, np.inf]),
        (np.float32, [0, 3.5e38, np.inf], np.float64, [0, 3.5e38, np.inf]),
    ],
)
def test_answers_leave_in_the_weights_type(weights, distances, dtype, wanted):
    found = in_type_of(np.dtype(weights), np.array(distances, np.float64))
    assert found.dtype == dtype and found.tolist() == wanted


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
        assert input_array_format == "CSR" and renumber and not store_transposed and graph_properties["is_multigraph"]
        assert src_or_offset_array.dtype == dst_or_index_array.dtype
        assert weight_array.dtype in (np.float32, np.float64)
        n = len(src_or_offset_array) - 1
        self.matrix = csr_array((weight_array, dst_or_index_array, src_or_offset_array), shape=(n, n))


def shortest_paths(resource_handle, graph, source, cutoff, compute_predecessors, do_expensive_check):
    assert compute_predecessors and cutoff == np.inf
    weights = graph.matrix.dtype
    distances, before = dijkstra(graph.matrix, indices=source, return_predecessors=True)
    distances[np.isinf(distances)] = np.finfo(weights).max
    order = np.random.default_rng(0).permutation(len(distances)).astype(np.int32)
    return order.view(Array), distances[order].astype(weights).view(Array), before[order].view(Array)


@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
def test_answers_are_put_in_order_and_unreached_is_infinite(monkeypatch, dtype):
    library = SimpleNamespace(ResourceHandle=object, GraphProperties=dict, SGGraph=SGGraph, sssp=shortest_paths)
    monkeypatch.setitem(sys.modules, "pylibcugraph", library)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(asarray=np.array, cuda=SimpleNamespace(Device=Device)))
    graph = example(dtype)
    solver = Cugraph(graph)
    assert solver.memory == graph.offsets.nbytes // 2 + graph.targets.nbytes + graph.m * (
        8 if dtype == np.uint32 else 4
    )
    before = Device.synchronised
    run = solver.run(5)
    assert Device.synchronised == before + 2 and 0 < run.kernel <= run.total
    solver.validate()
    found = solver.answer()["distances"]
    assert found.dtype == dtype and (found == sssp.unreachable(dtype)).any()
    assert sssp.differs(sssp.reference(graph, 5), solver.answer()) is None


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
def test_cugraph_is_right(dtype):
    pytest.importorskip("pylibcugraph", reason="pylibcugraph is not installed (pip install -e '.[cugraph]')")
    result = sssp.solve(example(dtype), 5, "cugraph", "cuda")
    assert sssp.differs(sssp.reference(example(dtype), 5), {"distances": result.distances}) is None


def test_says_how_to_install_it_where_it_is_not():
    if sssp.VARIANTS["cugraph"].missing() is None:
        pytest.skip("pylibcugraph is installed")
    with pytest.raises(Unavailable, match=r"pylibcugraph is not installed \(pip install -e '\.\[cugraph\]'\)"):
        sssp.prepare(example(np.uint32), "cugraph", "cuda")
