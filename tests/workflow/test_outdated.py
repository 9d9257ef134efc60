import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from plans import ENTRIES, TROPICAL, WITHOUT, plan
from reports import write_coded
from samples import seconds, write_samples
from snakemake.persistence.file import FilePersistence

from saitan.blocks import Block
from saitan.generators import GENERATORS
from saitan.workflow.answer_writers import AnswerWriter
from saitan.workflow.arrays import Array
from saitan.workflow.config import load
from saitan.workflow.graphs.catalogue import Coordinates
from saitan.workflow.graphs.parquet import write_graph
from saitan.workflow.instances import write_queries, write_reference
from saitan.workflow.left import write_left
from saitan.workflow.outdated import INCOMPLETE, RECORDS, _record, check_packed, make_again, unrecorded
from saitan.workflow.outline import outline_files
from saitan.workflow.parquet_files import check_pages, checksum_of_csv
from saitan.workflow.planning import make
from saitan.workflow.points import digest
from saitan.workflow.tabulate import _write
from saitan.workflow.vega import SCRIPT_END

WIDTH = {"width": 3, "height": 3, "weight_low": 1, "weight_high": 2, "seed": 1}
GRID = [f"results/graphs/grid/{name}.parquet" for name in ("vertices", "edges")]
HIDDEN = [f"results/graphs/hidden/{name}.parquet" for name in ("vertices", "edges")]
BITS = np.arange(3, dtype=np.float32)


def place(folder, file):
    """Where Snakemake has its record of a file."""
    snakemake = SimpleNamespace(_fetch_max_len=lambda folder: 255)
    return Path(FilePersistence._record_path(snakemake, str(folder), file))


def recorded(file, told=""):
    """Snakemake's record of a file, whose step was told so."""
    record = place(RECORDS, file)
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps({"params": [told]}))


def again():
    """The files that Snakemake makes again: it takes them for old and incomplete."""
    files = [str(path) for path in Path("results").rglob("*") if path.is_file()]
    old = {file for file in files if Path(file).stat().st_mtime == 1 and unrecorded(file)}
    assert {file for file in files if place(INCOMPLETE, file).exists()} == old
    return old


def tell(made):
    for file, text in outline_files(made).items():
        Path(file).parent.mkdir(exist_ok=True, parents=True)
        Path(file).write_text(text)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A finished run of one point, with a chart."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config/published.yaml").write_text("graphs: {}\nexperiments: {}\n")
    made = plan(graphs=["grid"], variants=["conventional"], figure={"mark": "bar", "x": "graph", "y": "seconds"})
    [point] = made.points
    write_samples(Path(point.samples), seconds(1.0), identity=point.identity)
    write_grid(made.graph_identity("grid"))
    write_drawn(made, made.queries_identity(point))
    tables, charts = Path("results/run/tables"), Path("results/run/figures")
    tables.mkdir()
    charts.mkdir()
    write_tables(made.table_identity("tiny"))
    tell(made)
    return made


def write_grid(identity):
    write_graph(GENERATORS["grid"](**WIDTH), Path("results/graphs/grid"), identity)


def write_drawn(made, identity):
    [point] = made.points
    Path(made.queries_of(point)).parent.mkdir(parents=True, exist_ok=True)
    write_queries([1], Path(made.queries_of(point)), identity)
    write_reference(None, Path(made.reference_of(point)), identity)


TABLES = ["results/run/tables/tiny.parquet", "results/run/tables/tiny.figure.parquet", "results/run/figures/tiny.json"]
CSV = "results/run/tables/tiny.csv"


def write_tables(identity, value=1):
    Path(CSV).write_text(f"a\n{value}\n")
    for table in TABLES[:2]:
        _write(pd.DataFrame({"a": [value]}), Path(table), {"identity": identity, "csv": checksum_of_csv(Path(CSV))})
    Path(TABLES[2]).write_text(json.dumps({"usermeta": {"saitan": {"identity": identity}}}))


