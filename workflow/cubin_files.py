"""What the rules ask about CUDA kernels: which .cu are compiled for which architecture, and what a point loads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import saitan
from saitan.cuda.build import included
from saitan.problem import kernels_of, problem
from saitan.workflow import modules
from saitan.workflow.config_model import Config
from saitan.workflow.machine import Machine
from saitan.workflow.points import RESULTS, Point


class CubinFiles:
    """The kernels' side of a plan.

    config: the run's configuration; machine: what jobs run on; backends, architectures: of the run; root: the folder
    of the Snakefile as jobs see it.
    """

    config: Config
    machine: Machine
    root: str
    backends: Sequence[str]
    architectures: Sequence[str]

    def cubins_of(self, point: Point) -> list[str]:
        """The cubins that a point loads, for every architecture: the job's machine chooses."""
        if point.backend != "cuda":
            return []
        own = kernels_of(point.problem, problem(point.problem).VARIANTS[point.variant])
        shared = [f"cuda/{path.stem}" for path in modules.kernels("cuda")]
        return [f"{RESULTS}/cubins/{arch}/{name}.cubin" for arch in self.architectures for name in own + shared]

    @cached_property
    def cubins(self) -> list[str]:
        """Every .cu of every problem of this run, and what they share, for every architecture of the run."""
        return [
            f"{RESULTS}/cubins/{arch}/{path.parent.name}/{path.stem}.cubin"
            for arch in self._compiled_for
            for path in self._kernels
        ]

    @property
    def _compiled_for(self) -> list[str]:
        """Of a run without a GPU, whose kernels are compiled only when asked for, those named, or two common ones."""
        if not self.machine.nvcc:
            return []
        return self.architectures or self.config.architectures or ["sm_80", "sm_90"]

    @cached_property
    def _kernels(self) -> list[Path]:
        used = dict.fromkeys(e.problem for e in self.config.experiments.values() if e.problem)
        return [path for name in [*used, "cuda"] for path in modules.kernels(name)] if used else []

    @property
    def needed_cubins(self) -> list[str]:
        """The cubins that the run as a whole needs: none where nothing is measured on a GPU."""
        return self.cubins if "cuda" in self.backends else []

    @property
    def resources(self) -> list[str]:
        """What ptxas says, beside every cubin that the run needs."""
        return [path.removesuffix(".cubin") + ".resources.json" for path in self.needed_cubins]

    def headers_of(self, name: str, stem: str) -> list[str]:
        """What a problem's .cu includes."""
        package = Path(saitan.__path__[0])
        source = package / name / f"{stem}.cu"
        return [
            f"{self.root}kernels/{path.relative_to(package)}" if path.is_relative_to(package) else str(path)
            for path in (included(source)[1:] if source.exists() else ())
        ]
