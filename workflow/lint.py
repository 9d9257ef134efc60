"""`snakemake --lint` without the one rule that does not fit, for `.ci/run`.

Every step runs in the environment that the user made with pip and that Snakemake runs in, so a conda or container line
has nothing to name. Whatever else the linter finds is printed and fails.
"""

from __future__ import annotations

import re
import subprocess
import sys

EXEMPT = "Specify a conda environment or container for each rule."


def findings(printed: str) -> list[str]:
    """The linter's findings that count, one line each: where, and what."""
    found, where = [], "?"
    for line in printed.splitlines():
        if heading := re.match(r"Lints for (.*):$", line):
            where = heading[1]
        elif (title := re.match(r"    \* (.*):$", line)) and title[1] != EXEMPT:
            found.append(f"{where}: {title[1]}")
    return found


def main() -> None:
    done = subprocess.run([sys.executable, "-m", "snakemake", "--lint"], capture_output=True, text=True, check=False)
    printed = done.stdout + done.stderr
    found = findings(printed)
    if done.returncode and not found and EXEMPT not in printed:
        sys.exit(f"snakemake --lint failed:\n{printed}")
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
