"""Jobs by a real Slurm of one node: a point of two ranks completes, a cancelled one is measured again."""

import importlib.util
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from mpi import lacking
from sums import EXPERIMENT, put_into
from tiny import ROOT

SCRIPT, CONFIGURED = ROOT / "tests/slurm.sh", Path("/etc/slurm/slurm.conf")


def _lacking():
    for program in ("munged", "slurmctld", "slurmd", "sbatch"):
        if shutil.which(program) is None:
            return f"{program} is not installed (Debian: slurmctld slurmd slurm-client munge libpmix-dev)"
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        return "snakemake-executor-plugin-slurm is not installed"
    if CONFIGURED.exists():
        return f"{CONFIGURED}: there is a Slurm already"
    if os.geteuid() != 0:
        return "needs root, to start the daemons"
    return lacking()


pytestmark = [pytest.mark.skipif(_lacking() is not None, reason=str(_lacking())), pytest.mark.timeout(300)]


@pytest.fixture
def slurm(tmp_path):
    """A Slurm of four cores, whatever this machine has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    try:
        subprocess.run([SCRIPT, "start", tmp_path / "slurm", "4", str(port)], check=True, timeout=60)
        yield
    finally:
        subprocess.run([SCRIPT, "stop", tmp_path / "slurm"], check=False, timeout=30)


def command(project, *arguments):
    options = ["--workflow-profile", "profiles/slurm", "--slurm-status-command", "squeue"]
    options += ["--slurm-init-seconds-before-status-checks", "1", "--seconds-between-status-checks", "1"]
    return [word for word in project.command(*arguments, *options) if word not in ("--cores", "2")]


def queued(state):
    """Names of the jobs in a state."""
    done = subprocess.run(["squeue", "-h", "-t", state, "-o", "%i %k"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_ranks_by_slurm_and_a_cancelled_job_is_measured_again(project, slurm):
    put_into(project.folder)
    swept = EXPERIMENT | {"variants": ["right", "waits"], "ranks": [2]}
    project.configure({"sums": swept}, launcher="srun --mpi=pmix --kill-on-bad-exit=1", cores=2)
    place = "results/tiny/samples/sums/cpu/no-graph"

    def run(variant):
        call = command(project, f"{place}/{variant}/ranks~2.parquet")
        return subprocess.Popen(
            call,
            cwd=project.folder,
            env=project.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    done = run("right")
    said = done.communicate(timeout=120)[0]
    assert done.returncode == 0, said
    rows = pq.read_table(project.folder / place / "right/ranks~2.parquet").to_pylist()
    assert rows[0]["counters"]["ranks_seen"] == 2 and "2 x " in rows[0]["provenance"]["hosts"]
    assert rows[0]["cores"] == min(2, os.cpu_count())

    waiting = run("waits")
    deadline = time.monotonic() + 60
    while not (found := [job for job in queued("RUNNING") if "measure" in job]) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert found, queued("all")
    subprocess.run(["scancel", found[0].split()[0]], check=True)
    said = waiting.communicate(timeout=120)[0]
    assert waiting.returncode != 0, said
    assert not (project.folder / place / "waits/ranks~2.parquet").exists()
    (project.folder / "go").touch()
    again = run("waits")
    said = again.communicate(timeout=120)[0]
    assert again.returncode == 0, said
    assert pq.read_table(project.folder / place / "waits/ranks~2.parquet").num_rows
    # What was measured by jobs is what a run on this machine plans.
    assert "measure" not in project.planned()
