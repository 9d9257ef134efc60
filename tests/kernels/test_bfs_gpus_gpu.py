"""`fast` over several GPUs: see gpus_ranks.py, which the ranks run; they share a GPU where there are fewer.

The ranks' kernels wait for one another, which takes too long where other processes get their turns in between.
"""

from pathlib import Path

import pytest
from mpi import needs_ranks, on_ranks

SCRIPT = Path(__file__).with_name("gpus_ranks.py")


@pytest.mark.gpu
@needs_ranks
@pytest.mark.timeout(120)
@pytest.mark.parametrize(("number", "graphs"), [(1, 11), (2, 11), (3, 3)])
def test_ranks_equal_scipy(card_alone, number, graphs):
    on_ranks(number, SCRIPT, str(graphs))
