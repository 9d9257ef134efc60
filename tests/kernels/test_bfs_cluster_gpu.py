"""Paper H's cluster variant on GPU ranks: as test_bfs_cluster.py; ranks share a GPU where there are fewer."""

import json

import pytest
from mpi import needs_ranks, on_ranks
from test_bfs_cluster import SCRIPT

pytestmark = [pytest.mark.gpu, needs_ranks, pytest.mark.timeout(120)]


@pytest.mark.parametrize("exchange", ["host", "overlapped", "peer"])
@pytest.mark.parametrize(("number", "graphs"), [(2, 8), (8, 2)])
def test_ranks_equal_one_process(number, graphs, exchange):
    on_ranks(number, SCRIPT, str(graphs), "cuda", json.dumps({"exchange": exchange}))


@pytest.mark.parametrize(("number", "parameters"), [(1, {}), (2, {"exchange": "host", "compress": True})])
def test_alone_and_with_coded_frontiers(number, parameters):
    on_ranks(number, SCRIPT, "8", "cuda", json.dumps(parameters))
