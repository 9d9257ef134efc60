"""Files that say they were made for something else, while Snakemake takes them for what it made.

Snakemake sees a changed parameter by its record in .snakemake. Without it (removed, or results/ copied alone) it goes
by dates; and a file that another one replaced it takes for a newer one of the same. So files are asked for their own
identity (identities.py), and what bears another one is made again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from saitan.workflow.answers import kept_answer
from saitan.workflow.arrays import array_file
from saitan.workflow.checksums import checksum_of
from saitan.workflow.graphs.catalogue import keyed_sources
from saitan.workflow.graphs.parquet import read_metadata
from saitan.workflow.graphs.reach import made_before
from saitan.workflow.instances import instance_identity
from saitan.workflow.left import OLD, replaced
from saitan.workflow.outline import outline_files
from saitan.workflow.parquet_files import check_pages, identity_in, identity_of_csv
from saitan.workflow.plan import VEGA, Plan
from saitan.workflow.points import digest
from saitan.workflow.step import Failure
from saitan.workflow.vega import SCRIPT_END, identity_of

# Snakemake's: records of how files were made, and marks of those that are not complete.
RECORDS, INCOMPLETE = Path(".snakemake/metadata"), Path(".snakemake/incomplete")
# What is known (checksums.py) of a Parquet file whose pages are what was written.
_WHOLE = "whole"
# How many names a message shows.
_NAMED = 3
# Snakemake cuts a longer name of a record into folders.
_LONGEST = 254


@contextlib.contextmanager
def _out_of_reach() -> Iterator[None]:
    """End the process with one line where files cannot be asked, those of another user for one."""
    try:
        yield
    except OSError as error:
        hint = "; remove it and run again" if isinstance(error, IsADirectoryError) else ""
        sys.exit(f"error: {error.filename}: {error.strerror}{hint}")


@_out_of_reach()
def make_again(plan: Plan) -> contextlib.ExitStack:
    """Have Snakemake make again what is not what the plan wants, and what it does not see by itself.

    What is returned, closed, puts all back as it was: after a dry run, say, that planned for another number of cores.
    """
    measured = {point.samples for point in plan.points}
    files, seen, touched = [], [], []
    for file, identity, found in _claims(plan):
        if not Path(file).exists():
            continue
        if _sees(file, identity):
            as_asked = file in measured and not _mistaken(Path(file), identity, found)
            (touched if as_asked else seen).append(file)
        elif _mistaken(Path(file), identity, found):
            files.append(file)
    fetched = list(filter(unrecorded, _doubtful_downloads(plan, {*files, *seen})))
    files += [*_told_otherwise(plan), *_untold(plan), *_cut(plan), *replaced(plan)]
    as_they_were = contextlib.ExitStack()
    for file in [*files, *fetched]:
        _forget(file, as_they_were)
    # After --touch for another configuration the record is of that one, and the numbers are not.
    for file in touched:
        with contextlib.suppress(OSError):
            _forget_record(_record(file), as_they_were)
    return as_they_were


@_out_of_reach()
def check_packed(plan: Plan, command: Sequence[str]) -> None:
    """End the process with one line where a command line has Snakemake pack (--report) what is out of date."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--report", nargs="*")
    parser.add_argument("--report-after-run", action="store_true")
    asked = parser.parse_known_args(command)[0]
    if asked.report is None or asked.report_after_run:
        return
    # A chart's title and axes are no part of the identity of what was measured.
    wrong = {*_told_another(outline_files(plan)), *_cut(plan), *replaced(plan)}
    stale = []
    for name, outline in zip(plan.config.experiments, plan.outlines[1:], strict=True):
        if wrong & {outline, *plan.shown_of(name)} or any(_stale(plan, name)):
            stale.append(name)
    if stale:
        names = ", ".join(stale[:_NAMED]) + (f" and {len(stale) - _NAMED} more" if len(stale) > _NAMED else "")
        why = "made for another configuration, code or number of cores, or damaged"
        sys.exit(f"--report: {names}: {why}: run without --report first, or add --report-after-run")


def _stale(plan: Plan, experiment: str) -> Iterator[bool]:
    """Of each file that an experiment shows and that is there: whether it bears another identity, or none."""
    identity = plan.table_identity(experiment)
    for file, found in _shown(plan, experiment):
        if Path(file).exists():
            yield _mistaken(Path(file), identity, found)