def test_what_is_out_of_date_is_not_packed(run):
    packing = ["--cores", "1", "--report", "archive.zip"]
    check_packed(run, packing)
    # A run that was never made: Snakemake says so.
    check_packed(plan(settings={"name": "other"}, graphs=["grid"], variants=["conventional"]), packing)
    edited = plan(graphs=["grid"], variants=["conventional"], seed=9)
    for command in (["--report"], ["--report=archive.html"], packing):
        with pytest.raises(
            SystemExit, match=r"^--report: tiny: made for another configuration, code or number of cores, or damaged: "
        ):
            check_packed(edited, command)
    check_packed(edited, ["--cores", "1"])
    titled = plan(graphs=["grid"], variants=["conventional"], figure={"mark": "bar", "x": "graph", "y": "phases"})
    assert titled.table_identity("tiny") == run.table_identity("tiny")
    with pytest.raises(SystemExit, match=r"^--report: tiny: "):
        check_packed(titled, packing)
    check_packed(titled, [*packing, "--report-after-run"])
    # One file of several, and one that is damaged.
    for file, damage in ((TABLES[1], b"half"), (TABLES[2], b"{}")):
        right = Path(file).read_bytes()
        Path(file).write_bytes(damage)
        with pytest.raises(SystemExit, match="tiny"):
            check_packed(run, packing)
        Path(file).write_bytes(right)
    check_packed(run, packing)


def test_what_is_of_this_configuration_stays(run):
    make_again(run)
    assert again() == set()


@pytest.mark.parametrize("kind", ["samples", "graph", "tables", "queries"])
def test_a_file_that_replaced_that_of_the_record_is_made_again(run, kind):
    [point] = run.points
    identity, files, write = {
        "samples": (
            point.identity,
            {point.samples},
            lambda told: write_samples(Path(point.samples), seconds(1.0), identity=told),
        ),
        "graph": (run.graph_identity("grid"), {*GRID}, write_grid),
        "tables": (run.table_identity("tiny"), {*TABLES, CSV}, write_tables),
        "queries": (
            run.queries_identity(point),
            {run.queries_of(point), run.reference_of(point)},
            lambda told: write_drawn(run, told),
        ),
    }[kind]
    for file in files:
        recorded(file, identity)
    make_again(run)
    assert again() == set()
    write("another")
    # Snakemake sees by itself that it is told otherwise now.
    for file in files:
        recorded(file, "earlier")
    make_again(run)
    assert again() == set() and not any(map(unrecorded, files))
    for file in files:
        recorded(file, identity)
    before = {file: (Path(file).stat().st_mtime_ns, record.read_bytes()) for file in files if (record := _record(file))}
    as_they_were = make_again(run)
    assert again() == files
    # Snakemake leaves the folder that --directory names before a process ends.
    here = Path.cwd()
    os.chdir("/")
    as_they_were.close()
    os.chdir(here)
    assert again() == set()
    assert before == {file: (Path(file).stat().st_mtime_ns, _record(file).read_bytes()) for file in files}
    make_again(run).pop_all()
    assert again() == files


def test_a_point_that_was_touched_for_another_configuration_is_not_measured_again(run):
    [point] = run.points
    recorded(point.samples, "another")
    before = _record(point.samples).read_bytes()
    as_they_were = make_again(run)
    assert unrecorded(point.samples) and again() == set()
    as_they_were.close()
    assert _record(point.samples).read_bytes() == before
    make_again(run).pop_all()
    assert unrecorded(point.samples)


def test_a_mark_of_snakemake_s_own_stays_where_all_is_put_back(run):
    [point] = run.points
    write_samples(Path(point.samples), seconds(1.0), identity="another")
    mark = _record(point.samples, INCOMPLETE)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.write_text("{}")
    make_again(run).close()
    assert mark.exists()


@pytest.mark.usefixtures("run")
def test_queries_of_no_data_are_drawn_again():
    made = plan(TROPICAL, {"name": "other"}, instance={"n": 32})
    [point] = made.points
    files = {made.queries_of(point), made.reference_of(point)}
    write_drawn(made, made.queries_identity(point))
    make_again(made)
    assert again() == set()
    write_drawn(made, None)
    make_again(made)
    assert again() == files


@pytest.mark.parametrize("recorded_too", [True, False])
def test_a_cubin_of_other_sources_is_compiled_again(run, recorded_too):
    cubin, told = (
        Path("results/cubins/sm_90/sssp/phases.cubin"),
        Path("results/cubins/sm_90/sssp/phases.resources.json"),
    )
    cubin.parent.mkdir(parents=True)
    cubin.write_bytes(b"cubin")
    identity, files = run.cubin_identity("sssp", "phases"), {str(cubin), str(told)}
    told.write_text(json.dumps({"identity": identity, "kernels": []}))
    for file in files if recorded_too else ():
        recorded(file, identity)
    make_again(run)
    assert again() == set()
    # Another one, one of an earlier version, and a damaged one.
    for content in ('{"identity": "another", "kernels": []}', "[]", "{"):
        told.write_text(content)
        for file in files if recorded_too else ():
            recorded(file, identity)
        make_again(run)
        assert again() == files
    told.unlink()
    make_again(run)
    assert again() == {str(cubin)}


