"""Outputs kept in a form of the problem's own: through the pipeline, damaged, its writer killed, no room for it."""

import errno
import json
import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
from samples import Held

from saitan import apsp
from saitan.errors import Invalid
from saitan.generators import GENERATORS
from saitan.problem import Form, Misdeclared
from saitan.solver import Reference
from saitan.workflow.answer_writers import write_form
from saitan.workflow.answers import about_answer, read_answer
from saitan.workflow.config import ConfigError, load
from saitan.workflow.graphs.parquet import read_graph, write_graph
from saitan.workflow.instances import write_queries, write_reference
from saitan.workflow.keep import _keep_in_form
from saitan.workflow.step import Failure

CODED = {
    "title": "All pairs, kept",
    "problem": "apsp",
    "graphs": ["tiny-grid"],
    "variants": ["sweep"],
    "instance": {"answer": "slabs"},
    "keep": ["distances"],
    "keep_as": "coded",
}
ABOUT = {"answer": {"problem": "apsp", "variant": "sweep", "backend": "cuda", "parameters": {}}, "query": [0, 8]}
PLACE = "results/answers/apsp/cpu/tiny-grid/sweep/answer~slabs/8-1/coded"


def refuse(instance, variant, backend, path, query, **parameters):
    raise ValueError("too wide for rows")


def test_what_a_form_refuses_is_no_answer_even_over_an_older_file(tmp_path):
    form = replace(apsp.FORMS["coded"], writes=f"{__name__}:refuse")
    apsp.compress(
        GENERATORS["grid"](width=3, height=3, weight_low=1, weight_high=5, seed=1),
        tmp_path / "distances.coded",
        backend="cpu",
    )
    arguments = SimpleNamespace(outputs=["distances"], keep_as="coded", folder=tmp_path)
    with pytest.raises(Failure, match="sweep kept as coded: too wide for rows"):
        _keep_in_form(apsp, None, None, form, arguments, ABOUT)
    assert not (tmp_path / "distances.parquet").exists()


def take_none(instance, variant, backend, path):
    path.write_text("x")


def spoil(instance, variant, backend, path, query, **parameters):
    path.write_text("x")
    instance[0] += 1


def leave(instance, variant, backend, path, query, **parameters):
    path.write_text("x")
    os.chdir("/")


@pytest.mark.parametrize(
    ("writes", "error", "says"),
    [
        ("spoil", Invalid, "^sweep writes into its instance, by which answers are checked: take a copy$"),
        ("leave", Failure, "^sweep leaves the process in another folder, .*chdir"),
        (
            "take_none",
            Failure,
            r"^sweep kept as coded: test_forms\.take_none takes .*: \(instance, variant, backend, path, query, core\)",
        ),
    ],
)
def test_what_a_form_does_beside_writing_is_seen(tmp_path, monkeypatch, writes, error, says):
    monkeypatch.chdir(tmp_path)
    form = replace(apsp.FORMS["coded"], writes=f"{__name__}:{writes}")
    arguments = SimpleNamespace(outputs=["distances"], keep_as="coded", folder=Path("kept"))
    with pytest.raises(error, match=says):
        _keep_in_form(apsp, np.zeros(3), None, form, arguments, ABOUT)
    assert Path.cwd() == tmp_path and not Path("kept/distances.parquet").exists()


class Text:
    """The reader of a form: numbers, a row a line."""

    def __init__(self, path):
        self._held = np.loadtxt(path, np.uint32, ndmin=2)
        self.shape, self.dtype = self._held.shape, self._held.dtype

    def __getitem__(self, rows):
        return self._held[rows]

    def close(self):
        pass


SQUARES = np.arange(20, dtype=np.uint32).reshape(5, 4) ** 2


def squares(instance, variant, backend, path, query, **parameters):
    np.savetxt(path, SQUARES + query, "%d")


SAME = {"distances": SQUARES.astype(float) + 7, "relative": np.zeros(1)}


