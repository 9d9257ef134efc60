"""Plant the faults of kernels.toml in the CUDA kernels, one at a time, and see whether the GPU tests notice.

For developers; not part of CI.

    python tests/mutants/kernels.py compile sm_90 FOLDER    cubins as they are and with each fault; needs no GPU
    python tests/mutants/kernels.py run FOLDER              the tests of each fault, on the GPU

Sources stay as they are: a fault is planted in a copy of its folder, and the tests load the cubins of that copy.
"""

from __future__ import annotations

import os
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


def compile_all(arch: str, folder: Path) -> None:
    """folder/as-it-is/<arch>/<problem>/<stem>.cubin, and folder/<number>/... of what a fault changes."""
    jobs = [(AS_IT_IS, source, None) for source in KERNELS.glob("*/*.cu")]
    for number, fault in enumerate(FAULTS):
        changed = KERNELS / fault["file"]
        if changed.read_text().count(fault["old"]) != 1:
            sys.exit(f"kernels.toml: {fault['file']} does not have once: {fault['old']}")
        sources = [changed]
        if changed.suffix == ".cuh":
            sources = [source for source in changed.parent.glob("*.cu") if f'"{changed.name}"' in source.read_text()]
        jobs += [(str(number), source, fault) for source in sources]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: compile_one(arch, folder, *job), jobs))


def compile_one(arch: str, folder: Path, name: str, source: Path, fault: dict | None) -> None:
    output = folder / name / arch / source.parent.name / f"{source.stem}.cubin"
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / source.parent.name
        shutil.copytree(source.parent, copy)
        if fault:
            changed = copy / Path(fault["file"]).name
            changed.write_text(changed.read_text().replace(fault["old"], fault["new"]))
        output.write_bytes(build(copy / source.name, arch).cubin)


def run_all(folder: Path) -> bool:
    """Whether every fault is noticed by tests that pass without it; prints a line each."""
    for name in map(str, range(len(FAULTS))):
        for cubin in (folder / AS_IT_IS).rglob("*.cubin"):
            beside = folder / name / cubin.relative_to(folder / AS_IT_IS)
            if not beside.exists():
                beside.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(cubin, beside)
    different = dict.fromkeys(fault["tests"] for fault in FAULTS)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        passing = dict(zip(different, pool.map(lambda tests: fails(folder / AS_IT_IS, tests), different), strict=True))
        found = list(pool.map(lambda n: fails(folder / str(n), FAULTS[n]["tests"]), range(len(FAULTS))))
    for tests, failed in passing.items():
        if failed:
            print(f"fails without any fault: {tests}: {failed}")
    for fault, failed in zip(FAULTS, found, strict=True):
        print(f"{'noticed' if failed else 'NOT NOTICED'}: {fault['file']}: {fault['new'] or 'nothing'}: {failed}")
    print(f"{sum(map(bool, found))} of {len(FAULTS)} noticed")
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
        case ["compile", arch, folder]:
            compile_all(arch, Path(folder))
        case ["run", folder]:
            sys.exit(not run_all(Path(folder)))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
