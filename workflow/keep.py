"""Keep an answer: run the first query once, untimed, check all of it, and write outputs block by block.

It is compared with the reference too, as a measured one is.

Of a variant that turns out not to answer this instance, whose point is left out, the files say so and hold nothing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from saitan.blocks import Digest, both
from saitan.cuda.module import only
from saitan.problem import Form, Invalid, Unavailable, completed, kernels_of
from saitan.ranks import Ranks, current
from saitan.untouched import untouched
from saitan.workflow.answer_writers import AnswerWriter, SlabWriter, refuse_slabs, write_form, write_unavailable
from saitan.workflow.instances import add_inputs, load_instance, read_queries, read_reference
from saitan.workflow.numba_code import load_numba
from saitan.workflow.provenance import provenance
from saitan.workflow.sampling import Answering, as_checked, check_same, prepared, staying, with_rows
from saitan.workflow.step import Failure, add_ranks, leave_after, one_line, refusal, run_step, say

# Rows that leave a solver at a time, where all of the answer is there: about this many bytes.
SLAB = 64 << 20


def keep(arguments: argparse.Namespace) -> None:
    settings, ranks = json.loads(arguments.settings), current()
    about = {
        "identity": settings.pop("identity", None),
        "query": None,
        "answer": settings,
        "provenance": provenance(settings["backend"], ranks),
    }
    try:
        about["query"] = query = read_queries(arguments.queries)[0]
        package, instance = load_instance(settings, arguments)
        with only(kernels_of(settings["problem"], package.VARIANTS[settings["variant"]])):
            _keep(package, instance, query, ranks, arguments, about)
    except Unavailable as error:
        if not ranks.all_leave():
            raise
        if ranks.leads:
            reason = one_line(error)
            say(arguments.log, f"left out: {reason}")
            write_unavailable(arguments.folder, arguments.outputs, about, reason)


def _keep(
    package: ModuleType, instance: Any, query: Any, ranks: Ranks, arguments: argparse.Namespace, about: dict[str, Any]
) -> None:
    settings = about["answer"]
    reference = read_reference(arguments.reference)
    if form := getattr(package, "FORMS", {}).get(arguments.keep_as):
        _keep_in_form(package, instance, reference, form, arguments, about)
        return
    if ranks.size > 1:
        try:
            _keep_together(package, instance, reference, query, ranks, arguments, about)
        except (Failure, Invalid):
            refuse_slabs(arguments.folder, arguments.outputs)
            raise
        return
    with (
        AnswerWriter(arguments.folder, arguments.outputs, about, arguments.keep_as == "compressed") as sink,
        untouched(instance, settings["variant"], Failure),
        prepared(package, instance, settings) as solver,
    ):
        answering = Answering(package, solver, reference, ranks)
        if getattr(solver, "streamed", False):
            first, _ = answering.certify(query)
            # Written in a run of its own, so that no block waits for the check on its way to the file.
            solver.run(query, both(sink, second := Digest()))
            if first != second:
                raise Invalid(f"two runs of one query differ: {first} and {second}")
        else:
            answering.answer(query)
            _write_whole(solver, answering, sink)


def _write_whole(solver: Any, answering: Answering, sink: AnswerWriter) -> None:
    for block in solver.blocks():
        answering.check_declared(block)
        for rows in _slabs(block.array):
            sink(block._replace(first=block.first + rows.start, array=block.array[rows]))


def _keep_in_form(
    package: ModuleType, instance: Any, reference: Any, form: Form, arguments: argparse.Namespace, about: dict[str, Any]
) -> None:
    """The problem writes a file of its own, and checks what is in it. Of a reference without other outputs its rows
    are read and compared.
    """
    settings = about["answer"]
    load_numba(settings["backend"])
    given = completed(settings["parameters"], package.VARIANTS[settings["variant"]].parameters)
    [output] = arguments.outputs

    def write(path: Path) -> None:
        variant = settings["variant"]
        try:
            with staying(variant), untouched(instance, variant, Failure):
                form.write(instance, variant, settings["backend"], path, about["query"], **given)
        except ValueError as error:
            raise Failure(f"{variant} kept as {arguments.keep_as}: {refusal(error)}") from None

    def compare(rows_of: Callable[[slice], np.ndarray]) -> None:
        if reference.rows is None:
            rows = rows_of(slice(None))
        else:
            rows = np.concatenate([rows_of(slice(row, row + 1)) for row in map(int, reference.rows)])
        check_same(package, reference, {output: rows})

    comparable = with_rows(reference) and {*reference.arrays}.intersection(package.OUTPUTS) == {output}
    write_form(arguments.folder, output, arguments.keep_as, form, about, write, compare if comparable else None)


def _keep_together(
    package: ModuleType,
    instance: Any,
    reference: Any,
    query: Any,
    ranks: Ranks,
    arguments: argparse.Namespace,
    about: dict[str, Any],
) -> None:
    """Every rank checks and writes the slabs that it makes; those of an earlier call that was ended are not made
    again, so that nothing is compared with the reference. Of an answer that every rank has the whole of, the leader
    writes all.
    """
    settings, compressed = about["answer"], arguments.keep_as == "compressed"
    with untouched(instance, settings["variant"], Failure), prepared(package, instance, settings) as solver:
        if not hasattr(solver, "slabs"):
            raise Failure("several ranks keep an answer that leaves in slabs: give the instance `answer: slabs`")
        if not solver.streamed:
            answering = Answering(package, solver, reference, ranks)
            answering.answer(query)
            if ranks.leads:
                with AnswerWriter(arguments.folder, arguments.outputs, about, compressed) as sink:
                    _write_whole(solver, answering, sink)
            return
        [output] = arguments.outputs
        # Without what differs from call to call.
        same = {name: about[name] for name in ("identity", "query", "answer")}
        writer = SlabWriter(arguments.folder, output, same, compressed)
        slabs = solver.slabs(query[1])
        solver.done = ranks.agree(_taken_over(writer, slabs) if ranks.leads else None)
        check = solver.checker(query)
        solver.run(query, both(check, writer))
        as_checked(check.finish(), query)
    # Every rank's instance is as it was.
    ranks.each(None)
    if ranks.leads:
        writer.join(slabs, about)


def _taken_over(writer: SlabWriter, slabs: dict[int, int]) -> frozenset[int]:
    """The first rows of slabs that are there and are not made again.

    One is made in any case: what its solver does to the instance would not be seen otherwise.
    """
    done = writer.finished(slabs)
    return done - {max(slabs)} if len(done) == len(slabs) else done


def _slabs(array: np.ndarray):
    step = max(1, SLAB // max(1, array.nbytes // max(1, len(array))))
    for low in range(0, max(1, len(array)), step):
        yield slice(low, min(low + step, len(array)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--settings", required=True, help="the point as JSON")
    add_inputs(parser)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--cores", type=int, required=True, help="cores of the machine that the solver may use")
    parser.add_argument("--folder", type=Path, required=True, help="where <output>.parquet are written")
    parser.add_argument("--outputs", nargs="+", required=True)
    parser.add_argument("--keep-as", required=True, help="how they are written: raw, compressed, or a problem's form")
    add_ranks(parser)
    run_step(keep, parser)


if __name__ == "__main__":
    leave_after(main)
