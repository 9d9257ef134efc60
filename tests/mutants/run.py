"""Plant small faults in a module, one at a time, and see whether its tests notice. For developers; not part of CI.

    python tests/mutants/run.py                       every module of modules.toml
    python tests/mutants/run.py validators graph      areas, or modules such as kernels/graph.py
    python tests/mutants/run.py graph --count 100 --seed 2
    python tests/mutants/run.py --jobs 8              modules side by side, each in a copy of its own

Cosmic Ray makes the mutants, by its operators and those of operators.py. A sample of them is drawn, from as many places
of the code as there are. planting.py plants each and runs the module's tests until one fails. Printed are the mutants
that no test notices, those whose tests take too long, and those whose tests fail or skip without them too. A mutant
listed in remaining.toml with a reason is counted as explained. The exit status is 1 where others are left.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import random
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import cosmic_ray.plugins
from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_code
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec
from operators import Provider
from planting import MISSED, NOTICED, ROOT, TIMED_OUT, UNTESTED, Copy

HERE = Path(__file__).parent
EXPLAINED = "explained"
# Decorators are Numba's, fixtures' and dataclasses': without them code is slower, or does not start.
# `is` between values that are no None says the same as ==, or depends on what the interpreter keeps.
LEFT_ALONE = ("core/RemoveDecorator", "core/ReplaceComparisonOperator_Is", "core/ExceptionReplacer")
cosmic_ray.plugins.OPERATOR_PROVIDERS["saitan"] = Provider()


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


def mutants(path: str, count: int, seed: int) -> Iterator[tuple[int, str]]:
    """The line and the whole text of each mutant of a sample."""
    with tempfile.TemporaryDirectory() as folder, use_db(f"{folder}/session.sqlite", WorkDB.Mode.create) as session:
        init([ROOT / path], session, {})
        mutations = [item.mutations[0] for item in session.work_items]
    source = (ROOT / path).read_text()
    for mutation in sample(mutations, source, count, seed) if mutations else ():
        operator = cosmic_ray.plugins.get_operator(mutation.operator_name)(**(mutation.operator_args or {}))
        text = mutate_code(source, operator, mutation.occurrence)
        if text is not None and text != source:
            yield mutation.start_pos[0], text


def changed_lines(source: str, text: str) -> tuple[str, str]:
    """The lines that only one of two texts has, stripped and joined."""
    diff = list(difflib.unified_diff(source.splitlines(), text.splitlines(), lineterm="", n=0))[2:]
    return tuple(" ".join(line[1:].strip() for line in diff if line[0] == sign) for sign in "-+")


def start(folder: str) -> None:
    """Makes the copy of a process that plants."""
    global copy
    copy = Copy(Path(folder) / str(os.getpid()))


def run(path: str, tests: list[str], count: int, seed: int) -> Counter[str]:
    """How often each happened to mutants of a module; prints those not noticed."""
    explained = tomllib.loads((HERE / "remaining.toml").read_text())["mutant"]
    known = {(one["path"], one["before"], one["after"]) for one in explained}
    found = Counter()
    for line, text in mutants(path, count, seed):
        before, after = changed_lines((ROOT / path).read_text(), text)
        verdict, why = copy.verdict(path, text, tests)
        if verdict == MISSED and (path, before, after) in known:
            verdict = EXPLAINED
        found[verdict] += 1
        if verdict not in (NOTICED, EXPLAINED):
            print(f"{path}:{line}: {verdict} ({why})\n  - {before}\n  + {after}", flush=True)
    print(
        f"{path}: {', '.join(f'{number} {verdict}' for verdict, number in found.items()) or 'no mutants'}", flush=True
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="*", help="areas or modules of modules.toml; all if none is named")
    parser.add_argument("--count", type=int, default=30, help="mutants a module (default: 30)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="modules at a time (default: 1)")
    arguments = parser.parse_args()
    areas = tomllib.loads((HERE / "modules.toml").read_text())
    if wrong := set(arguments.what) - areas.keys() - {path for modules in areas.values() for path in modules}:
        sys.exit(f"no area or module of modules.toml: {', '.join(sorted(wrong))} (areas: {', '.join(areas)})")
    chosen = [
        (area, path, tests)
        for area, modules in areas.items()
        for path, tests in modules.items()
        if not arguments.what or {area, path} & set(arguments.what)
    ]
    totals: dict[str, Counter[str]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as folder,
        ProcessPoolExecutor(arguments.jobs, initializer=start, initargs=(folder,)) as pool,
    ):
        jobs = [pool.submit(run, path, tests, arguments.count, arguments.seed) for _, path, tests in chosen]
        for (area, *_), job in zip(chosen, jobs, strict=True):
            totals[area] = totals.get(area, Counter()) + job.result()
    columns = (NOTICED, TIMED_OUT, EXPLAINED, MISSED, UNTESTED)
    print(f"\n{'area':12}{'planted':>9}{''.join(f'{name:>13}' for name in columns)}")
    for area, found in totals.items():
        print(f"{area:12}{found.total():9}{''.join(f'{found[name]:13}' for name in columns)}")
    sys.exit(any(found[MISSED] + found[UNTESTED] for found in totals.values()))


if __name__ == "__main__":
    main()