def _shown(plan: Plan, experiment: str) -> Iterator[tuple[str, Callable[[Path], str | None]]]:
    """The files of an experiment that say what they were made for, and how they are read."""
    table, figure = (f"{plan.run}/tables/{experiment}{end}" for end in (".parquet", ".figure.parquet"))
    yield from ((file, _identity_of_unharmed) for file in (table, figure))
    yield f"{plan.run}/tables/{experiment}.csv", lambda csv: identity_of_csv(csv, Path(table))
    yield f"{plan.run}/figures/{experiment}.json", identity_of


def _claims(plan: Plan) -> Iterator[tuple[str, str, Callable[[Path], str | None]]]:
    """Each file of a run that says what it was made for: what it should say, and how it is read."""
    for graph in plan.graphs:
        if graph in plan.made_graphs:
            yield from ((file, plan.graph_identity(graph), identity_in) for file in plan.graph_files(graph))
    for array in plan.arrays_used:
        if array not in plan.made_arrays:
            continue
        yield array_file(array), (identity := plan.array_identity(array)), _array_identity(plan, array, identity)
    for file, identity in plan.kept_identities.items():
        yield file, identity, _identity_of_kept
    for cubin in filter(os.path.exists, plan.cubins):
        *_, problem, stem = Path(cubin).with_suffix("").parts
        told = Path(cubin).with_suffix(".resources.json")
        identity = plan.cubin_identity(problem, stem)
        yield from ((file, identity, lambda _, told=told: _compiled_from(told)) for file in (cubin, str(told)))
    for made, point in {plan.queries_of(point): point for point in plan.points}.items():
        identity = plan.queries_identity(point)
        yield from ((file, identity, instance_identity) for file in (made, plan.reference_of(point)))
    for point in plan.points:
        yield point.samples, point.identity, _identity_of_unharmed
    for name in plan.config.experiments:
        yield from ((file, plan.table_identity(name), found) for file, found in _shown(plan, name))


def _told_otherwise(plan: Plan) -> list[str]:
    """What steps are told, where it is of another configuration and Snakemake does not compare what it told itself."""
    told = outline_files(plan)
    records = [_record(file) for file in told]
    # Of a job one of whose outputs it has no record of, it compares nothing: here, that of a new experiment.
    if all(record.exists() for record in records) and digest(told) not in _text(str(records[0])):
        return []
    return _told_another(told)


def _told_another(told: Mapping[str, str]) -> list[str]:
    """The files that are there and have another text."""
    return [file for file, text in told.items() if Path(file).exists() and _text(file) != text]


def _cut(plan: Plan) -> list[str]:
    """The page, what is listed of it, and the charts in it and their script, which bear no identity, where they do not
    end as they should.
    """
    ends = {f"{plan.run}/figures/{name}.svg": b"</svg>" for name in plan.config.experiments}
    ends |= {plan.report: b"</html>", plan.listed: b"}"} | ({VEGA: SCRIPT_END.encode()} if plan.draws else {})
    return [file for file, end in ends.items() if end not in _end(file, end)]


def _end(file: str, default: bytes) -> bytes:
    """The last bytes of a file, `default` where there is none."""
    try:
        with Path(file).open("rb") as opened:
            opened.seek(max(0, os.fstat(opened.fileno()).st_size - 100))
            return opened.read()
    except OSError:
        return default


def _untold(plan: Plan) -> list[str]:
    """What was made of plans that are gone, like Snakemake's record of it: nothing says what they told."""
    made = [plan.report, *(f"{plan.run}/tables/{name}.figure.parquet" for name in plan.config.experiments)]
    untold = [file for told, file in zip(plan.outlines, made, strict=True) if not Path(told).exists()]
    return list(filter(unrecorded, untold))


def _identity_of_unharmed(path: Path) -> str | None:
    return None if _harmed(path, path) else identity_in(path)


def _identity_of_kept(path: Path) -> str | None:
    kept = kept_answer(path)
    return None if any(_harmed(file, path) for file, told in kept.files.items() if told) else kept.identity


def _harmed(file: Path, output: Path) -> bool:
    """Whether a Parquet file is damaged that was written to since the job of an output ended: others are not read."""
    status, record = file.stat(), _record(str(output))
    if record.exists() and max(status.st_mtime_ns, status.st_ctime_ns) <= record.stat().st_mtime_ns:
        return False
    return checksum_of(str(file), file, _read_whole) != _WHOLE


