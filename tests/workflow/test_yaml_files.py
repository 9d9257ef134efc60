import datetime

import pytest
from pydantic import TypeAdapter, ValidationError

from saitan.workflow.step import Failure
from saitan.workflow.yaml_files import check_run, place_of_key, read_checked, read_yaml, worded


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: 1\na: 2\n", "line 2: the key 'a' is there twice"),
        (b"b:\n  - {c: 1, c: 2}\n", "line 2: the key 'c' is there twice"),
        (b"1: a\n1.0: b\n", "line 2: the key '1.0' is there twice"),
        (b"yes: a\ntrue: b\n", "line 2: the key 'true' is there twice"),
        (b"a: [1\nb", "line 2: expected ',' or ']', but got '<stream end>'"),
        (b"a: 1\n\tb: 2\n", "line 2: found character '\\t' that cannot start any token"),
        (b"a: 1\nb: \t1\n", "line 2: found character '\\t' that cannot start any token"),
        (b"a: 1\nb: \x01\n", "line 2: the character '\\x01' cannot stand in YAML"),
        (b"a: 1\nb: \xff\n", "line 2: the byte 0xff is not UTF-8"),
        (b"\na: \xff\n", "line 2: the byte 0xff is not UTF-8"),
        (b"\xff\xfea\x00", "line 1: the byte 0xff is not UTF-8"),
        (b"a: *b\n", "line 1: found undefined alias 'b'"),
        (b"? [a]\n: 1\n", "line 1: found unhashable key"),
        (b"a: 1\n---\nb: 2\n", "line 2: expected a single document in the stream, but found another document"),
        (b"a: 1\nb: 2026-13-01", "line 2: a date or number that cannot be read: month must be in 1..12"),
        (b"a:\n  b: [0,\n   " + b"1" * 5000 + b"]", "line 3: a date or number that cannot be read: Exceeds the limit"),
        (b"a: 1\nb: {c: 010}\n", "line 2: 010 means 8 in YAML, octal by the zero before it: write 8, or quotes around"),
        (b"a: [5, -07]\n", "line 1: -07 means -7 in YAML, octal by the zero before it: write -7"),
        (b"1:30: a\n", "line 1: 1:30 means 90 in YAML, of sixties by the colon: write 90, or quotes around a text"),
        (b"a:\n- 1:30.5\n", "line 2: 1:30.5 means 90.5 in YAML, of sixties by the colon: write 90.5"),
        (b"a: !!python/object:os.system x\n", "line 1: could not determine a constructor for the tag"),
        (b"[" * 5000, "it is nested too deeply to be read"),
        (b"[" * 100000 + b"]" * 100000, "it is nested too deeply to be read"),
        (b"- " * 100000 + b"a", "it is nested too deeply to be read"),
    ],
)
def test_a_mistake_is_one_line_with_its_number(tmp_path, content, message):
    path = tmp_path / "a.yaml"
    path.write_bytes(content)
    for read in (read_yaml, check_run):
        with pytest.raises(Failure) as failure:
            read(path)
        assert str(failure.value).startswith(f"{path}: {message}")
        assert "\n" not in str(failure.value)


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"", None),
        ("\ufeffa: ü\n".encode(), {"a": "ü"}),
        (b"x: &a {p: 1, q: 3}\ny: {<<: *a, p: 2}\n", {"x": {"p": 1, "q": 3}, "y": {"p": 2, "q": 3}}),
        (b"1: a\n'1': b\n", {1: "a", "1": "b"}),
        (
            b"[0, -0, 0x10, 0b11, 1_000, 0.5, 012.5, '010', '1:30', 08, 1e3]",
            [0, 0, 16, 3, 1000, 0.5, 12.5, "010", "1:30", "08", "1e3"],
        ),
        (b"a: {b: 1}\nc: {b: 1}\n", {"a": {"b": 1}, "c": {"b": 1}}),
    ],
)
def test_what_is_right_is_read(tmp_path, content, value):
    path = tmp_path / "a.yaml"
    path.write_bytes(content)
    assert read_yaml(path) == value


@pytest.mark.parametrize(
    ("key", "shown"), [("yes", "true"), ("off", "false"), ("7", "7"), ("2024-01-02", '"2024-01-02"')]
)
def test_a_name_that_yaml_reads_as_something_else_has_its_line(tmp_path, key, shown):
    path = tmp_path / "a.yaml"
    path.write_text(f"a: 1\nb: 2\n{key}: 3\n")
    with pytest.raises(Failure, match=rf"a\.yaml: line 3: a name in it must be a text in quotes, not {shown}$"):
        read_checked(path, TypeAdapter(dict[str, int]))


