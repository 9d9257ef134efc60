"""What the rules ask about graphs: arguments of fetch, inputs, and which graphs are out of reach."""

import hashlib
import json
import os
import shlex
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from plans import EXPERIMENT, WITHOUT

from saitan.workflow.arrays import Array
from saitan.workflow.arrays import convert as convert_array
from saitan.workflow.checksums import KNOWN
from saitan.workflow.config import ConfigError, load
from saitan.workflow.graphs import convert, fetch, generate
from saitan.workflow.graphs.catalogue import CATALOGUE
from saitan.workflow.graphs.contents import contents
from saitan.workflow.graphs.parquet import write_graph
from saitan.workflow.graphs.plan import GraphFiles
from saitan.workflow.graphs.reach import absent_data
from saitan.workflow.planning import make

SUM = "0123456789abcdef" * 4
ENTRIES = CATALOGUE.validate_python(
    {
        "ring": {"title": "R", "generator": "ring", "parameters": {"vertices": 5, "seed": 1}},
        "road": {
            "title": "D",
            "url": "http://host/{a}/road.gr.gz?x={y}",
            "sha256": SUM,
            "format": "dimacs",
            "coordinates": {"url": "http://host/road.co.gz", "sha256": SUM[::-1]},
        },
        "hidden": {"title": "H", "file": "hidden.gr", "format": "pace", "drop_loops": True},
        "named": {"title": "N", "url": "http://host/get?id=7", "file": "named.mtx.gz", "format": "matrix-market"},
    }
)


def files(mirror=None, entries=ENTRIES):
    made = GraphFiles()
    made.config, made.entries, made.arrays, made.contents = SimpleNamespace(mirror=mirror), entries, {}, {}
    return made


def asked(made, file):
    return vars(fetch.parser().parse_args([*shlex.split(made.fetch_settings(file)), "--output", "o"]))


def test_fetch_is_told_address_name_checksum_and_mirror():
    # What has a SHA-256 is the same from everywhere: no other mirror makes a rule run again.
    road = {"url": "http://host/%7Ba%7D/road.gr.gz?x=%7By%7D", "file": None, "sha256": SUM, "mirror": None}
    made = files("http://m/a b")
    assert made.mirror_setting == "SAITAN_MIRROR='http://m/a b'" and files().mirror_setting == "SAITAN_MIRROR=''"
    assert asked(made, "road.gr.gz").items() >= road.items()
    assert asked(made, "road.co.gz")["sha256"] == SUM[::-1]
    hidden = {"url": "hidden.gr", "file": None, "sha256": None, "mirror": "http://m/a b"}
    assert asked(made, "hidden.gr").items() >= hidden.items()
    assert asked(made, "named.mtx.gz").items() >= {"url": "http://host/get?id=7", "file": "named.mtx.gz"}.items()
    # Snakemake would take braces for wildcards.
    assert not any(set("{}") & set(made.fetch_settings(file)) for file in ("road.gr.gz", "road.co.gz", "hidden.gr"))


def test_convert_and_generate_are_told_the_entry_and_the_files():
    made = files()

    def told(step, settings):
        arguments = vars(step.parser().parse_args([*shlex.split(settings), "--output", "o"]))
        return arguments | {"entry": json.loads(arguments["entry"])}

    road = told(convert, made.convert_settings("road"))
    assert (road["name"], road["input"]) == ("road", Path("results/downloads/road.gr.gz"))
    assert road["coordinates"] == Path("results/downloads/road.co.gz") and road["entry"]["format"] == "dimacs"
    hidden = told(convert, made.convert_settings("hidden"))
    assert hidden["coordinates"] is None and hidden["entry"]["drop_loops"] is True
    ring = told(generate, made.generate_settings("ring"))
    assert ring["name"] == "ring" and ring["entry"]["parameters"] == {"vertices": 5, "seed": 1}


