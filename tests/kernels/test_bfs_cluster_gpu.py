"""Paper H's cluster variant on GPU ranks: as test_bfs_cluster.py; ranks share a GPU where there are fewer."""

import json

import pytest
from mpi import needs_nccl, needs_ranks, on_ranks, two_gpus
from test_bfs_cluster import SCRIPT

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
    on_ranks(number, SCRIPT, str(graphs), "cuda", json.dumps({"exchange": exchange, "compress": compress}), "cluster")


@pytest.mark.parametrize(
    ("number", "graphs", "ratio", "compress"),
    [(1, 3, "1:3", False), (2, 8, "1:3", False), (2, 3, "measured", True), (2, 2, "0:1", False), (8, 1, "1:1", False)],
)
def test_ranks_that_share_blocks_with_their_gpus_equal_one_process(number, graphs, ratio, compress):
    parameters = json.dumps({"ratio": ratio, "compress": compress})
    on_ranks(number, SCRIPT, str(graphs), "cuda", parameters, "cluster-cpu-gpu")


@needs_nccl
def test_nccl_equals_one_process():
    two_gpus()
    on_ranks(2, SCRIPT, "8", "cuda", '{"exchange": "nccl"}', "cluster")
