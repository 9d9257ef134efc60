"""Compile one .cu to a cubin; what ptxas says of its kernels is kept beside it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from saitan.cuda.build import NvccError, build, included
from saitan.files import beside
from saitan.workflow.planned_code import check_planned
from saitan.workflow.step import run_step, say


def compile_one(arguments: argparse.Namespace) -> None:
    check_planned(included(arguments.source))
    try:
        built = build(arguments.source, arguments.arch)
    except NvccError as error:
        say(arguments.log, error.printed)
        raise
    for warning in built.warnings:
        say(arguments.log, warning)
    with beside(arguments.resources) as path:
        path.write_text(
            json.dumps({"identity": arguments.identity, "kernels": built.resources}, indent=1), encoding="utf-8"
        )
    with beside(arguments.output) as path:
        path.write_bytes(built.cubin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--arch", required=True, help="sm_90, ...")
    parser.add_argument("--identity", required=True, help="of what it is compiled from")
    parser.add_argument("--output", type=Path, required=True, help=".cubin to write")
    parser.add_argument("--resources", type=Path, required=True, help=".json to write: registers, spills, ...")
    run_step(compile_one, parser)


if __name__ == "__main__":
    main()