def test_the_file_of_a_run_holds_keys(tmp_path):
    path = tmp_path / "a.yaml"
    for content, found in (("", "nothing"), ("- a\n", "a list"), ("text\n", "a text"), ("7\n", "a number or date")):
        path.write_text(content)
        with pytest.raises(Failure) as failure:
            check_run(path)
        assert str(failure.value) == f"{path}: it holds {found} at its top: keys such as `experiments:` are right"
    path.write_text("a: 1\n")
    check_run(path)
    # What changed is read again.
    path.write_text("a: 1\na: 2\n")
    with pytest.raises(Failure, match="line 2: the key 'a' is there twice"):
        check_run(path)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("experiments: &a\n  e1: *a\n", 1),
        ("a: 1\nb: &r\n  - 2\n  - c: {d: *r}\n", 2),
        ("a: &once [1]\nb: [*once, *once]\nc: &d {e: [*once, *d]}\n", 3),
        ("a: &b\n\t\n  c: *b\n", None),
    ],
)
def test_an_alias_within_what_it_names_is_one_line(tmp_path, content, line):
    path = tmp_path / "a.yaml"
    path.write_text(content)
    with pytest.raises(Failure) as failure:
        check_run(path)
    if line:
        begins = "an alias (*) stands within what it names, which begins here"
        assert str(failure.value) == f"{path}: line {line}: {begins}"
    path.write_text("a: &once {x: [1]}\nb: [*once, *once, {c: *once}]\n")
    check_run(path)


def test_a_text_that_does_not_match_is_refused_in_words():
    kind = TypeAdapter(worded("[a-z]{1,3}", "a name of one to three small letters"))
    assert kind.validate_python("abc") == "abc"
    for wrong in ("abcd", "", "ab\n", "A", "x" * 300):
        with pytest.raises(ValidationError) as error:
            kind.validate_python(wrong)
        message = error.value.errors()[0]["msg"]
        assert message.endswith(" is not a name of one to three small letters")
        assert len(message) < 130
    assert kind.json_schema() == {"type": "string", "pattern": "^(?:[a-z]{1,3})$"}


FIRST = """\
# A run.
name: run
cores: .nan
experiments:
  one: &one
    graphs: [a,
             b]
    1: x
  two:
    <<: *one
    deep: {er: 3}
"""
SECOND = """\
name: other
experiments: {one: {graphs: [a]}}
"""


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("name: why", "second.yaml: line 1: "),
        ("cores: why", "first.yaml: line 3: "),
        ("experiments.one.graphs: why: because", "second.yaml: line 2: "),
        ("experiments.one.graphs.0: why", "second.yaml: line 2: "),
        ("experiments.one.1: why", "first.yaml: line 8: "),
        ("experiments.two.deep.er: why", "first.yaml: line 11: "),
        # What the file does not have, and what a merge brings, is in the nearest that it has.
        ("experiments.two.deep.est: why", "first.yaml: line 11: "),
        ("experiments.two.1: why", "first.yaml: line 9: "),
        ("experiments.two.deep.a-b:{c d: why", "first.yaml: line 11: "),
        # By --config.
        *((f"{key}: why", "") for key in ("backend", "backend.x", "mirror")),
        ("nowhere: field required", "second.yaml: "),
        # No keys.
        *((message, "") for message in ("config/name: why", "name of: why", "name", "results/name cannot be read")),
    ],
)
def test_a_mistake_in_a_run_s_file_has_its_line(tmp_path, monkeypatch, message, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "first.yaml").write_text(FIRST)
    (tmp_path / "second.yaml").write_text(SECOND)
    one = {"graphs": ["a"], 1: "x"}
    two = {"graphs": ["a", "b"], 1: "x", "deep": {"er": 3}}
    given = {"name": "other", "cores": float("nan"), "experiments": {"one": one, "two": two}, "backend": "cpu"}
    files = [str(tmp_path / "first.yaml"), "second.yaml"]
    assert place_of_key(message, given, files) == place
    # Another value of the command line stands in no file.
    assert place_of_key("name: why", given | {"name": "third"}, files) == ""


def test_a_date_as_a_key_is_found_where_it_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = "name: run\nexperiments:\n  2024-01-02:\n    title: A\n    2024-01-03 10:00:00: {2024-01-04: [1, .nan]}\n"
    (tmp_path / "run.yaml").write_text(written)
    given = read_yaml(tmp_path / "run.yaml")
    for key, line in (
        ("experiments", 2),
        ("experiments.2024-01-02", 3),
        ("experiments.2024-01-02.2024-01-03 10:00:00", 5),
    ):
        assert place_of_key(f"{key}: why", given, ["run.yaml"]) == f"run.yaml: line {line}: "
    # Another value of the command line.
    given["experiments"] = {datetime.date(2024, 1, 5): {}}
    assert place_of_key("experiments: why", given, ["run.yaml"]) == ""
