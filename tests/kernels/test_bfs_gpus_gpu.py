"""`fast` over several GPUs: see gpus_ranks.py, which the ranks run; they share a GPU where there are fewer.

The ranks' kernels wait for one another, which takes too long where other processes get their turns in between.
"""

from pathlib import Path

import pytest
from mpi import needs_nccl, needs_ranks, on_ranks, two_gpus

SCRIPT = Path(__file__).with_name("gpus_ranks.py")


@pytest.mark.gpu
@needs_ranks
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("number", "graphs", "exchange"),
    [(1, 11, "auto"), (2, 11, "peer"), (3, 3, "auto"), (2, 11, "host"), (3, 3, "host")],
)
def test_ranks_equal_scipy(card_alone, number, graphs, exchange):
    on_ranks(number, SCRIPT, str(graphs), exchange)


@pytest.mark.gpu
@needs_ranks
@needs_nccl
@pytest.mark.timeout(120)
def test_nccl_equals_scipy(card_alone):
    two_gpus()
    on_ranks(2, SCRIPT, "11", "nccl")
