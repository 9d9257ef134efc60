"""What a run left to be looked at, by content: another file in the place of a table, a chart or the page is told by it.

Those say what they were made for, at most, and not whether they are the last that were: an older page is of the same
configuration.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from saitan.workflow.checksums import checked, read_known, write_known
from saitan.workflow.modules import text_digest
from saitan.workflow.plan import Plan

# The time of files that are to be made again (outdated.py).
OLD = 1


def write_left(plan: Plan) -> None:
    """Take down what is there after a run, but for files that it was to make again and did not."""
    register = Path(plan.left)
    known = read_known(register)
    for file in _shown(plan):
        with contextlib.suppress(OSError):
            if Path(file).stat().st_mtime != OLD:
                known[file] = checked(Path(file), known.get(file), _content)
    write_known(register, known)


def replaced(plan: Plan) -> list[str]:
    """The files that are there with another content than a run left last."""
    known, shown = read_known(Path(plan.left)), set(_shown(plan))
    there = [(file, before) for file, before in known.items() if file in shown and Path(file).is_file()]
    return [file for file, before in there if checked(Path(file), before, _content)["sha256"] != before.get("sha256")]


def _shown(plan: Plan) -> Iterator[str]:
    yield from (plan.report, plan.listed)
    for name in plan.config.experiments:
        yield from (file for file in plan.shown_of(name) if file not in plan.kept_identities)


def _content(file: Path) -> str:
    return text_digest([file])
