"""Write what the steps of a run are told, as files. Snakemake runs it (`script:`), and `snakemake` is its object."""

from pathlib import Path

from saitan.files import beside
from saitan.workflow.step import DONE, say_to_log

files = snakemake.params.files  # noqa: F821
for output in snakemake.output:  # noqa: F821
    with beside(output) as path:
        path.write_text(files[Path(output).as_posix()])
say_to_log(Path(snakemake.log[0]), DONE)  # noqa: F821
