"""What a command line says that a plan cannot be told by Snakemake, or is told too late.

Imports no code that may be of the user's own: the profiles import this, and Snakemake would take its mistakes for
theirs.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from saitan.workflow.step import Failure
from saitan.workflow.yaml_files import check_run


def check_named(arguments: Sequence[str]) -> None:
    """Before Snakemake reads what --configfile names: end the process with one line for what is wrong in it, and for
    several files, of which Snakemake would mix the experiments, or take the last alone; and for what stands behind
    --config and sets nothing.

    arguments: the process's own. Called by the profiles, which are read before.
    """
    given, files = "", []
    for argument in arguments:
        option, _, value = argument.partition("=")
        if argument.startswith("-"):
            given, argument = option, value
        if given in ("--config", "-C") and argument:
            _check_setting(argument)
        if given in ("--configfile", "--configfiles") and argument:
            _check_file(argument, "targets come before --configfile, which takes all that follows it")
            files.append(argument)
    if len({*files}) > 1:
        right = "one file is right, and what differs from it by --config"
        sys.exit(f"config: {' and '.join(files)} would be one run, which none of them describes: {right}")


def _check_setting(setting: str) -> None:
    key, equals, _ = setting.partition("=")
    if not equals or not key:
        right = "a file goes behind --configfile, a target before --config"
        sys.exit(f"--config: {setting} is not of the form key=value: {right}")
    if not re.fullmatch(r"[a-zA-Z_][\w-]*", key):
        right = "a key within another one goes in braces, such as measure='{budget_s: 1}'"
        sys.exit(f"--config: {key} is no key: {right}")


def check_default(path: Path) -> None:
    """The same of the file that is taken where none is named."""
    _check_file(os.path.relpath(path), "name another file by --configfile")


def check_triggers(command: Sequence[str]) -> None:
    """End the process with one line where a command line has Snakemake not compare what results depend on.

    Snakemake's own settings are not there yet when a plan is made.
    """
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--rerun-triggers", nargs="*")
    chosen = parser.parse_known_args(command)[0].rerun_triggers
    if chosen and (lacking := [name for name in ("mtime", "params", "input") if name not in chosen]):
        sys.exit(f"--rerun-triggers: without {' and '.join(lacking)} numbers of other settings stay: leave it out")


def check_targets(command: Sequence[str], targets: Sequence[str], rules: Sequence[str]) -> None:
    """End the process with one line for a word among a command line's targets that names neither a rule nor a file.

    targets: the names of rules that may be one, those of the experiments too; rules: of all rules
    """
    from saitan.workflow.config import suggest

    chosen = _chosen(command)
    for option in ("targets", "until", "omit_from", "forcerun"):
        where, there = ("", targets) if option == "targets" else (f"--{option.replace('_', '-')}: ", rules)
        for name in getattr(chosen, option) or ():
            if re.fullmatch(r"[\w-]+", name) and name not in there and not Path(name).exists():
                sys.exit(f"{where}unknown target{suggest(name, there)}")


def cores_meant(given: int | None, command: Sequence[str]) -> int:
    """The cores that a command line plans for: those that a run by it would have, all of the machine by default.

    given: what Snakemake makes of it: 1 for a dry run without --cores, None for --report and where jobs are submitted.
    """
    if given is not None and given < 1:
        sys.exit(f"error: --cores {given}: no job would ever run; at least 1, or all, is right")
    if given not in (None, 1):
        return given
    from snakemake.utils import available_cpu_count

    chosen = _chosen(command)
    if chosen.executor not in (None, "local"):
        return given or 1
    named = [cores for cores in (chosen.cores, chosen.jobs) if isinstance(cores, int)]
    return named[0] if named else available_cpu_count()


def jobs_here(command: Sequence[str]) -> bool:
    """Whether the jobs of a command line run on this machine, on no more cores than it has."""
    chosen = _chosen(command)
    return chosen.executor in (None, "local") and str(chosen.mode) != "remote"


def _chosen(command: Sequence[str]) -> argparse.Namespace:
    from snakemake.cli import parse_args

    with contextlib.redirect_stderr(io.StringIO()):  # it names the profile once more
        return parse_args(list(command))[1]


def _check_file(path: str, advice: str) -> None:
    try:
        check_run(Path(path))
    except FileNotFoundError:
        sys.exit(f"config: {path} is not there: {advice}")
    except OSError as error:
        sys.exit(f"config: {path}: {error.strerror}")
    except Failure as error:
        sys.exit(f"config: {error}")
