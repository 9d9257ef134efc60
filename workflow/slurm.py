"""What Slurm's nodes are too small for, said when a run starts: such a job waits for ever (squeue: PartitionConfig)."""

from __future__ import annotations

import subprocess
from typing import Any

from saitan.workflow.plan import Plan


def said_of(plan: Plan, workflow: Any) -> list[str]:
    """Lines for the terminal; none where jobs do not go to Slurm."""
    if workflow.executor_plugin is None or workflow.executor_plugin.name != "slurm":
        return []
    asked = max((plan.cores_of(point) or plan.machine.cores for point in plan.points), default=0)
    largest = _largest()
    if largest is None or asked <= largest:
        return []
    return [
        f"beware: jobs ask {asked} cores (`cores`, `cores_per_rank`), the largest node that sinfo names has {largest}:"
        " they wait for ever"
    ]


def _largest() -> int | None:
    """CPUs of the largest node; None where sinfo does not say."""
    try:
        told = subprocess.run(["sinfo", "-haN", "-o", "%c"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return max((int(word) for word in told.stdout.split() if word.isdigit()), default=None)
