import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from saitan.generators import GENERATORS
from saitan.workflow.graphs.catalogue import CATALOGUE, ENTRY, load_catalogue
from saitan.workflow.step import Failure

CONFIG = Path(__file__).parents[2] / "config" / "graphs.yaml"
FILE = {"title": "A", "file": "a.gr.gz", "format": "dimacs"}
MADE = {"title": "A", "generator": "ring", "parameters": {"vertices": 4, "seed": 1}}


def test_the_catalogue_is_right_and_survives_json():
    entries = load_catalogue(CONFIG)
    assert all(ENTRY.validate_json(entry.model_dump_json()) == entry for entry in entries.values())
    assert {"road-rail-20k", "USA-road-d.NY", "NE-topology-drawn", "kronecker-24"} <= entries.keys()


def test_parameters_in_another_order_make_no_other_graph():
    parameters = {"width": 3, "height": 4, "weight_low": 1, "weight_high": 2, "seed": 1}
    made = [
        ENTRY.validate_python({"title": "G", "generator": "grid", "parameters": dict(some)}).model_dump_json()
        for some in (parameters.items(), reversed(parameters.items()), sorted(parameters.items()))
    ]
    assert len(set(made)) == 1 and '{"width":3,"height":4,"weight_low":1,"weight_high":2,"seed":1}' in made[0]


def test_the_schema_is_that_of_the_models():
    written = json.loads((CONFIG.parents[1] / "workflow" / "schemas" / "graphs.schema.json").read_text())
    assert written == CATALOGUE.json_schema(), "write it again: python -m saitan.workflow.graphs.catalogue"


def test_whatever_has_drawn_weights_says_so_in_title_and_note():
    for name, entry in load_catalogue(CONFIG).items():
        if entry.weights:
            assert "synthetic" in entry.title, name
            assert "drawn" in entry.synthetic, name
            assert name.endswith("-drawn")


def test_where_a_file_comes_from():
    entries = load_catalogue(CONFIG)
    assert entries["USA-road-d.NY"].filename == "USA-road-d.NY.gr.gz"
    assert entries["USA-road-d.NY"].address.startswith("http://")
    assert entries["USA-road-d.NY"].coordinates.filename == "USA-road-d.NY.co.gz"
    assert entries["NE-topology-drawn"].address == "pace16-topology.NE.gr.xz"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({**FILE, "colour": "red"}, "colour.*Extra inputs are not permitted"),
        ({**FILE, "format": "gml"}, "format.*Input should be 'dimacs'"),
        ({**FILE, "sha256": "abc"}, "sha256"),
        ({**FILE, "file": "../a.gr"}, "file"),
        ({**FILE, "url": "ftp://a/b"}, "url"),
        ({**FILE, "sha256": "A" * 64}, "'A+\\.\\.\\.' is not a SHA-256: 64 digits from 0 to 9 and a to f"),
        ({**FILE, "file": "x" * 300}, "is not the name of a file: ASCII letters, digits"),
        ({**FILE, "file": "a{b}.gr"}, "'a{b}.gr' is not the name of a file"),
        ({**FILE, "file": "a "}, "'a ' is not the name of a file"),
        ({**FILE, "url": "http://host"}, "'http://host' is not the address of a file"),
        ({"title": "A", "format": "snap", "url": "http://h/a b.gr"}, "is not the address of a file"),
        ({"title": "A", "format": "snap", "url": "http://h/a\0?b", "file": "b.gr"}, "is not the address of a file"),
        ({"title": "A", "format": "snap", "url": "http://h/{a}.gr"}, "the url ends in '{a}.gr': give a plain name"),
        ({**MADE, "parameters": {"vertices": 4, "seed": -1}}, "generator ring: seed must be at least 0, not -1"),
        ({**FILE, "synthetic": "s", "weights": {"low": 3, "high": 4, "seed": -1}}, "seed"),
        ({**FILE, "synthetic": "s", "weights": {"low": 0, "high": 2**32, "seed": 1}}, "high"),
        ({**FILE, "synthetic": "s", "weights": {"low": -1, "high": 2, "seed": 1}}, "low"),
        ({**FILE, "synthetic": "s", "weights": {"low": True, "high": 2, "seed": 1}}, "low"),
        ({"title": "A", "format": "snap"}, "a url or a file is needed"),
        ({**FILE, "weights": {"low": 1, "high": 2, "seed": 1}}, "a note under `synthetic` must say so"),
        ({**FILE, "synthetic": "s", "weights": {"low": 3, "high": 2, "seed": 1}}, "low, 3, must be at most high, 2"),
        ({**FILE, "format": "snap", "coordinates": {"file": "a.co"}}, "coordinates go with the format dimacs only"),
        ({**FILE, "largest_component": True}, "largest_component"),
        ({**MADE, "generator": "comet"}, "unknown generator 'comet' .there are: random, rmat"),
        ({**MADE, "parameters": {"vertices": 4}}, "generator ring: parameter 'seed' is missing"),
        ({**MADE, "parameters": {"vertices": 0, "seed": 1}}, "generator ring: vertices must be 1 to 2147483647, not 0"),
        ({**MADE, "parameters": {"vertices": 4, "seed": 1, "size": 2}}, "generator ring: unknown parameter 'size'"),
        ({**MADE, "synthetic": "yes"}, "synthetic.*Extra inputs"),
    ],
)
def test_wrong_entries_are_refused(entry, message):
    with pytest.raises(ValidationError, match=f"(?s){message}"):
        CATALOGUE.validate_python({"a": entry})


