"""Write what the steps of a run are told, as files: the run lists them, with their content, as it begins."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from saitan.files import beside
from saitan.workflow.step import run_step


def write(told: Path) -> None:
    """Write each file of a JSON object of path -> content."""
    for file, content in json.loads(told.read_bytes()).items():
        with beside(file) as path:
            path.write_text(content, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--told", type=Path, required=True, help="the run's list, as JSON")
    run_step(lambda arguments: write(arguments.told), parser)


if __name__ == "__main__":
    main()