def test_a_file_of_a_mirrors_folder_is_an_input(tmp_path):
    (tmp_path / "hidden.gr").touch()
    (tmp_path / "road.gr.gz").touch()
    assert files(str(tmp_path)).local_copies("hidden.gr") == [str(tmp_path / "hidden.gr")]
    assert files(str(tmp_path)).local_copies("road.gr.gz") == []
    assert files("http://host/x").local_copies("hidden.gr") == files().local_copies("hidden.gr") == []


@pytest.mark.parametrize(
    ("mirror", "message"),
    [
        ("ftp://host/x", "mirror: ftp://host/x: ftp:// is not understood: a folder, http:// or https:// is right"),
        ("s3://bucket", "mirror: s3://bucket: s3:// is not understood"),
        ("://x", "mirror: ://x: :// is not understood"),
        ("https://", "mirror: https:// names no host"),
        ("http://[::1", "mirror: http://[::1 is no address: Invalid IPv6 URL"),
        ("http://host:99999", "mirror: http://host:99999 is no address: Port out of range 0-65535"),
        ("https://a b/c", "mirror: https://a b/c names no host"),
        ("no/such/folder", "mirror: no/such/folder is no folder and no address (http://... or https://...)"),
        (
            "x" * 300,
            f"mirror: {'x' * 57}... is no folder and no address (http://... or https://...): File name too long",
        ),
        ("loop", "mirror: loop is no folder and no address (http://... or https://...): Too many levels of symbolic"),
        ("{a}", "mirror: {a}: Snakemake takes braces for wildcards: a folder without them is right"),
    ],
)
def test_a_mirror_that_cannot_be_used_is_named(tmp_path, monkeypatch, mirror, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "{a}").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ConfigError) as error:
        absent_data(SimpleNamespace(mirror=mirror), ENTRIES, {})
    assert str(error.value).startswith(message)


def test_a_file_that_the_system_does_not_show_is_absent_and_why(tmp_path):
    (tmp_path / "hidden.gr").symlink_to("hidden.gr")
    absent = absent_data(SimpleNamespace(mirror=str(tmp_path)), {"hidden": ENTRIES["hidden"]}, {})
    assert absent["hidden"] == f"the mirror {tmp_path} has no hidden.gr: Too many levels of symbolic links"
    assert files(str(tmp_path)).local_copies("hidden.gr") == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every folder")
def test_a_folder_without_the_right_to_look_into_it(tmp_path):
    (tmp_path / "hidden.gr").touch()
    tmp_path.chmod(0o600)
    absent = absent_data(SimpleNamespace(mirror=str(tmp_path)), {"hidden": ENTRIES["hidden"]}, {})
    tmp_path.chmod(0o700)
    assert absent["hidden"].endswith("has no hidden.gr: Permission denied")


@pytest.mark.parametrize("mirror", ["HTTP://host", "https://host/folder/", "http://host:80/a b"])
def test_mirrors_that_can_be_used(mirror):
    assert absent_data(SimpleNamespace(mirror=mirror), ENTRIES, {}) == {}


def converted(entries, folder, name="hidden"):
    """The graph's converted files, as an earlier run with a mirror left them."""
    path = folder / entries[name].filename
    path.write_text("p tw 3 2\n1 2\n2 2\n")
    graph = convert.convert(entries[name], name, path)
    write_graph(graph, folder / "results/graphs" / name)
    path.unlink()
    return graph.metadata["checksum"]


def test_arrays_that_only_a_mirror_has_are_absent_as_graphs_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    described = {"title": "A", "dtype": "int32"}
    arrays = {
        "there": Array.model_validate({**described, "url": "http://host/a.bin"}),
        "kept": Array.model_validate({**described, "file": "kept.bin"}),
    }
    absent = absent_data(SimpleNamespace(mirror=None), ENTRIES, arrays)
    assert absent.keys() == {"hidden", "kept"}
    assert absent["kept"] == "only a mirror has kept.bin: set `mirror` to its folder or address"
    assert absent_data(SimpleNamespace(mirror="http://host"), ENTRIES, arrays) == {}


