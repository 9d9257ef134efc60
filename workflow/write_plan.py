"""Write what the steps of a run are told, as files. Snakemake runs it (`script:`), and `snakemake` is its object."""

import argparse
from pathlib import Path

from saitan.files import beside
from saitan.workflow.step import run_parsed


def write(arguments: argparse.Namespace) -> None:
    for output in arguments.outputs:
        with beside(output) as path:
            path.write_text(arguments.files[Path(output).as_posix()], encoding="utf-8")


told = {"files": snakemake.params.files, "outputs": snakemake.output}  # noqa: F821
run_parsed(write, argparse.Namespace(log=Path(snakemake.log[0]), **told))  # noqa: F821