@pytest.mark.parametrize(
    ("arrays", "rows", "wrong"),
    [
        (SAME, None, ""),
        ({**SAME, "distances": SAME["distances"][[1, 4]]}, np.array([1, 4]), ""),
        ({**SAME, "distances": SAME["distances"][[1, 3]]}, np.array([1, 4]), "differs from the reference solver"),
        ({**SAME, "distances": SAME["distances"] - 7}, None, "differs from the reference solver"),
        ({**SAME, "distances": SAME["distances"][:0]}, np.array([], int), ""),
        ({"reach": np.zeros(5), "relative": np.zeros(1)}, None, ""),
    ],
    ids=["all", "some", "others", "another query's", "none", "another output's"],
)
def test_what_a_form_holds_is_compared_with_the_reference(tmp_path, monkeypatch, arrays, rows, wrong):
    form = replace(apsp.FORMS["coded"], writes=f"{__name__}:squares", reads=f"{__name__}:Text")
    monkeypatch.setitem(apsp.FORMS, "coded", form)
    arguments = SimpleNamespace(outputs=["distances"], keep_as="coded", folder=tmp_path)
    reference, about = Reference("somebody", arrays, rows), {**ABOUT, "query": 7}
    with pytest.raises(Invalid, match=f"^{wrong}") if wrong else nullcontext():
        _keep_in_form(apsp, None, reference, form, arguments, about)
    assert [file.name for file in sorted(tmp_path.iterdir())] == (
        [] if wrong else ["distances.coded", "distances.parquet"]
    )
    if not wrong:
        assert np.array_equal(read_answer(tmp_path / "distances.parquet"), SQUARES + 7)


class Archive:
    """Of two outputs: what is read is named."""

    def __init__(self, path, output):
        self.held = np.load(path)[output]
        self.shape, self.dtype = self.held.shape, self.held.dtype

    def __getitem__(self, rows):
        return self.held[rows]

    def close(self):
        pass


TWO = {"distances": np.arange(12, dtype=np.uint32).reshape(4, 3), "total": np.arange(4, dtype=np.float64)}


def archive(instance, variant, backend, path, query, **parameters):
    with path.open("wb") as file:
        np.savez(file, **TWO)


@pytest.mark.parametrize("output", TWO)
@pytest.mark.parametrize("dtype", ["", "right", "wrong"])
def test_a_form_of_several_outputs_is_read_by_the_output_s_name(tmp_path, monkeypatch, output, dtype):
    told = {"": "", "right": TWO[output].dtype.name, "wrong": "int16"}[dtype]
    monkeypatch.setitem(apsp.OUTPUTS, output, replace(apsp.OUTPUTS[output], dtype=told))
    form = Form("two", tuple(TWO), f"{__name__}:archive", f"{__name__}:Archive")
    monkeypatch.setitem(apsp.FORMS, "two", form)
    arguments = SimpleNamespace(outputs=[output], keep_as="two", folder=tmp_path)
    given = (apsp, None, Reference("somebody", {}), form, arguments, {**ABOUT, "query": 7})
    if dtype == "wrong":
        says = rf"^keep: {__name__}:Archive has {output} of type {TWO[output].dtype}: int16 is right, as OUTPUTS says$"
        with pytest.raises(Failure, match=says):
            _keep_in_form(*given)
        assert not list(tmp_path.iterdir())
        return
    _keep_in_form(*given)
    kept = read_answer(tmp_path / f"{output}.parquet")
    assert kept.dtype == TWO[output].dtype and np.array_equal(kept, TWO[output])


def test_a_reader_that_is_not_told_which_output_is_refused():
    form = Form("two", ("a", "b"), f"{__name__}:archive", f"{__name__}:Text")
    with pytest.raises(Misdeclared, match=r"Text takes .*: \(path, output\) is right"):
        form.open("x", "a")


def reader(wrong):
    class Reader(Held):
        def __init__(self, path):
            super().__init__((5, 3), "uint16")

        def __getitem__(self, rows):
            return wrong(np.arange(15, dtype=np.uint16).reshape(5, 3)[rows])

    return Reader


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda rows: rows[:-1], r"rows have the shape \(3, 3\): \(4, 3\) is right"),
        (lambda rows: rows[:, :2], r"rows have the shape \(4, 2\): \(4, 3\) is right"),
        (lambda rows: rows.astype(np.int64), "rows have the type int64: uint16 is right"),
        (lambda rows: rows.astype(">u2"), "rows have the type >u2: uint16 is right"),
        (np.ma.masked_array, "rows are masked_array.*: a NumPy array is right"),
        (lambda rows: None, "rows are None: a NumPy array is right"),
        (lambda rows: rows, None),
    ],
)
def test_a_reader_gives_the_rows_that_it_told_of(tmp_path, monkeypatch, wrong, says):
    form = replace(apsp.FORMS["coded"], reads=f"{__name__}:Reader")
    monkeypatch.setattr(sys.modules[__name__], "Reader", reader(wrong), raising=False)
    monkeypatch.setitem(apsp.FORMS, "coded", form)
    write_form(tmp_path, "d", "coded", form, {"answer": {"problem": "apsp"}}, lambda path: path.write_text("x"))
    if says is None:
        assert read_answer(tmp_path / "d.parquet", slice(1, 9)).tolist() == np.arange(3, 15).reshape(4, 3).tolist()
    else:
        with pytest.raises(Failure, match=rf"^{__name__}:Reader gives other rows than .*d\.parquet tells: {says}$"):
            read_answer(tmp_path / "d.parquet", slice(1, None))


