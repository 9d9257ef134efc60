"""All pairs by slabs on several ranks: see apsp_ranks.py, which they run."""

from pathlib import Path

import pytest
from mpi import needs_ranks, on_ranks


@needs_ranks
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("number", "backend"), [(1, "cpu"), (2, "cpu"), (4, "cpu"), pytest.param(2, "cuda", marks=pytest.mark.gpu)]
)
def test_slabs_of_all_ranks_are_the_matrix(number, backend):
    on_ranks(number, Path(__file__).with_name("apsp_ranks.py"), backend)
