import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from plans import plan
from samples import seconds, write_samples
from snakemake.persistence.file import FilePersistence

from saitan.generators import GENERATORS
from saitan.workflow.graphs.parquet import write_graph
from saitan.workflow.outline import outline_files
from saitan.workflow.unrecorded import RECORDS, date_back, unrecorded

WIDTH = {"width": 3, "height": 3, "weight_low": 1, "weight_high": 2, "seed": 1}


def recorded(file):
    """Snakemake's record of a file."""
    snakemake = SimpleNamespace(_fetch_max_len=lambda folder: 255)
    record = Path(FilePersistence._record_path(snakemake, str(RECORDS), file))
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text("{}")


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