def test_rows_that_are_mapped_are_rows(tmp_path, monkeypatch):
    test_a_reader_gives_the_rows_that_it_told_of(tmp_path, monkeypatch, lambda rows: rows.view(np.memmap), None)


def test_a_form_that_writes_no_file_is_named(tmp_path):
    form = replace(apsp.FORMS["coded"], writes="mine.toy:write")
    about = {"answer": {"problem": "apsp"}}
    for write in (lambda path: None, Path.mkdir):
        with pytest.raises(Failure, match=r"^keep: mine\.toy:write wrote no file$"):
            write_form(tmp_path, "distances", "coded", form, about, write)


def test_what_an_earlier_answer_was_kept_in_is_not_taken_for_another(tmp_path):
    graph = GENERATORS["grid"](width=3, height=3, weight_low=1, weight_high=5, seed=1)
    apsp.compress(graph, tmp_path / "distances.coded", backend="cpu")
    form = replace(apsp.FORMS["coded"], writes="mine.toy:write")
    with pytest.raises(Failure, match=r"^keep: mine\.toy:write wrote no file$"):
        write_form(tmp_path, "distances", "coded", form, {"answer": {"problem": "apsp"}}, lambda path: None)


class Endless(Held):
    close = property()

    def __init__(self, path):
        super().__init__((3,), "uint8")


class Shapeless(Held):
    def __init__(self, path):
        super().__init__(3, "uint8")


class Typeless(Held):
    def __init__(self, path):
        self.shape, self.dtype = (3,), "number"


def refuse_to_read(path):
    raise ValueError("no magic\nat its beginning")


def test_what_a_form_wrote_and_cannot_read_is_one_line(tmp_path):
    form = replace(apsp.FORMS["coded"], writes="mine.toy:write", reads=f"{__name__}:refuse_to_read")
    says = rf"^keep: {__name__}:refuse_to_read cannot read what mine\.toy:write wrote: no magic at its beginning$"
    with pytest.raises(Failure, match=says):
        write_form(tmp_path, "d", "coded", form, {"answer": {"problem": "apsp"}}, lambda path: path.write_text("x"))


@pytest.mark.parametrize(
    ("reader", "says"),
    [
        ("Endless", "has no close: shape, dtype, rows by [rows] and close are right"),
        ("Shapeless", "has the shape 3 and the type dtype('uint8'): a tuple of lengths and a dtype of NumPy are right"),
        ("Typeless", "has the shape (3,) and the type 'number': a tuple of lengths and a dtype of NumPy are right"),
    ],
)
def test_what_a_reader_of_a_form_lacks_is_one_line(reader, says, tmp_path):
    form = replace(apsp.FORMS["coded"], reads=f"{__name__}:{reader}")
    about = {"answer": {"problem": "apsp"}}
    with pytest.raises(Failure) as raised:
        write_form(tmp_path, "distances", "coded", form, about, lambda path: path.write_text("x"))
    assert str(raised.value) == f"keep: {__name__}:{reader} {says}"
    assert not (tmp_path / "distances.parquet").exists()


@pytest.mark.timeout(300)
def test_a_coded_matrix_is_kept_read_by_others_and_made_again(project, monkeypatch):
    streams = {"title": "Its streams", "problem": "compression", "arrays": ["kept.distances"], "variants": ["fast"]}
    project.configure({"kept": CODED, "streams": streams})
    done = project.snakemake()
    assert done.returncode == 0 and "0 failed" in done.stderr, done.stderr
    wanted = apsp.solve(read_graph(project.folder / "results/graphs/tiny-grid"), variant="scipy", backend="cpu")
    answer = project.folder / PLACE / "distances.parquet"
    with apsp.open(answer.with_suffix(".coded")) as matrix:
        assert matrix[7, 100] == wanted[7, 100] and np.array_equal(matrix[:], wanted) and matrix.about["checked"]
    assert np.array_equal(read_answer(answer), wanted)
    assert np.array_equal(read_answer(answer, slice(17, 60)), wanted[17:60])
    about = about_answer(answer)
    assert about["shape"] == [144, 144] and about["dtype"] == "uint32" and about["written"] == "coded"
    [row] = pq.read_table(project.folder / "results/tiny/samples/streams").slice(0, 1).to_pylist()
    assert row["graph"] == "kept.distances"
    assert "<td>coded</td>" in (project.folder / "results/tiny/report.html").read_text()
    assert "Nothing to be done" in project.snakemake().stderr

    right = answer.with_suffix(".coded").read_bytes()
    answer.with_suffix(".coded").write_bytes(right[:5000] + bytes([right[5000] ^ 1]) + right[5001:])
    with pytest.raises(Failure, match=r"coded is damaged or not what .*distances\.parquet was written with"):
        read_answer(answer)
    # As in the middle of a large file, of which its own checks tell.
    monkeypatch.setattr("saitan.workflow.answers.fingerprint", lambda path: about["held"])
    with pytest.raises(Failure, match=r"corrupt.*remove .*distances\.parquet"):
        read_answer(answer)
    answer.with_suffix(".coded").unlink()
    with pytest.raises(Failure, match="is missing, a part of"):
        read_answer(answer)
    assert project.snakemake().returncode == 0
    assert answer.with_suffix(".coded").read_bytes() == right


