"""A copy of the project to run Snakemake in, a catalogue of tiny graphs, and experiments on them."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]

GRAPHS = """
tiny-grid:
  title: Tiny grid
  generator: grid
  parameters: {width: 12, height: 12, weight_low: 1, weight_high: 99, seed: 1}
tiny-ring:
  title: Tiny ring
  generator: ring
  parameters: {vertices: 50, weight_low: 1, weight_high: 9, seed: 1}
"""

ONE_POINT = {
    "title": "Tiny",
    "problem": "sssp",
    "graphs": ["tiny-grid"],
    "variants": {"conventional": {}},
    "queries": 2,
}
SWEEP = {
    **ONE_POINT,
    "variants": {"adaptive": {"threshold_up": [10, 100]}, "conventional": {}},
    "figure": {"mark": "line", "x": "threshold_up", "y": "seconds", "color": "variant"},
}


@dataclass
class Project:
    """A working copy; `snakemake` runs there and uses its code, not the installed one."""

    folder: Path

    def configure(self, experiments: dict, **settings) -> None:
        config = {"name": "tiny", "backend": "cpu", "measure": {"budget_s": 0.05}, **settings}
        (self.folder / "config/config.yaml").write_text(yaml.safe_dump({**config, "experiments": experiments}))

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.folder / "site"), "COLUMNS": "200"}

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            self.command(*arguments), cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )

    @staticmethod
    def said(done: subprocess.CompletedProcess) -> list[str]:
        """The lines that a run printed, without Snakemake's own about the profile, which comes before everything."""
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        return [line for line in lines if not line.startswith("Using workflow specific profile")]

    def planned(self, *arguments: str) -> dict[str, int]:
        """Rule -> number of jobs that a dry run would do."""
        done = self.snakemake("-n", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        lines = done.stdout.splitlines() + done.stderr.splitlines()
        if any("Nothing to be done" in line for line in lines):
            return {}
        start = next(i for i, line in enumerate(lines) if line.split()[:2] == ["job", "count"])
        jobs = {}
        for line in lines[start + 2 :]:
            rule, _, count = line.strip().rpartition(" ")
            if not rule or rule.strip() == "total":
                break
            jobs[rule.strip()] = int(count)
        return jobs
