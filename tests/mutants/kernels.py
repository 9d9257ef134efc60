"""Plant the faults of kernels.toml in the CUDA kernels, one at a time, and see whether the GPU tests notice.

For developers; not part of CI.

    python tests/mutants/kernels.py compile sm_90 FOLDER [PROBLEM ...]  cubins as they are and with each fault
    python tests/mutants/kernels.py run FOLDER                          the tests of each fault, on the GPU

Compiling needs no GPU; named problems (folders of kernels/) limit it to them and to "cuda". Sources stay as they are: a
fault is planted in a copy of its folder, and the tests load the cubins of that copy. A fault is found by its text, in
which line breaks and blanks count alike. One whose text is gone is named and left out, and the exit status is 1.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import saitan
from saitan.cuda.build import build

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KERNELS = Path(saitan.__path__[0])
FAULTS = tomllib.loads((HERE / "kernels.toml").read_text())["fault"]
AS_IT_IS = "as-it-is"
# Processes that share the GPU, and the seconds after which a kernel is taken to hang.
AT_ONCE, LIMIT = 8, 90


def pattern(fault: dict) -> re.Pattern[str]:
    """A fault's text with any white space where it has some."""
    return re.compile(r"\s+".join(map(re.escape, fault["old"].split())))


def compile_all(arch: str, folder: Path, problems: list[str]) -> bool:
    """folder/as-it-is/<arch>/<problem>/<stem>.cubin, and folder/<number>/... of what a fault changes.

    Returns whether every fault is there to be planted; names those that are not.
    """
    wanted = {*problems, "cuda"} if problems else {source.parent.name for source in KERNELS.glob("*/*.cu")}
    jobs = [(AS_IT_IS, source, None) for source in KERNELS.glob("*/*.cu") if source.parent.name in wanted]
    gone = 0
    for number, fault in enumerate(FAULTS):
        changed = KERNELS / fault["file"]
        if changed.parent.name not in wanted:
            continue
        if len(pattern(fault).findall(changed.read_text())) != 1:
            gone += 1
            print(f"kernels.toml: {fault['file']} does not have once: {fault['old']}")
            continue
        jobs += [(str(number), source, fault) for source in users(changed)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: compile_one(arch, folder, *job), jobs))
    return not gone


def users(file: Path) -> list[Path]:
    """A .cu itself; of a header all .cu of its folder that include it, or a header that does."""
    if file.suffix == ".cu":
        return [file]
    beside = [other for other in file.parent.glob("*.cu*") if f'"{file.name}"' in other.read_text()]
    return list(dict.fromkeys(user for other in beside for user in users(other)))


def compile_one(arch: str, folder: Path, name: str, source: Path, fault: dict | None) -> None:
    output = folder / name / arch / source.parent.name / f"{source.stem}.cubin"
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / source.parent.name
        shutil.copytree(source.parent, copy)
        if fault:
            changed = copy / Path(fault["file"]).name
            changed.write_text(pattern(fault).sub(lambda _: fault["new"], changed.read_text()))
        output.write_bytes(build(copy / source.name, arch).cubin)


def run_all(folder: Path) -> bool:
    """Whether every fault is noticed by tests that pass without it; prints a line each."""
    faults = {number: fault for number, fault in enumerate(FAULTS) if (folder / str(number)).exists()}
    for name in map(str, faults):
        for cubin in (folder / AS_IT_IS).rglob("*.cubin"):
            beside = folder / name / cubin.relative_to(folder / AS_IT_IS)
            if not beside.exists():
                beside.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(cubin, beside)
    different = dict.fromkeys(fault["tests"] for fault in faults.values())
    with ThreadPoolExecutor(AT_ONCE) as pool:
        passing = dict(zip(different, pool.map(lambda tests: fails(folder / AS_IT_IS, tests), different), strict=True))
        found = list(pool.map(lambda n: fails(folder / str(n), FAULTS[n]["tests"]), faults))
    for tests, failed in passing.items():
        if failed:
            print(f"fails without any fault: {tests}: {failed}")
    for fault, failed in zip(faults.values(), found, strict=True):
        print(f"{'noticed' if failed else 'NOT NOTICED'}: {fault['file']}: {fault['new'] or 'nothing'}: {failed}")
    print(f"{sum(map(bool, found))} of {len(faults)} noticed")
    return all(found) and not any(passing.values())


def fails(cubins: Path, tests: str) -> str:
    """The last line of what the tests say where one fails, none runs, or they hang; "" where they pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "gpu", "-p", "no:cacheprovider", *shlex.split(tests)]
    environment = {**os.environ, "SAITAN_CUBINS": str(cubins.resolve())}
    try:
        done = subprocess.run(
            [*command, "--hypothesis-profile", "mutants"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no end within {LIMIT} s"
    last = (done.stdout.strip().splitlines() or ["nothing printed"])[-1]
    return "" if done.returncode == 0 and "passed" in last else last


def main() -> None:
    match sys.argv[1:]:
        case ["compile", arch, folder, *problems]:
            sys.exit(not compile_all(arch, Path(folder), problems))
        case ["run", folder]:
            sys.exit(not run_all(Path(folder)))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
