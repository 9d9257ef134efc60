"""All pairs in slabs and as reductions on the GPU, and the ring that takes slabs to the host; needs a CUDA device."""

import numpy as np
import pytest
from apsp_sweeps import grid
from test_apsp import random_graph
from test_apsp_slabs import VARIANTS, prepared, short_slabs  # noqa: F401

pytest.importorskip("pycuda.driver", exc_type=ImportError)
from pycuda import gpuarray

from saitan import apsp
from saitan.blocks import Digest, Rows
from saitan.problem import Block, Invalid, Unavailable

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
def test_slabs_and_reductions_are_the_cpus(variant, dtype):
    if variant == "sweep" and dtype == np.float32:
        pytest.skip("integers only")
    graph = random_graph(300, 900, 0, 50, dtype, 2)
    expected = Digest()
    expected(Block("distances", 0, apsp.solve(graph, None, "iterated", "cpu")))
    solver = prepared(graph, "slabs", variant, backend="cuda")
    assert solver.rows == 7
    digest, check = Digest(), solver.checker([0, 300])
    solver.run([0, 300], digest)
    assert digest == expected
    solver.run([0, 300], check)
    assert check.finish().whole

    # What is handed out counts, not what the solver holds.
    def spoils(block):
        spoilt = block.array.get()
        spoilt[len(spoilt) - 1, 5] += 1
        check(block._replace(array=gpuarray.to_gpu(spoilt)))

    check = solver.checker([3, 290])
    with pytest.raises(Invalid, match="from source 9, vertex 5 "):
        solver.run([3, 290], spoils)
    solver.close()
    solver = prepared(graph, "reductions", variant, backend="cuda")
    solver.run([0, 300])
    solver.validate()
    twin = apsp.reductions(graph, backend="cpu")
    for name, values in solver.answer().items():
        if dtype == np.uint32 or name in ("reached", "eccentricity"):
            assert np.array_equal(values, twin[name])
        else:
            np.testing.assert_allclose(values, twin[name], rtol=1e-6)
    solver.close()


def test_all_threads_of_a_block_have_their_part_of_a_reduction():
    graph = random_graph(1300, 2600, 0, 50, np.uint32, 2)
    twin = apsp.reductions(graph, range(40), backend="cpu")
    for name, values in apsp.reductions(graph, range(40), backend="cuda").items():
        assert np.array_equal(values, twin[name])


@pytest.mark.parametrize("buffer", [1, 1300, 1 << 20])
def test_the_ring_hands_on_rows_in_order(monkeypatch, buffer):
    monkeypatch.setattr("saitan.cuda.ring.BUFFER", buffer)
    graph = grid(20, 15)
    rows, seen = Rows(), []

    def sink(block):
        seen.append(block.first)
        rows(block)

    apsp.slabs(graph, sink, range(5, 300), "sweep", "cuda")
    assert seen == sorted(seen) and len(seen) >= 43
    assert np.array_equal(rows.answer()["distances"], apsp.solve(graph, range(5, 300), "sweep", "cpu"))


def test_what_a_sink_raises_is_raised():
    def sink(block):
        if block.first > 100:
            raise RuntimeError("no more room")

    with pytest.raises(RuntimeError, match="no more room"):
        apsp.slabs(grid(20, 15), sink, backend="cuda")


def test_a_matrix_that_does_not_fit_says_what_would(monkeypatch):
    monkeypatch.setattr("pycuda.driver.mem_get_info", lambda: (2**24, 2**30))
    with pytest.raises(Unavailable, match=r"GiB of GPU memory.*sources fit; `answer: slabs`"):
        prepared(grid(100, 100), "matrix", "batched", backend="cuda")
