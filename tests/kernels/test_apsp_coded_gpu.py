"""Slabs coded on the GPU: the same file as on the CPU, word for word; needs a CUDA device."""

import numpy as np
import pytest
from apsp_sweeps import grid
from test_apsp import random_graph
from test_apsp_coded import written
from test_phast import both_ways

from saitan import apsp
from saitan.apsp import coding
from saitan.graph import Graph
from saitan.problem import Invalid

pytest.importorskip("pycuda.driver", exc_type=ImportError)
from saitan.apsp import cuda_packing
from saitan.apsp.cuda_fast import NearFar

pytestmark = pytest.mark.gpu

WIDE = np.full(8, 2**32 - 2, np.uint32)
GRAPHS = {
    "grid": lambda: grid(31, 27),
    "near": lambda: grid(40, 30, 1, 3),
    "random": lambda: random_graph(300, 500, 0, 2**20, np.uint32, 5),
    "floats": lambda: random_graph(300, 900, 0, 50, np.float32, 5),
    "wide": lambda: both_ways(9, np.arange(8), np.arange(1, 9), WIDE),
    "alone": lambda: Graph.from_arcs(70, [3], [4], np.array([7], np.uint32)),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize(("group", "width"), [(64, 100), (16, 7), (1024, 8192)])
def test_the_same_file_as_on_the_cpu(monkeypatch, tmp_path, name, group, width):
    # Slabs of one group, and the last one shorter.
    monkeypatch.setattr("saitan.apsp.streaming.DEVICE_SLAB", 1)
    graph = GRAPHS[name]()
    written(graph, tmp_path / "cpu", group, width)
    coding.write_coded(graph, tmp_path / "gpu", NearFar, "fast", "cuda", True, group, width)
    assert (tmp_path / "gpu").read_bytes() == (tmp_path / "cpu").read_bytes()
    monkeypatch.undo()
    coding.write_coded(graph, tmp_path / "gpu", NearFar, "fast", "cuda", True, group, width)
    assert (tmp_path / "gpu").read_bytes() == (tmp_path / "cpu").read_bytes()


def test_what_the_coder_spoils_is_found(monkeypatch, tmp_path):
    code = cuda_packing.DeviceCoder.code

    def spoils(self, slab, first):
        found = code(self, slab, first)
        slab[1][2:3].fill(12345)
        return found

    monkeypatch.setattr(cuda_packing.DeviceCoder, "code", spoils)
    with pytest.raises(Invalid, match="not the distances when decoded"):
        coding.write_coded(grid(20, 20), tmp_path / "m", NearFar, "fast", "cuda", True)
    assert list(tmp_path.iterdir()) == []


def test_compress_and_open(tmp_path):
    graph = grid(50, 40)
    told = apsp.compress(graph, tmp_path / "m", "sweep", "cuda")
    assert told["bytes"] == (tmp_path / "m").stat().st_size and told["coding_s"] > 0
    with apsp.open(tmp_path / "m") as m:
        assert np.array_equal(m[:], apsp.solve(graph, None, "sweep", "cuda"))
