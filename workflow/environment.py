"""What a run needs around it: the packages that saitan names, saitan itself from the clone that is run, compiled code.

Imports none of these packages before it knows that they are there.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import resource
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import InvalidVersion

import saitan

# Variables by which Numba makes other code, or interprets, and the values with which it does not.
_OTHER_CODE = {
    **dict.fromkeys(("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK", "NUMBA_DEBUGINFO", "NUMBA_DEBUG_NRT"), ("", "0")),
    **dict.fromkeys(("NUMBA_ENABLE_PROFILING", "NUMBA_EXTEND_VARIABLE_LIFETIMES"), ("", "0")),
    **dict.fromkeys(("NUMBA_SLP_VECTORIZE", "NUMBA_DISABLE_INTEL_SVML"), ("", "0")),
    **dict.fromkeys(("NUMBA_LOOP_VECTORIZE", "NUMBA_ENABLE_AVX", "NUMBA_LLVM_REFPRUNE_PASS"), ("", "1")),
    **dict.fromkeys(("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"), ()),
    "NUMBA_OPT": ("", "3"),
}
# Bytes of address space within which what saitan imports can be loaded.
_LEAST_SPACE = 2**32
# What numexpr, which pandas imports where it is installed, reads as whole numbers.
_THREADS = ("OMP_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def check_package() -> None:
    """End the process with one line where Python takes another folder for the package, or one for a module of it."""
    package = Path(saitan.__path__[0])
    if saitan.__file__ is None:
        sys.exit(
            f"environment: Python takes the folder {package} for the package saitan: PYTHONPATH names {package.parent},"
            " in which no module beside it can lie: another folder is right for those"
        )
    for module in sorted(package.glob("*.py")):
        if (folder := module.with_suffix("")).joinpath("__init__.py").exists():
            name = f"{package.name}/{module.name}"
            sys.exit(f"environment: {folder}: Python takes it for {name}, which saitan needs: another name is right")


def check_environment(root: Path) -> None:
    """End the process with one line where `check_package` does, a package is missing or too old, memory is limited to
    less than these take, Numba is told to make other code than that which is measured or has no threads, pandas cannot
    be imported, or the generators cannot, among which may be the user's own; say where another clone's code runs.

    root: the folder of the Snakefile.
    """
    check_package()
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if wrong := list(filter(None, map(_wrong, map(Requirement, project["dependencies"])))):
        sys.exit(f"environment: {', '.join(wrong)}: `pip install -e .` in {root} sets it right")
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _LEAST_SPACE:
        right = f"{_LEAST_SPACE / 1e9:.1f} GB at least, or `ulimit -v unlimited`, is right"
        sys.exit(f"environment: the address space is limited to {limit / 1e9:.1f} GB (ulimit -v): {right}")
    for name, usual in _OTHER_CODE.items():
        if (value := os.environ.get(name)) is not None and value not in usual:
            sys.exit(f"environment: with {name}={value} times are those of other code: unset it")
    _check_layer()
    for name in _THREADS if importlib.util.find_spec("numexpr") else ():
        if not re.fullmatch(r"(\s*[+-]?\d+\s*)?", value := os.environ.get(name, "")):
            sys.exit(f"environment: with {name}={value} pandas cannot be imported: a whole number is right")
    used = Path(saitan.__path__[0]).resolve().parent
    if used != root.resolve():
        print(
            f"beware: the code that runs is that of {used}, not of {root}: `pip install -e .` here runs this one",
            file=sys.stderr,
        )
    try:
        # Other modules of the workflow import them, and fail by them.
        importlib.import_module("saitan.generators")
    except Exception as error:
        from saitan.workflow.step import told

        sys.exit(f"error: {told(error)}")


def _check_layer() -> None:
    """Numba loads what runs its threads when it first needs some, and cannot where it is told of a kind not there."""
    if layer := os.environ.get("NUMBA_THREADING_LAYER"):
        # In a process of its own, as there is no other to be had afterwards.
        code = "import numba; numba.get_num_threads()"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        if done.returncode:
            reason = re.search(r"^\w*Error: (.*?)\.?$", done.stderr, re.M)
            why = f" ({reason[1]})" if reason else ""
            sys.exit(f"environment: with NUMBA_THREADING_LAYER={layer} Numba has no threads{why}: unset it")


def _wrong(wanted: Requirement) -> str | None:
    if wanted.marker and not wanted.marker.evaluate():
        return None
    try:
        found = metadata.version(wanted.name)
        right = wanted.specifier.contains(found, prereleases=True)
    except metadata.PackageNotFoundError:
        return f"{wanted.name} is missing"
    except (InvalidVersion, TypeError):  # what an interrupted installation left
        return f"{wanted.name} is damaged"
    return None if right else f"{wanted} is needed, not {found}"
