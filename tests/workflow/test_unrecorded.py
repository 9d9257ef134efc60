import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from plans import ENTRIES, WITHOUT, plan
from reports import write_coded
from samples import seconds, write_samples
from snakemake.persistence.file import FilePersistence

from saitan.blocks import Block
from saitan.generators import GENERATORS
from saitan.workflow.answers import AnswerWriter
from saitan.workflow.arrays import Array
from saitan.workflow.config import load
from saitan.workflow.graphs.parquet import write_graph
from saitan.workflow.outline import outline_files
from saitan.workflow.planning import make
from saitan.workflow.unrecorded import RECORDS, date_back, unrecorded

WIDTH = {"width": 3, "height": 3, "weight_low": 1, "weight_high": 2, "seed": 1}


def recorded(file, told=""):
    """Snakemake's record of a file, whose step was told so."""
    snakemake = SimpleNamespace(_fetch_max_len=lambda folder: 255)
    record = Path(FilePersistence._record_path(snakemake, str(RECORDS), file))
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps({"params": [told]}))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A finished run of one point."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config/published.yaml").write_text("graphs: {}\nexperiments: {}\n")
    made = plan(graphs=["grid"], variants=["conventional"])
    [point] = made.points
    write_samples(Path(point.samples), seconds(1.0), identity=point.identity)
    write_graph(GENERATORS["grid"](**WIDTH), Path("results/graphs/grid"))
    for file, text in outline_files(made).items():
        Path(file).parent.mkdir(exist_ok=True)
        Path(file).write_text(text)
    return made


def dated_back():
    return {str(path) for path in Path("results").rglob("*") if path.is_file() and path.stat().st_mtime == 1}


def test_what_is_of_this_configuration_keeps_its_date(run):
    date_back(run)
    assert not dated_back()


def test_samples_that_replaced_those_of_the_record_are_measured_again(run):
    [point] = run.points
    recorded(point.samples, point.identity)
    date_back(run)
    assert not dated_back()
    write_samples(Path(point.samples), seconds(1.0), identity="another")
    date_back(run)
    assert dated_back() == {point.samples}


@pytest.mark.parametrize("recorded_too", [False, True])
def test_samples_of_another_configuration_are_older_than_what_they_are_made_of(run, recorded_too):
    [point] = run.points
    write_samples(Path(point.samples), seconds(1.0), identity="another")
    if recorded_too:  # Snakemake sees by itself what changed
        recorded(point.samples)
    date_back(run)
    assert dated_back() == (set() if recorded_too else {point.samples})


@pytest.mark.parametrize("length", [10, 190, 191, 400])
def test_records_are_found_whatever_the_length_of_a_path(run, length):
    file = "/".join(["results", "a" * (length // 2), "b" * (length // 2)])
    Path(file).parent.mkdir()
    Path(file).write_text("")
    assert unrecorded(file)
    recorded(file)
    assert not unrecorded(file)


def test_what_steps_were_told_of_another_configuration_is_told_again(run):
    told = Path("results/run/plan/tiny.json")
    told.write_text(json.dumps({"title": "another"}))
    date_back(run)
    assert dated_back() == {str(told)}


def test_a_graph_of_another_entry_is_one_line(run):
    write_graph(GENERATORS["grid"](**WIDTH | {"seed": 2}), Path("results/graphs/grid"))
    with pytest.raises(SystemExit, match=r"^error: results/graphs/grid is not what .* remove results/graphs/grid$"):
        date_back(run)
    for name in ("vertices", "edges"):
        recorded(f"results/graphs/grid/{name}.parquet")
    date_back(run)
    assert not dated_back()


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A finished run of a graph and an array of the user's own, of which an answer is kept."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config/published.yaml").write_text("graphs: {}\nexperiments: {}\n")
    array = Array(title="F", file="field.bin", dtype="float32")
    kept = {"title": "K", "problem": "sssp", "graphs": ["hidden"], "variants": ["scipy"], "keep": ["distances"]}
    packed = {"title": "P", "problem": "compression", "arrays": ["field"], "variants": ["fpc"]}
    experiments = {"kept": kept | {"keep_as": "compressed"}, "packed": packed}
    config = load({"name": "run", "mirror": ".", "experiments": experiments}, ENTRIES, ["field"])
    made = make(config, WITHOUT, ENTRIES, {"field": array}, contents={"hidden": "abc"})
    metadata = {"checksum": "abc", "origin": "hidden.gr", "format": "pace"}
    write_graph(replace(GENERATORS["grid"](**WIDTH), metadata=metadata), Path("results/graphs/hidden"))
    for file in ("downloads/hidden.gr", "downloads/field.bin"):
        Path("results", file).parent.mkdir(exist_ok=True)
        Path("results", file).write_text("")
    Path("results/arrays").mkdir()
    np.save("results/arrays/field.npy", np.zeros(3, np.float32))
    [answer] = made.kept
    with AnswerWriter(Path(answer).parent, ["distances"], {"keep_as": "compressed"}) as write:
        write(Block("distances", 0, np.zeros(3)))
    for file, text in outline_files(made).items():
        Path(file).parent.mkdir(exist_ok=True, parents=True)
        Path(file).write_text(text)
    return made


def test_own_files_as_they_were_keep_their_dates(own):
    date_back(own)
    assert not dated_back()


def test_a_graph_of_another_content_is_fetched_and_converted_again(own):
    own.contents["hidden"] = "other"
    date_back(own)
    files = {f"results/graphs/hidden/{name}.parquet" for name in ("vertices", "edges")}
    assert dated_back() == {*files, "results/downloads/hidden.gr"}


def test_an_array_of_another_entry_is_unpacked_again(own):
    np.save("results/arrays/field.npy", np.zeros(3, np.int32))
    date_back(own)
    assert dated_back() == {"results/arrays/field.npy"}


def test_an_array_of_the_users_own_is_fetched_and_unpacked_again(own):
    own.contents["field"] = "abc"
    date_back(own)
    assert dated_back() == {"results/arrays/field.npy", "results/downloads/field.bin"}


def test_an_answer_of_which_a_file_was_lost_is_kept_again(own):
    [answer] = map(Path, own.kept)
    coded = write_coded(answer, keep_as="compressed")
    recorded(str(answer))
    date_back(own)
    assert not dated_back()
    coded.unlink()
    date_back(own)
    assert dated_back() == {str(answer)} and unrecorded(str(answer))


def test_an_answer_in_another_form_is_kept_again(own):
    [answer] = own.kept
    with AnswerWriter(Path(answer).parent, ["distances"], {"keep_as": "raw"}) as write:
        write(Block("distances", 0, np.zeros(3)))
    date_back(own)
    assert dated_back() == {answer}
    recorded(answer)
    Path(answer).touch()
    date_back(own)
    assert not dated_back()
