"""The constants of a .cu or .cuh, read by the host from there, so that no number is written twice."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

KERNELS = Path(__file__).parents[1]
DECLARED = re.compile(r"\bconstexpr\s+[\w ]+?\s+(\w+\s*=[^;]*);|\benum\s*\{([^}]*)\}")
NAMED = re.compile(r"(\w+)\s*=\s*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*$")


@cache
def constants(problem: str, file: str) -> dict[str, int]:
    """Name -> value of what kernels/<problem>/<file> declares as `constexpr` or in a nameless `enum`.

    Only values that are written as a number are read; what is computed from others, or a fraction, is left out.
    """
    text = re.sub(r"//[^\n]*", "", (KERNELS / problem / file).read_text(encoding="utf-8"))
    found = {}
    for declared in DECLARED.finditer(text):
        for part in (declared[1] or declared[2]).split(","):
            if named := NAMED.fullmatch(part.strip()):
                found[named[1]] = int(named[2], 0)
    return found