@pytest.mark.parametrize("kind", ["samples", "graph", "table", "chart"])
def test_without_a_record_a_file_of_another_configuration_is_made_again(run, kind):
    [point] = run.points
    if kind == "samples":
        write_samples(Path(point.samples), seconds(1.0), identity="another")
    elif kind == "graph":
        write_grid("another")
    elif kind == "table":
        _write(pd.DataFrame({"a": [1]}), Path(TABLES[0]), {"identity": "another", "csv": checksum_of_csv(Path(CSV))})
    else:
        Path(TABLES[2]).write_text("{}")
    files = {"samples": {point.samples}, "graph": {*GRID}, "table": {TABLES[0], CSV}, "chart": {TABLES[2]}}[kind]
    make_again(run)
    assert again() == files


def test_a_damaged_file_is_made_again(run):
    files = {run.points[0].samples, *GRID, *TABLES, CSV}
    for file in files:
        os.truncate(file, 9)
    make_again(run)
    assert again() == files


@pytest.mark.parametrize("text", ["a\n2\n", "a\n1", "", "a\r\n1\r\n"])
def test_a_table_that_was_saved_over_or_cut_is_made_again(run, text):
    """By a spreadsheet, say."""
    check_packed(run, ["--report", "x.zip"])
    Path(CSV).write_text(text, newline="")
    with pytest.raises(SystemExit, match=r"^--report: tiny: .* or damaged: "):
        check_packed(run, ["--report", "x.zip"])
    make_again(run)
    assert again() == {CSV}


@pytest.mark.parametrize(
    ("file", "end"),
    [
        ("results/run/report.html", "</body>\n</html>\n"),
        ("results/run/figures/tiny.svg", "</svg>"),
        ("results/vega.js", SCRIPT_END + "\n"),
    ],
)
def test_what_was_cut_is_made_again(run, file, end):
    Path(file).write_text("x" * 300 + end)
    make_again(run)
    assert again() == set()
    os.truncate(file, 299)
    if file.endswith("svg"):
        with pytest.raises(SystemExit, match=r"^--report: tiny: .* or damaged: "):
            check_packed(run, ["--report", "x.zip"])
    make_again(run)
    assert again() == {file}


LEFT = ["results/run/report.html", "results/run/report.json", "results/run/figures/tiny.svg", CSV, *TABLES]


@pytest.mark.parametrize("file", LEFT)
def test_another_file_in_the_place_of_what_a_run_left_is_made_again(run, file):
    """An older page, say, which bears no identity, or an older table, whose configuration was the same."""
    for text in LEFT[:3]:
        Path(text).write_text("one</svg></html>}")
    make_again(run)
    write_left(run)
    # Of a later date, or copied there from elsewhere: still what was left.
    shutil.copy(file, "aside")
    Path("aside").replace(file)
    make_again(run)
    assert again() == set()
    before = Path(file).read_bytes()
    if file in LEFT[:3]:
        Path(file).write_bytes(b"two" + before[3:])
    elif file == CSV:
        write_tables(run.table_identity("tiny"), 2)
    elif file == TABLES[2]:
        Path(file).write_bytes(before + b" ")
    else:
        about = {"identity": run.table_identity("tiny"), "csv": checksum_of_csv(Path(CSV))}
        _write(pd.DataFrame({"a": [2]}), Path(file), about)
    changed = {CSV, *TABLES[:2]} if file == CSV else {file}
    if file not in LEFT[:2]:
        with pytest.raises(SystemExit, match=r"^--report: tiny: .* or damaged: "):
            check_packed(run, ["--report", "x.zip"])
    for _ in range(2):
        make_again(run)
        assert again() == changed
        # A run with another target does not make it again.
        write_left(run)


