"""What tests on several ranks share: the launcher, or the reason why there is none."""

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys

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


needs_nccl = pytest.mark.skipif(
    not importlib.util.find_spec("nccl"), reason="nccl4py is not installed (pip install -e '.[nccl]')"
)
needs_ranks = pytest.mark.skipif(lacking() is not None, reason=str(lacking()))


def two_gpus():
    """Skip where there are fewer."""
    from pycuda.driver import Device

    from saitan import cuda

    cuda.device()
    if Device.count() < 2:
        pytest.skip("NCCL needs two GPUs")


def on_ranks(number, script, *arguments):
    """Run a script of these tests on several ranks of one core; each prints "right" at its end."""
    command = [*shlex.split(LAUNCHER), "-n", str(number), sys.executable, str(script), str(number), *arguments]
    environment = {**os.environ, "NUMBA_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.count("right") == number
