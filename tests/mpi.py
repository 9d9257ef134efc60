"""What tests on several ranks share: the launcher, or the reason why there is none."""

import os
import shutil

import pytest

# Ranks that wait give their core away.
LAUNCHER = "mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1" + (
    " --allow-run-as-root" if os.geteuid() == 0 else ""
)


def lacking():
    """Why no ranks can be started here; None where they can."""
    if shutil.which("mpirun") is None:
        return "mpirun is not installed (Debian: openmpi-bin)"
    try:
        import mpi4py  # noqa: F401
    except ImportError:
        return "mpi4py is not installed (pip install -e '.[mpi]')"
    return None


needs_ranks = pytest.mark.skipif(lacking() is not None, reason=str(lacking()))
