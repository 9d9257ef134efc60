"""Plant small faults in a module, one at a time, and see whether its tests notice. For developers; not part of CI.

    python tests/mutants/run.py                       every module of modules.toml
    python tests/mutants/run.py validators graph      areas, or modules such as kernels/graph.py
    python tests/mutants/run.py graph --count 100 --seed 2
    python tests/mutants/run.py --jobs 8              modules side by side, each in a copy of its own

Cosmic Ray makes the mutants, by its operators and those of operators.py. A sample of them is drawn, from as many places
of the code as there are. Each is planted in a copy of the working tree, the module's tests run there until one fails,
and a mutant that none notices is printed. Those listed in remaining.toml with a reason are counted as explained. The
exit status is 1 where others are left.

Numba keeps compiled functions by file and time, and misses changes in functions that they call from other files. So
the tests run once with the code as it is; of what they compiled, every mutant gets the files of modules that do not
import the mutated one.
"""

from __future__ import annotations

import argparse
import ast
import multiprocessing
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import cosmic_ray.plugins
from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome
from operators import Provider

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYTEST = "-q -x -p no:cacheprovider --hypothesis-profile mutants"
# Decorators are Numba's, fixtures' and dataclasses': without them code is slower, or does not start.
# `is` between values that are no None says the same as ==, or depends on what the interpreter keeps.
LEFT_ALONE = ("core/RemoveDecorator", "core/ReplaceComparisonOperator_Is", "core/ExceptionReplacer")


def copied(folder: Path) -> None:
    """A copy of the working tree, whose package saitan is its own."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    # What an installation maps to the folders.
    for name, place in (("kernels", "site/saitan"), ("workflow", "site/saitan/workflow")):
        (folder / place).mkdir(parents=True)
        own = (folder / name / "__init__.py").read_text()
        path = [str(folder / name), str(folder / place)]
        (folder / place / "__init__.py").write_text(f"{own}\n__path__ = {path}\n")


def module_name(path: str) -> str:
    """saitan.sssp.validate of kernels/sssp/validate.py."""
    folder, *rest = Path(path).with_suffix("").parts
    return ".".join(["saitan", *(["workflow"] if folder == "workflow" else []), *(p for p in rest if p != "__init__")])


def stale_with(path: str) -> list[Path]:
    """The modules, by file, whose compiled code may hold some of a module's: itself, and those that import compiled
    functions or constants from one of these.
    """
    files = [file.relative_to(ROOT) for file in (ROOT / "kernels").rglob("*.py")]
    trees = {module_name(str(file)): ast.parse((ROOT / file).read_text()) for file in files}
    compiled = {name for name, tree in trees.items() if "njit" in ast.dump(tree)}
    stale = [module_name(path)]
    for owner in stale:
        frozen = (
            {node.name for node in trees[owner].body if isinstance(node, ast.FunctionDef)} if owner in trees else ()
        )
        for name in compiled - set(stale):
            taken = {
                alias.name
                for node in ast.walk(trees[name])
                if isinstance(node, ast.ImportFrom) and owner in (node.module, f"{node.module}.{node.names[0].name}")
                for alias in node.names
            }
            if any(one in frozen or one.isupper() or owner.endswith(f".{one}") for one in taken):
                stale.append(name)
    return [file for file in files if module_name(str(file)) in stale]


def linked(base: Path, folder: Path, without: list[Path]) -> None:
    """Numba's cache in `base`, without what it holds of some modules, as links in a folder that is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base, folder, copy_function=os.link)
    for module in without:
        for file in folder.glob(f"{module.parent.name}_*/{module.stem}.*"):
            file.unlink()


def alike(source: str) -> Iterator[tuple]:
    """Places of code, first and last (line, column), whose mutants do the same as the code.

    Annotations, which are never evaluated; decorators (how fast Numba's code is, that nobody assigns to a data class);
    `strict` of zip, which says what is so.
    """
    for node in ast.walk(ast.parse(source)):
        found = [getattr(node, name, None) for name in ("annotation", "returns")]
        found += getattr(node, "decorator_list", [])
        found += [k.value for k in getattr(node, "keywords", []) if k.arg == "strict"]
        for one in filter(None, found):
            yield (one.lineno, one.col_offset), (one.end_lineno, one.end_col_offset)