def test_an_array_that_was_made_earlier_is_used_while_its_file_is_out_of_reach(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    described = {"title": "A", "dtype": "int32", "file": "own.bin"}
    arrays, raw = {"own": Array.model_validate(described)}, np.arange(6, dtype="<i4").tobytes()
    Path("mine").mkdir()
    Path("mine/own.bin").write_bytes(raw)

    def planned(mirror, arrays=arrays):
        tiny = {"title": "T", "problem": "compression", "arrays": ["own"], "variants": ["fast"]}
        config = load({"name": "run", "mirror": mirror, "experiments": {"tiny": tiny}}, {}, arrays)
        absent = absent_data(config, {}, arrays)
        made = make(config, WITHOUT, {}, arrays, absent, contents=contents(config, {}, arrays))
        return made.array_identity("own"), "own" in made.made_arrays, "own" in made.absent

    first, by_rule, absent = planned("mine")
    assert by_rule and not absent
    # It was planned with, and never made.
    assert planned(None)[1:] == (True, True)
    convert_array(arrays["own"], Path("mine/own.bin"), Path("results/arrays/own.npy"))
    assert planned(None) == (first, False, False)
    assert planned("mine") == (first, True, False)
    # Another type, and another content that was planned with since.
    assert planned(None, {"own": Array.model_validate(described | {"dtype": "uint32"})})[2]
    known = Array.model_validate(described | {"sha256": hashlib.sha256(raw).hexdigest()})
    assert planned(None, {"own": known})[1:] == (False, False)
    Path("mine/own.bin").write_bytes(raw[::-1])
    assert planned("mine")[0] != first
    assert planned(None)[1:] == (True, True)


def test_a_graph_that_was_converted_earlier_is_used_while_its_file_is_out_of_reach(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert absent_data(SimpleNamespace(mirror=None), ENTRIES, {}).keys() == {"hidden"}
    assert "hidden" in files().downloaded
    checksum = converted(ENTRIES, tmp_path)
    assert absent_data(SimpleNamespace(mirror=None), ENTRIES, {}) == {}
    # No rule makes it, so that its files are taken as they are; with the file in reach a rule does.
    assert files().downloaded == ["road", "named"]
    assert files("http://host").downloaded == ["road", "hidden", "named"]
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    assert absent_data(SimpleNamespace(mirror=str(mirror)), ENTRIES, {}).keys() == {"road", "named"}
    (tmp_path / "results/graphs/hidden/edges.parquet").rename(tmp_path / "edges.parquet")
    assert absent_data(SimpleNamespace(mirror=None), ENTRIES, {}).keys() == {"hidden"}
    (tmp_path / "edges.parquet").rename(tmp_path / "results/graphs/hidden/edges.parquet")
    hidden = ENTRIES["hidden"].model_dump(exclude_none=True)
    for changes, absent in [
        ({"sha256": checksum}, False),
        ({"title": "Another"}, False),
        ({"sha256": SUM}, True),
        ({"drop_loops": False}, True),
        ({"symmetrise": True}, True),
        ({"format": "snap"}, True),
        ({"file": "other.gr"}, True),
    ]:
        entries = CATALOGUE.validate_python({"hidden": {**hidden, **changes}})
        assert bool(absent_data(SimpleNamespace(mirror=None), entries, {})) == absent
    # Converted without options.
    plain = CATALOGUE.validate_python({"hidden": {**hidden, "drop_loops": False}})
    converted(plain, tmp_path)
    assert absent_data(SimpleNamespace(mirror=None), plain, {}) == {}
    assert absent_data(SimpleNamespace(mirror=None), ENTRIES, {}).keys() == {"hidden"}
    (tmp_path / "results/graphs/hidden/vertices.parquet").write_bytes(b"no parquet")
    assert absent_data(SimpleNamespace(mirror=None), ENTRIES, {}).keys() == {"hidden"}


def test_a_plan_knows_what_a_file_of_coordinates_holds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    described = {"title": "O", "file": "own.gr", "format": "dimacs", "coordinates": {"file": "own.co"}}
    entries = CATALOGUE.validate_python({"own": described, "own.coordinates": described})
    config = load(
        {"name": "run", "mirror": str(tmp_path), "experiments": {"e": EXPERIMENT | {"graphs": ["own"]}}}, entries
    )

    def known():
        made = make(config, WITHOUT, entries, contents=contents(config, entries, {}))
        told = json.loads(shlex.split(made.convert_settings("own"))[3])
        assert made.content_of("own.co") == made.contents["own/coordinates"] == told["coordinates"]["sha256"]
        return made.contents, made.graph_identity("own")

    (tmp_path / "own.gr").write_text("p sp 2 1\na 1 2 3\n")
    (tmp_path / "own.co").write_text("p aux sp co 2\nv 1 0 0\nv 2 1 0\n")
    first, identity = known()
    (tmp_path / "own.co").write_text("p aux sp co 2\nv 1 9 0\nv 2 8 0\n")
    os.utime(tmp_path / "own.co", (1, 1))
    second, other = known()
    assert identity != other and first["own"] == second["own"]
    # Without the mirror they are those that the graph was converted with.
    graph = convert.convert(entries["own"], "own", tmp_path / "own.gr", tmp_path / "own.co")
    write_graph(graph, tmp_path / "results/graphs/own")
    assert contents(SimpleNamespace(mirror=None, experiments=config.experiments), entries, {}) == second


def test_a_plan_knows_what_the_users_own_files_hold(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    file = mirror / "hidden.gr"
    experiment = SimpleNamespace(graphs=["ring", "road", "hidden"], arrays=[])

    def known(at=mirror):
        return contents(SimpleNamespace(mirror=at and str(at), experiments={"e": experiment}), ENTRIES, {})

    assert known() == known("http://host") == known(None) == {} and not KNOWN.exists()
    (mirror / "road.gr.gz").write_bytes(b"of a known checksum")
    file.write_text("p tw 2 1\n1 2\n")
    first = known()
    assert first.keys() == {"hidden"} and KNOWN.exists()
    # The file is read when it changed, and only then.
    monkeypatch.setattr("saitan.workflow.graphs.contents.checksum", lambda path: pytest.fail("read again"))
    assert known() == first
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    file.write_text("p tw 2 1\n2 1\n")
    changed, second = file.stat().st_mtime_ns, known()
    assert second != first
    # One of another size, or in another folder, that says the same time.
    file.write_text("p tw 3 1\n2 1 \n")
    os.utime(file, ns=(changed, changed))
    third = known()
    assert third not in (first, second)
    # One of the same size, too, that a tool gave the time of the other.
    file.write_text("p tw 3 1\n3 1 \n")
    os.utime(file, ns=(changed, changed))
    assert known() not in (first, second, third)
    another = tmp_path / "another"
    another.mkdir()
    (another / file.name).write_text("p tw 4 1\n2 1 \n")
    os.utime(another / file.name, ns=(changed, changed))
    assert known(another) not in (first, second, third)
    # Without the folder it is the content of the converted graph, whatever the folder has by now.
    assert known(None) == {}
    made = converted(ENTRIES, tmp_path)
    assert known(None) == {"hidden": made} != known()
    # What came from elsewhere was not known to the plan of its run either.
    KNOWN.unlink()
    assert known(None) == {}
    with monkeypatch.context() as patched:
        patched.setattr("saitan.workflow.graphs.contents.checksum", lambda path: pytest.fail("a pipe is read"))
        os.mkfifo(another / "waiting")
        (another / "waiting").replace(another / file.name)
        assert known(another) == {}
    # A file that cannot be read, and a record that cannot, stop no plan.
    monkeypatch.setattr("saitan.workflow.graphs.contents.checksum", lambda path: (_ for _ in ()).throw(OSError()))
    for record in ("no JSON", "[]", '["hidden.gr"]', "7", '{"hidden.gr": 7}'):
        KNOWN.write_text(record)
        assert known()["hidden"].startswith("unreadable")
    # Nor is it taken for the one that could not be read before.
    before = known()
    os.utime(file, ns=(1, 1))
    assert known() != before