@pytest.mark.parametrize("length", [10, 190, 191, 400])
def test_records_are_found_whatever_the_length_of_a_path(run, length):
    file = "/".join(["results", "a" * (length // 2), "b" * (length // 2)])
    Path(file).parent.mkdir()
    Path(file).write_text("")
    assert unrecorded(file)
    recorded(file)
    assert not unrecorded(file)


def test_what_steps_were_told_of_another_configuration_is_told_again(run):
    told = "results/run/plan/tiny.json"
    Path(told).write_text(json.dumps({"title": "another"}))
    make_again(run)
    assert again() == {told}


def test_what_another_clone_told_steps_is_told_again(run):
    """Of results that two clones share: the records of this one say what it told last."""
    told = outline_files(run)
    for file in told:
        recorded(file, digest(told))
    make_again(run)
    assert again() == set()
    Path("results/run/plan/tiny.json").write_text(json.dumps({"title": "another"}))
    make_again(run)
    assert again() == {"results/run/plan/tiny.json"}


def test_where_an_experiment_is_new_what_steps_were_told_is_told_again(run):
    """One that shows nothing, whose own file nobody asks for: Snakemake compares nothing where it has no record."""
    whole, told = "results/run/plan.json", "results/run/plan/tiny.json"
    for file in (whole, told):
        recorded(file)
    Path(whole).write_text("{}")
    make_again(run)
    assert again() == set(), "Snakemake sees that by itself"
    Path(told).unlink()
    place(RECORDS, told).unlink()
    recorded(TABLES[1], run.table_identity("tiny"))
    make_again(run)
    assert again() == {whole}


def test_what_was_made_of_a_plan_that_is_gone_is_made_again_where_no_record_tells_of_it(run):
    whole, told = Path("results/run/plan.json"), Path("results/run/plan/tiny.json")
    Path(run.report).write_text("made of another title</html>")
    made = {whole: run.report, told: TABLES[1]}
    for gone, file in made.items():
        gone.rename("aside")
        recorded(file, run.table_identity("tiny"))
        make_again(run)
        assert again() == set()
        place(RECORDS, file).unlink()
        make_again(run).close()
        assert again() == set()
        make_again(run).pop_all()
        assert again() == {file}
        place(INCOMPLETE, file).unlink()
        os.utime(file)
        Path("aside").rename(gone)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A finished run of a graph and an array of the user's own, of which an answer is kept."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config/published.yaml").write_text("graphs: {}\nexperiments: {}\n")
    for file in ("hidden.gr", "field.bin"):
        (tmp_path / file).touch()
    array = Array(title="F", file="field.bin", dtype="float32")
    kept = {"title": "K", "problem": "sssp", "graphs": ["hidden"], "variants": ["scipy"], "keep": ["distances"]}
    packed = {"title": "P", "problem": "compression", "arrays": ["field"], "variants": ["fpc"]}
    experiments = {"kept": kept | {"keep_as": "compressed"}, "packed": packed}
    config = load({"name": "run", "mirror": ".", "experiments": experiments}, ENTRIES, ["field"])
    contents = {"hidden": "abc", "field": hashlib.sha256(BITS.tobytes()).hexdigest()}
    made = make(config, WITHOUT, ENTRIES, {"field": array}, contents=contents)
    metadata = {"checksum": "abc", "origin": "hidden.gr", "format": "pace"}
    graph = replace(GENERATORS["grid"](**WIDTH), metadata=metadata)
    write_graph(graph, Path("results/graphs/hidden"), made.graph_identity("hidden"))
    for file in ("downloads/hidden.gr", "downloads/field.bin"):
        Path("results", file).parent.mkdir(exist_ok=True)
        Path("results", file).write_text("")
    Path("results/arrays").mkdir()
    np.save("results/arrays/field.npy", BITS)
    keep(made)
    tell(made)
    return made


def keep(made, identity=None):
    [answer] = made.kept
    about = {"identity": identity or made.kept_identities[answer]}
    with AnswerWriter(Path(answer).parent, ["distances"], about) as write:
        write(Block("distances", 0, np.zeros(3)))


def test_own_files_as_they_were_stay(own):
    make_again(own)
    assert again() == set()


def test_a_graph_of_another_content_is_fetched_and_converted_again(own):
    graph = replace(GENERATORS["grid"](**WIDTH), metadata={"checksum": "other", "origin": "hidden.gr"})
    write_graph(graph, Path("results/graphs/hidden"), "another")
    make_again(own)
    assert again() == {*HIDDEN, "results/downloads/hidden.gr"}
    recorded("results/downloads/hidden.gr")
    place(INCOMPLETE, "results/downloads/hidden.gr").unlink()
    make_again(own)
    assert again() == {*HIDDEN}


def test_a_graph_of_other_coordinates_is_fetched_and_converted_again(own):
    made_of = {"checksum": "abc", "origin": "hidden.gr", "format": "pace", "coordinates_checksum": "other"}
    graph = replace(GENERATORS["grid"](**WIDTH), metadata=made_of)
    write_graph(graph, Path("results/graphs/hidden"), "another")
    Path("hidden.co").touch()
    place = Coordinates(file="hidden.co")
    entries = ENTRIES | {"hidden": ENTRIES["hidden"].model_copy(update={"coordinates": place})}
    make_again(replace(own, entries=entries, contents=own.contents | {"hidden/coordinates": "abd"}))
    assert again() >= {*HIDDEN, "results/downloads/hidden.gr"}


def test_a_graph_that_other_code_made_of_the_same_file_is_converted_again(own):
    metadata = {"checksum": "abc", "origin": "hidden.gr", "format": "pace"}
    graph = replace(GENERATORS["grid"](**WIDTH), metadata=metadata)
    write_graph(graph, Path("results/graphs/hidden"), "another")
    make_again(own)
    assert again() == {*HIDDEN}


def test_a_download_of_which_nothing_is_recorded_is_fetched_where_its_graph_is_made_anyway(own):
    download = "results/downloads/hidden.gr"
    # Snakemake sees by its record that the graph is of another content, and makes it of the download that is there.
    recorded(HIDDEN[0], "another")
    recorded(HIDDEN[1], "another")
    write_graph(replace(GENERATORS["grid"](**WIDTH), metadata={"checksum": "other"}), Path(HIDDEN[0]).parent, "another")
    make_again(own).close()
    make_again(own)
    assert again() == {download}
    recorded(download)
    place(INCOMPLETE, download).unlink()
    make_again(own)
    assert again() == set()


def test_a_graph_that_is_gone_is_made_of_the_mirrors_file_of_now(own):
    for file in HIDDEN:
        Path(file).unlink()
    make_again(own)
    assert again() == {"results/downloads/hidden.gr"}


def test_a_mirror_of_another_address_may_have_another_file(own):
    """Of what a mirror with an address has nothing is known: not by the records, which may be gone, but by its name."""
    identities = set()
    for mirror in ("http://one", "http://other"):
        config = own.config.model_copy(update={"mirror": mirror})
        made = replace(own, config=config, contents={})
        identities.add(made.graph_identity("hidden"))
        metadata = {"checksum": "abc", "origin": "hidden.gr", "format": "pace"}
        write_graph(replace(GENERATORS["grid"](**WIDTH), metadata=metadata), Path(HIDDEN[0]).parent, "another")
        make_again(made)
        assert again() >= {*HIDDEN, "results/downloads/hidden.gr"}
    assert len(identities | {own.graph_identity("hidden")}) == 3


@pytest.mark.parametrize("damage", ["cut", "another address"])
def test_a_graph_of_which_nothing_is_known_is_fetched_again(own, damage):
    if damage == "cut":
        os.truncate(HIDDEN[0], 9)
    else:
        metadata = {"checksum": "abc", "origin": "other.gr", "format": "pace"}
        write_graph(replace(GENERATORS["grid"](**WIDTH), metadata=metadata), Path("results/graphs/hidden"), "another")
    make_again(own)
    assert again() >= {HIDDEN[0], "results/downloads/hidden.gr"}


def test_a_download_that_is_no_copy_is_fetched_again(own):
    Path("hidden.gr").unlink()
    graph = replace(GENERATORS["grid"](**WIDTH), metadata={"checksum": "other", "origin": "hidden.gr"})
    write_graph(graph, Path("results/graphs/hidden"), "another")
    made = replace(own, config=own.config.model_copy(update={"mirror": "http://host"}))
    make_again(made)
    assert again() == {*HIDDEN, "results/downloads/hidden.gr"}


@pytest.mark.parametrize("values", [BITS.astype(np.int32), BITS + 1, BITS[:2]], ids=["type", "content", "length"])
def test_an_array_of_another_entry_or_content_is_fetched_and_unpacked_again(own, values):
    array = "results/arrays/field.npy"
    recorded(array, own.array_identity("field"))
    recorded("results/downloads/field.bin")
    make_again(own)
    np.save(array, values)
    make_again(own)
    assert again() == {array}
    place(RECORDS, "results/downloads/field.bin").unlink()
    make_again(own)
    assert again() == {array, "results/downloads/field.bin"}


def test_an_array_of_which_nothing_is_known_is_fetched_again(own):
    """Its file says nothing of itself: without Snakemake's record it may be that of another mirror."""
    made = replace(own, config=own.config.model_copy(update={"mirror": "http://host"}), contents={"hidden": "abc"})
    array, download = "results/arrays/field.npy", "results/downloads/field.bin"
    recorded(array, made.array_identity("field"))
    recorded(download)
    make_again(made).close()
    make_again(made)
    assert not {array, download} & again()
    for file in (array, download):
        place(RECORDS, file).unlink()
    make_again(made)
    assert again() >= {array, download}


def test_a_cut_array_is_unpacked_again(own):
    os.truncate("results/arrays/field.npy", 5)
    make_again(own)
    assert "results/arrays/field.npy" in again()


def test_an_answer_of_which_a_file_was_lost_or_replaced_is_kept_again(own):
    [answer] = own.kept
    identity = own.kept_identities[answer]
    coded = write_coded(Path(answer), identity=identity)
    recorded(answer, identity)
    make_again(own)
    assert again() == set()
    coded.write_text("another")
    make_again(own)
    assert again() == {answer}
    write_coded(Path(answer), identity=identity)
    recorded(answer, identity)
    coded.unlink()
    make_again(own)
    assert again() == {answer}


def change_a_byte(file):
    """The last one of a file's last page."""
    with pq.ParquetFile(file) as told:
        column = told.metadata.row_group(told.num_row_groups - 1).column(told.metadata.num_columns - 1)
    first = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
    data = bytearray(Path(file).read_bytes())
    data[first + column.total_compressed_size - 1] ^= 1
    Path(file).write_bytes(data)


def made_again_after_a_changed_byte(made, file, identity, recorded_too, monkeypatch):
    if recorded_too:
        recorded(file, identity)
    read = []
    monkeypatch.setattr(
        "saitan.workflow.outdated.check_pages", lambda path: read.append(str(path)) or check_pages(path)
    )
    for _ in range(2):
        make_again(made)
        assert again() == set()
    # What was not written to since its job ended is not read, and the rest once.
    assert read.count(file) == (0 if recorded_too else 1)
    change_a_byte(file)
    make_again(made)
    assert again() == {file}
    assert read.count(file) == (1 if recorded_too else 2)


@pytest.mark.parametrize("recorded_too", [False, True])
def test_an_answer_in_which_a_byte_was_changed_is_kept_again(own, recorded_too, monkeypatch):
    [answer] = own.kept
    made_again_after_a_changed_byte(own, answer, own.kept_identities[answer], recorded_too, monkeypatch)


@pytest.mark.parametrize("recorded_too", [False, True])
@pytest.mark.parametrize("kind", ["table", "numbers of a figure", "samples"])
def test_a_file_of_numbers_in_which_a_byte_was_changed_is_made_again(run, kind, recorded_too, monkeypatch):
    file = {"table": TABLES[0], "numbers of a figure": TABLES[1], "samples": run.points[0].samples}[kind]
    identity = run.points[0].identity if kind == "samples" else run.table_identity("tiny")
    made_again_after_a_changed_byte(run, file, identity, recorded_too, monkeypatch)
    if kind != "samples":
        with pytest.raises(SystemExit, match=r"^--report: tiny: .* or damaged: "):
            check_packed(run, ["--report", "x.zip"])


@pytest.mark.parametrize("recorded_too", [False, True])
def test_an_answer_of_another_configuration_is_kept_again(own, recorded_too):
    [answer] = own.kept
    if recorded_too:
        recorded(answer, own.kept_identities[answer])
    keep(own, "another")
    make_again(own)
    assert again() == {answer}


def test_a_folder_in_the_place_of_a_file_is_one_line(run):
    Path(CSV).unlink()
    Path(CSV).mkdir()
    with pytest.raises(SystemExit, match=rf"^error: {CSV}: Is a directory; remove it and run again$"):
        make_again(run)


@pytest.mark.parametrize("what", [make_again, lambda plan: check_packed(plan, ["--report", "a.zip"])])
def test_files_that_cannot_be_asked_are_one_line(what, run, monkeypatch):
    asked = Path.exists

    def exists(path):
        if "tables" in path.parts:
            raise PermissionError(13, "Permission denied", str(path))
        return asked(path)

    monkeypatch.setattr(Path, "exists", exists)
    with pytest.raises(SystemExit) as ended:
        what(run)
    assert "tables" in str(ended.value) and str(ended.value).endswith(".parquet: Permission denied")