def sample(mutations: list[MutationSpec], source: str, count: int, seed: int) -> list[MutationSpec]:
    """`count` mutations, drawn by a seed, a second one at a place only where every place has one."""
    hidden = list(alike(source))
    places: dict[tuple, list[MutationSpec]] = {}
    for mutation in mutations:
        said_alike = any(first <= tuple(mutation.start_pos) < last for first, last in hidden)
        if not said_alike and not mutation.operator_name.startswith(LEFT_ALONE):
            places.setdefault((mutation.start_pos, mutation.end_pos), []).append(mutation)
    chance = random.Random(seed)
    ordered = [chance.sample(places[place], len(places[place])) for place in sorted(places)]
    chance.shuffle(ordered)
    rounds = [[some[turn] for some in ordered if turn < len(some)] for turn in range(max(map(len, ordered)))]
    return [mutation for one in rounds for mutation in one][:count]


def changed_lines(diff: str) -> tuple[str, str]:
    """The lines that a diff takes and gives, stripped and joined."""
    lines = [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return tuple(" ".join(line[1:].strip() for line in lines if line[0] == sign) for sign in "-+")


def run(path: str, tests: list[str], explained: list[dict], count: int, seed: int) -> tuple[int, int, int]:
    """Mutants of a module planted, noticed and explained; prints those left."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree, base, cache = (Path(folder) / name for name in ("tree", "compiled", "cache"))
        copied(tree)
        base.mkdir()
        command = shlex.join([sys.executable, "-m", "pytest", *PYTEST.split(), *tests])
        os.environ |= {"PYTHONPATH": str(tree / "site"), "NUMBA_CACHE_DIR": str(base)}
        os.chdir(tree)
        began = time.monotonic()
        whole = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
        if whole.returncode:
            raise RuntimeError(f"{path}: its tests fail without any mutant:\n{whole.stdout[-2000:]}")
        limit = 30 + 4 * (time.monotonic() - began)
        os.environ["NUMBA_CACHE_DIR"] = str(cache)
        with use_db(Path(folder) / "session.sqlite", WorkDB.Mode.create) as session:
            init([Path(path)], session, {})
            mutations = [item.mutations[0] for item in session.work_items]
        chosen = sample(mutations, Path(path).read_text(), count, seed)
        stale, noticed, reasons = stale_with(path), 0, 0
        for mutation in chosen:
            linked(base, cache, stale)
            result = mutate_and_test([mutation], command, limit)
            if result.test_outcome == TestOutcome.KILLED:
                noticed += 1
                continue
            before, after = changed_lines(result.diff or "")
            if any(e["path"] == path and (e["before"], e["after"]) == (before, after) for e in explained):
                reasons += 1
                continue
            print(f"{path}:{mutation.start_pos[0]}: not noticed\n  - {before}\n  + {after}", flush=True)
    print(f"{path}: {noticed} of {len(chosen)} noticed, {reasons} explained, of {len(mutations)} there are", flush=True)
    return len(chosen), noticed, reasons


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="*", help="areas or modules of modules.toml; all if none is named")
    parser.add_argument("--count", type=int, default=30, help="mutants a module (default: 30)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="modules at a time (default: 1)")
    arguments = parser.parse_args()
    areas = tomllib.loads((HERE / "modules.toml").read_text())
    explained = tomllib.loads((HERE / "remaining.toml").read_text()).get("mutant", [])
    if wrong := set(arguments.what) - areas.keys() - {path for modules in areas.values() for path in modules}:
        sys.exit(f"no area or module of modules.toml: {', '.join(sorted(wrong))} (areas: {', '.join(areas)})")
    cosmic_ray.plugins.OPERATOR_PROVIDERS["saitan"] = Provider()
    chosen = [
        (area, path, tests)
        for area, modules in areas.items()
        for path, tests in modules.items()
        if not arguments.what or {area, path} & set(arguments.what)
    ]
    jobs = [(path, tests, explained, arguments.count, arguments.seed) for _, path, tests in chosen]
    totals = {}
    # A process a module: `run` changes its folder and environment.
    with multiprocessing.get_context("fork").Pool(arguments.jobs, maxtasksperchild=1) as pool:
        for (area, *_), found in zip(chosen, pool.starmap(run, jobs, chunksize=1), strict=True):
            totals[area] = tuple(map(sum, zip(totals.get(area, (0, 0, 0)), found, strict=True)))
    print(f"\n{'area':12}{'planted':>9}{'noticed':>9}{'explained':>11}{'left':>6}")
    for area, (planted, noticed, reasons) in totals.items():
        print(f"{area:12}{planted:9}{noticed:9}{reasons:11}{planted - noticed - reasons:6}")
    sys.exit(any(planted > noticed + reasons for planted, noticed, reasons in totals.values()))


if __name__ == "__main__":
    main()
