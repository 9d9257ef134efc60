"""All pairs by slabs on several ranks: see apsp_ranks.py, which they run."""

from pathlib import Path

import pytest
from mpi import needs_ranks, on_ranks


@needs_ranks
@pytest.mark.timeout(120)
@pytest.mark.parametrize("number", [1, 2, 4])
def test_slabs_of_all_ranks_are_the_matrix(number):
    on_ranks(number, Path(__file__).with_name("apsp_ranks.py"))