def _read_whole(file: Path) -> str:
    check_pages(file)
    return _WHOLE


def _compiled_from(told: Path) -> str | None:
    try:
        return json.loads(told.read_bytes())["identity"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _array_identity(plan: Plan, array: str, identity: str) -> Callable[[Path], str | None]:
    """A .npy file says nothing of itself: what is known of its content does."""
    entry = plan.arrays[array]
    content = entry.sha256 or plan.contents.get(array)
    # Where nothing says what its file holds, Snakemake's record alone tells that it was made of the right one.
    known = content is not None or _record(array_file(array)).exists()
    return lambda path: identity if known and entry.is_in(path, content) else None


def _sees(file: str, identity: str) -> bool:
    """Whether Snakemake makes a file again by itself: its record is of another identity."""
    record = _record(file)
    return record.exists() and identity not in _text(str(record))


def _mistaken(file: Path, identity: str, found: Callable[[Path], str | None]) -> bool:
    """Whether a file is damaged or says that it is not of an identity."""
    try:
        return found(file) != identity
    except Failure:
        return True


def _doubtful_downloads(plan: Plan, made_again: set[str]) -> Iterator[str]:
    """The downloads of what is made again, or for the first time, that may be of another entry, place or content."""
    for graph in plan.graphs:
        files = plan.graph_files(graph)
        if not all(Path(file).exists() for file in files):
            yield from (file for file in plan.downloads_of(graph) if plan.local_copies(Path(file).name))
        elif made_again.intersection(files) and not _of_this_file(plan, graph):
            yield from plan.downloads_of(graph)
    yield from (plan.download_of_array(array) for array in plan.arrays_used if array_file(array) in made_again)


def _of_this_file(plan: Plan, graph: str) -> bool:
    """Whether a graph that is to be made again was made of the file that its entry names now.

    Not where nothing says what that file holds.
    """
    try:
        told = read_metadata(Path(plan.graph_folder(graph)))
    except Failure:
        return False
    entry, found = plan.entries[graph], [told.get("checksum"), told.get("coordinates_checksum")]
    checksums = [source.sha256 for source in keyed_sources(graph, entry).values()]
    right = [given or content for given, content in zip(checksums, plan.contents_of(graph), strict=True)]
    return made_before(graph, entry) and None not in right and right == found[: len(right)]


def unrecorded(file: str) -> bool:
    """Whether a file is there, and Snakemake's record of it is not."""
    return Path(file).exists() and not _record(file).exists()


def _forget(file: str, as_they_were: contextlib.ExitStack) -> None:
    """Have Snakemake take a file for an older one than all it is made of, and for an incomplete one: what it is made of
    may not be there yet, or there may be nothing that it could be older than. as_they_were: learns how to undo it, from
    any working directory.
    """
    mark = _record(file, INCOMPLETE)
    with contextlib.suppress(OSError):  # results of somebody else: Snakemake says what it cannot write
        made_incomplete = None if mark.exists() else mark.absolute()
        as_they_were.callback(_restore, Path(file).absolute(), Path(file).stat(), made_incomplete)
        os.utime(file, (OLD, OLD))  # a time of 0 is none to Snakemake
        # With a record, newer data of the same checksum is none to Snakemake.
        if (record := _record(file)).exists():
            _forget_record(record, as_they_were)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.write_text('{"external_jobid": null}', encoding="utf-8")


def _forget_record(record: Path, as_they_were: contextlib.ExitStack) -> None:
    """Have Snakemake go by dates alone. as_they_were: learns how to undo it, from any working directory."""
    as_they_were.callback(_restore_record, record.absolute(), record.read_bytes())
    record.unlink()


def _restore_record(record: Path, told: bytes) -> None:
    with contextlib.suppress(OSError):
        record.write_bytes(told)


def _restore(file: Path, before: os.stat_result, mark: Path | None) -> None:
    """mark: where there was none that it is incomplete."""
    with contextlib.suppress(OSError):
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        if mark:
            mark.unlink(missing_ok=True)


def _record(file: str, folder: Path = RECORDS) -> Path:
    name = urlsafe_b64encode(file.encode()).decode()
    *folders, last = (name[start : start + _LONGEST] for start in range(0, len(name), _LONGEST))
    return folder.joinpath(*(f"@{part}" for part in folders), last)


def _text(file: str) -> str:
    return Path(file).read_text(encoding="utf-8", errors="replace")
