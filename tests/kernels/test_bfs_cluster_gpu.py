"""Paper H's cluster variant on GPU ranks: as test_bfs_cluster.py; ranks share a GPU where there are fewer."""

import importlib.util
import json

import pytest
from mpi import needs_ranks, on_ranks
from test_bfs_cluster import SCRIPT

from saitan import cuda

pytestmark = [pytest.mark.gpu, needs_ranks, pytest.mark.timeout(120)]


@pytest.mark.parametrize(
    ("number", "graphs", "exchange", "compress"),
    [
        (1, 8, "auto", False),
        (2, 8, "peer", False),
        (2, 4, "host", True),
        (2, 4, "overlapped", False),
        (8, 1, "peer", False),
        (8, 1, "host", False),
    ],
)
def test_ranks_equal_one_process(number, graphs, exchange, compress):
    on_ranks(number, SCRIPT, str(graphs), "cuda", json.dumps({"exchange": exchange, "compress": compress}))


@pytest.mark.skipif(not importlib.util.find_spec("nccl"), reason="nccl4py is not installed (pip install -e '.[nccl]')")
def test_nccl_equals_one_process():
    import pycuda.driver as driver

    cuda.device()
    if driver.Device.count() < 2:
        pytest.skip("NCCL needs two GPUs")
    on_ranks(2, SCRIPT, "8", "cuda", '{"exchange": "nccl"}')
