"""The facts of a machine that decide what can run on it."""

from __future__ import annotations

from dataclasses import dataclass

from saitan import cuda

NO_NVCC = "nvcc is not installed or not on PATH"


@dataclass(frozen=True)
class Machine:
    """The machine that jobs run on.

    unusable  why its GPU cannot be used; None where it can
    arch      the GPU's architecture, such as "sm_90"; None where there is none
    nvcc      whether the compiler is there
    cores     what timed jobs may use
    """

    unusable: str | None
    arch: str | None
    nvcc: bool
    cores: int = 1


def this(cores: int = 1) -> Machine:
    """The machine that asks."""
    reason = cuda.unusable()
    return Machine(reason, None if reason else cuda.arch(), cuda.find_nvcc() is not None, cores)