@pytest.mark.parametrize("name", ["", "a b", "a/b", "..", "-a", "é", "a\n", "x" * 101, "x" * 300])
def test_wrong_names_are_refused(name):
    with pytest.raises(ValidationError):
        CATALOGUE.validate_python({name: MADE})


def test_a_published_file_may_be_named_again_without_its_checksum(tmp_path):
    path, entry = tmp_path / "graphs.yaml", "{title: A, url: http://h/x.gr, format: pace"
    sums = [f", sha256: {digit * 64}" for digit in "ab"]
    for first, second in (("", sums[0]), (sums[0], ""), (sums[0], sums[0])):
        path.write_text(f"a: {entry}{first}}}\nb: {entry}{second}}}\n")
        assert len(load_catalogue(path)) == 2
    path.write_text(f"a: {entry}}}\nb: {entry}{sums[0]}}}\nc: {entry}{sums[1]}}}\n")
    with pytest.raises(Failure, match="b and c both name the file x"):
        load_catalogue(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: {title: A}\nb: {}\na: {}\n", "line 3: the key 'a' is there twice"),
        ("a:\n  title: A\n  title: B\n", "line 3: the key 'title' is there twice"),
        ("a: [\n", "line 2: "),
        (
            "\n\na:\n  title: A\n  generator: ring\n  parameters:\n    vertices: 4\n    seed: -1\n",
            "line 3: a: generator ring: seed must be at least 0, not -1",
        ),
        ("a:\n  title: A\n  file: a.gr\n  format: gml\n", "line 4: a.format: input should be 'dimacs'"),
        (
            "a:\n  title: A\n  file: a.gr\n  formt: pace\n",
            "line 4: a.formt: unknown key 'formt'; did you mean 'format'?",
        ),
        (
            "generated:\n  title: A\n  genrator: ring\n",
            "line 3: generated.genrator: unknown key 'genrator'; did you mean",
        ),
        ("a: []\n", "line 1: a: input should be keys with values, not []"),
        ("a:\n", "line 1: a: input should be keys with values, not null"),
        ("a: [{title: A}]\n", "line 1: a: input should be keys with values, not [{"),
        ("a: 3\n", "line 1: a: input should be keys with values, not 3"),
        ("a:\n  title: A\n  parameters: {seed: 1}\n", "line 1: a.generator: field required"),
        *(
            (
                f"a:\n  title: A\n  {of_file}\n  {made}\n",
                "line 1: a: keys of a file and of a generator: "
                "`generator` and `parameters` are right, or `url` or `file`, and `format`",
            )
            for of_file in ("url: http://h/a.gr", "file: a.gr", "format: snap")
            for made in ("generator: ring", "parameters: {seed: 1}", "parameters: {}\n  generator: ring")
        ),
        (
            "a:\n  title: A\n  generator: ring\n  parameters:\n    seed: [1]\n",
            "line 5: a.parameters.seed: input should be bool or int or float or str, not [1]",
        ),
        (
            "a: {title: A, file: x.gr, format: pace}\nb: {title: B, file: x.gr, format: pace, url: http://h/x.gr}\n",
            "a and b both name the file x.gr, but differ in url or sha256",
        ),
        (
            "a: {title: A, file: x.gr, format: pace}\n"
            f"b: {{title: B, file: x.gr, format: pace, sha256: {'a' * 64}}}\n",
            "a and b both name the file x.gr, but differ in url or sha256",
        ),
        (
            "a: {title: A, url: http://h/a/x.gz, format: dimacs, coordinates: {url: http://h/b/x.gz}}\n",
            "a and a.coordinates both name the file x.gz, but differ in url or sha256",
        ),
        (
            "a: {title: A, file: x.gr, format: pace}\nno-graph: {title: B}\n",
            "line 2: no-graph stands in paths where there is no graph",
        ),
    ],
)
def test_wrong_yaml_is_named_with_its_line(tmp_path, text, message):
    path = tmp_path / "graphs.yaml"
    path.write_text(text)
    with pytest.raises(Failure) as failure:
        load_catalogue(path)
    assert str(failure.value).startswith(f"{path}: {message}")
    assert "\n" not in str(failure.value)


def test_every_generator_of_the_catalogue_exists():
    used = {entry.generator for entry in load_catalogue(CONFIG).values() if hasattr(entry, "generator")}
    assert used <= GENERATORS.keys()


def test_two_graphs_may_be_made_of_one_file(tmp_path):
    path = tmp_path / "graphs.yaml"
    path.write_text("a: {title: A, file: x.gr, format: pace}\nb: {title: B, file: x.gr, format: pace}\n")
    assert len(load_catalogue(path)) == 2


@pytest.mark.parametrize("content", [b"a: \xe4\n", b"\xff\xfea"])
def test_a_file_that_is_not_utf8(tmp_path, content):
    path = tmp_path / "graphs.yaml"
    path.write_bytes(content)
    with pytest.raises(Failure, match=r"graphs.yaml: line 1: the byte 0x(e4|ff) is not UTF-8"):
        load_catalogue(path)
