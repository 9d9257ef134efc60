"""Every device array that a call asks for may be refused: the call says so, and the next one answers."""

import numpy as np
import pytest

from saitan import apsp, bfs, compression, sssp, tropical
from saitan.cuda import device, unusable
from saitan.generators import GENERATORS
from saitan.problem import Unavailable

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(unusable() is not None, reason=str(unusable()))]

GRAPH = GENERATORS["random"](vertices=500, arcs=3000, weight_low=0, weight_high=9, seed=1)
ROOT = int(np.flatnonzero(np.diff(GRAPH.offsets))[0])
MATRIX = np.random.default_rng(1).random((100, 100), np.float32)
STREAM = compression.compress(MATRIX)


def on_device(array):
    from pycuda.gpuarray import to_gpu

    device()
    return to_gpu(array)


CALLS = {
    "sssp": lambda: sssp.solve(GRAPH, 0, backend="cuda", predecessors=True).distances,
    "sssp-adaptive": lambda: sssp.solve(GRAPH, 0, "adaptive", "cuda").distances,
    "bfs": lambda: bfs.solve(GRAPH, ROOT, backend="cuda").levels,
    "bfs-hybrid": lambda: bfs.solve(GRAPH, ROOT, "hybrid", "cuda").levels,
    "bfs-many": lambda: bfs.solve_many(GRAPH, [ROOT], "cuda", parents=True).levels,
    "closeness": lambda: bfs.closeness(GRAPH, backend="cuda"),
    "apsp": lambda: apsp.solve(GRAPH, backend="cuda"),
    "apsp-batched": lambda: apsp.solve(GRAPH, range(40), "batched", "cuda"),
    "reductions": lambda: apsp.reductions(GRAPH, backend="cuda")["total"],
    "matmul": lambda: tropical.matmul(MATRIX, MATRIX, backend="cuda"),
    "closure": lambda: tropical.closure(MATRIX, backend="cuda"),
    "floyd-warshall": lambda: tropical.floyd_warshall(MATRIX, backend="cuda"),
    "tiled": lambda: tropical.solve(MATRIX, MATRIX, variant="tiled", backend="cuda"),
    "round-trip": lambda: compression.solve(MATRIX, backend="cuda").values,
    "c1": lambda: compression.solve(MATRIX.astype(np.float64), "c1", "cuda").values,
}
# Of arrays that lie on the device already, which the test itself brings there.
OF_ARRAYS = {
    "matmul": (MATRIX, lambda a: tropical.matmul(a, a).get()),
    "compress": (MATRIX, lambda a: compression.compress(a).get()),
    "decompress": (STREAM, lambda s: compression.decompress(s).get()),
}


def refused_in_turn(monkeypatch, call):
    """Refuses the first array that a call asks for, then the second alone, and so on until it asks for no more."""
    import pycuda.driver as driver
    from pycuda.gpuarray import GPUArray

    expected, make = call(), GPUArray.__init__
    for refused in range(500):
        asked = 0

        def made(self, *arguments, gpudata=None, refused=refused, **options):
            nonlocal asked
            if gpudata is None:
                asked += 1
                if asked == refused + 1:
                    raise driver.MemoryError("cuMemAlloc failed: out of memory")
            make(self, *arguments, gpudata=gpudata, **options)

        with monkeypatch.context() as patched:
            patched.setattr(GPUArray, "__init__", made)
            try:
                answer = call()
            except Unavailable as error:
                assert "memory" in str(error)
                answer = expected
        np.testing.assert_array_equal(answer, expected)
        if asked <= refused:
            break
    assert 0 < refused < 499
    np.testing.assert_array_equal(call(), expected)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_gets_no_memory_says_so(monkeypatch, name):
    refused_in_turn(monkeypatch, CALLS[name])


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_a_call_on_device_arrays_that_gets_no_memory_says_so(monkeypatch, name):
    host, call = OF_ARRAYS[name]
    array = on_device(host)
    refused_in_turn(monkeypatch, lambda: call(array))