@pytest.fixture
def arguments(tmp_path):
    """Of the keep step, on a grid."""
    grid = GENERATORS["grid"](width=9, height=8, weight_low=1, weight_high=99, seed=1)
    write_graph(grid, tmp_path / "graph")
    write_queries([[0, 72]], tmp_path / "queries.json")
    write_reference(None, tmp_path / "reference.npz")
    settings = {"problem": "apsp", "backend": "cpu", "graph": "grid", "variant": "sweep", "parameters": {}}

    def made(**instance):
        settings["instance"] = instance
        given = ["--settings", json.dumps(settings), "--graph", str(tmp_path / "graph"), "--cores", str(os.cpu_count())]
        given += ["--queries", str(tmp_path / "queries.json"), "--reference", str(tmp_path / "reference.npz")]
        given += ["--folder", str(tmp_path / "kept")]
        return [*given, "--outputs", "distances", "--keep-as", "coded", "--log", str(tmp_path / "log")]

    return made


def step(arguments, before=""):
    code = f"import sys; {before}\nfrom saitan.workflow import keep; sys.argv[1:] = {arguments!r}; keep.main()"
    return subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("instance", "said"),
    [({"sources": 5}, "leave `sources` out"), ({"answer": "reductions"}, "give the instance `answer: slabs`")],
)
def test_an_instance_that_has_no_whole_matrix_is_one_line(arguments, tmp_path, instance, said):
    done = step(arguments(**instance))
    assert done.returncode != 0 and said in done.stderr and "Traceback" not in done.stderr
    assert not list((tmp_path / "kept").glob("*"))


FAILS = """
from saitan.apsp import stored
def append(self, *what):
    self._file.write(b"half"); self._file.flush()
    {}
stored.Writer.append = append
"""


def test_a_full_disk_is_said_and_leaves_nothing(arguments, tmp_path):
    done = step(
        arguments(answer="slabs"), FAILS.format(f"raise OSError({errno.ENOSPC}, {os.strerror(errno.ENOSPC)!r})")
    )
    assert done.returncode != 0 and done.stderr.startswith("error: the disk is full")
    assert not list((tmp_path / "kept").iterdir())


def test_a_killed_writer_leaves_no_answer(arguments, tmp_path):
    done = step(arguments(answer="slabs"), FAILS.format(f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})"))
    assert done.returncode == -signal.SIGKILL
    [left] = (tmp_path / "kept").iterdir()
    assert left.suffix == ".part" and left.stat().st_size
    with pytest.raises(ValueError, match="no coded matrix"):
        apsp.open(left)
    assert step(arguments(answer="slabs")).returncode == 0
    with apsp.open(tmp_path / "kept/distances.coded") as matrix:
        assert np.array_equal(read_answer(tmp_path / "kept/distances.parquet"), matrix[:])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"keep_as": "code"}, r"\.keep_as: unknown form 'code'; did you mean 'coded'\?"),
        ({"keep": ["reached"], "instance": {"answer": "reductions"}}, r"\.keep_as: coded holds distances, not reached"),
        ({"ranks": [1, 2]}, r"\.keep_as: coded is written by one rank"),
        ({"graphs": [], "instance": {"n": [64]}}, r"\.keep_as: coded is that of a graph: name `graphs`$"),
        ({"keep": []}, r"\.keep_as: nothing is kept: name outputs under `keep`"),
        (
            {"problem": "sssp", "variants": ["fast"], "instance": {}},
            r"unknown form 'coded' \(there are: raw, compressed",
        ),
    ],
)
def test_forms_that_do_not_fit_are_refused_by_name(changes, said):
    with pytest.raises(ConfigError, match=said):
        load({"experiments": {"kept": CODED | changes}}, ["tiny-grid"])


def test_a_form_of_an_array_says_what_names_one(monkeypatch):
    monkeypatch.setitem(apsp.FORMS, "coded", replace(apsp.FORMS["coded"], inputs=("matrix",)))
    with pytest.raises(ConfigError, match=r"\.keep_as: coded is that of a matrix: name `arrays`$"):
        load({"experiments": {"kept": CODED}}, ["tiny-grid"])
