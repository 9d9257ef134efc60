"""A step of a run takes the code that the run was planned with, and no other."""

import importlib.abc
import importlib.util
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tiny import ROOT

import saitan.tropical
from saitan.workflow import step
from saitan.workflow.compile import compile_one
from saitan.workflow.planned_code import PACKAGES, _Planned, _planned, check_planned, digests, digests_of, hold_to_plan
from saitan.workflow.step import PLANNED, Failure


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """Pretend to be a step of a run that was planned when some files were others."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))

    def with_others(*edited):
        told = digests()
        assert told.keys() >= {*edited}
        file = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        file.write_text(json.dumps(told | dict.fromkeys(edited, "another")))
        monkeypatch.setenv(PLANNED, str(file))

    return with_others


def test_code_as_it_was_planned_is_taken(planned):
    hold_to_plan()
    planned()
    hold_to_plan()
    check_planned(Path(saitan.__path__[0]).rglob("*.cu"))
    check_planned([Path(__file__)])


def test_a_module_that_was_edited_is_not_imported(planned):
    planned("kernels/tropical/peers.py", "kernels/sssp/__init__.py")
    # Neither has an ending that tells a package from a module.
    for name, path, file in (
        ("saitan.tropical.peers", saitan.tropical.__path__, "kernels/tropical/peers.py"),
        ("saitan.sssp", saitan.__path__, "kernels/sssp/__init__.py"),
    ):
        with pytest.raises(
            Failure, match=f"^{file} was edited after this run was planned: run the same command again$"
        ):
            _Planned().find_spec(name, path)
    assert _Planned().find_spec("saitan.graph", saitan.__path__).origin.endswith("graph.py")


def test_a_module_that_is_there_already_was_not_edited_either(planned):
    planned("workflow/step.py")
    assert step.__file__.endswith("step.py")
    with pytest.raises(Failure, match=r"^workflow/step\.py was edited"):
        hold_to_plan()


def test_code_of_ones_own_elsewhere_that_was_edited_is_not_imported(tmp_path, monkeypatch):
    files = [tmp_path / "own_one.py", tmp_path / "own_many/inner.py", tmp_path / "own_many/__init__.py"]
    (tmp_path / "own_many").mkdir()
    for file in files:
        file.write_text("")
    told = tmp_path / "code.json"
    told.write_text(json.dumps(digests() | digests_of(map(str, files)) | {PACKAGES: "mine=1"}))
    monkeypatch.setenv(PLANNED, str(told))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.syspath_prepend(tmp_path)
    hold_to_plan()
    importlib.import_module("own_one")
    files[1].write_text("edited = True")
    importlib.import_module("own_many")
    with pytest.raises(
        Failure, match=rf"^{files[1]} was edited after this run was planned: run the same command again$"
    ):
        importlib.import_module("own_many.inner")


def test_code_in_a_folder_of_another_name_or_an_archive_is_held_to_the_plan_too(tmp_path, monkeypatch):
    (tmp_path / "python").mkdir()
    files = [tmp_path / "python/__init__.py", tmp_path / "own.zip"]
    files[0].write_text("")
    with zipfile.ZipFile(files[1], "w") as archive:
        archive.writestr("own_zipped/__init__.py", "")
        archive.writestr("own_zipped/k.py", "x = 1\n")
    told = tmp_path / "code.json"
    monkeypatch.setenv(PLANNED, str(told))

    class Mapped(importlib.abc.MetaPathFinder):
        def find_spec(self, name, path, target=None):
            return importlib.util.spec_from_file_location(name, files[0]) if name == "own_mapped" else None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Mapped()])
    known = list(sys.meta_path)
    monkeypatch.syspath_prepend(files[1])
    names = ("own_mapped", "own_zipped.k")
    for edited in (None, *files):
        told.write_text(json.dumps(digests() | digests_of(map(str, files)) | ({str(edited): "1"} if edited else {})))
        _planned.cache_clear()
        monkeypatch.setattr(sys, "meta_path", list(known))
        hold_to_plan()
        for name, file in zip(names, files, strict=True):
            for module in ("own_mapped", "own_zipped", "own_zipped.k"):
                sys.modules.pop(module, None)
            if file == edited:
                with pytest.raises(Failure, match=f"^{file} was edited"):
                    importlib.import_module(name)
            else:
                importlib.import_module(name)


def test_a_step_says_so_in_one_line(planned, tmp_path):
    planned("workflow/figure_data.py")
    command = [sys.executable, "-m", "saitan.workflow.figures", "--log", str(tmp_path / "log")]
    command += ["--experiment", "e", "--figure", "{}", "--data", "none", "--svg", "none", "--spec", "none"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    line = "error: workflow/figure_data.py was edited after this run was planned: run the same command again\n"
    assert (done.returncode, done.stderr) == (1, line)


def test_compiled_modules_and_what_kernels_include_are_planned(tmp_path, monkeypatch):
    kernels = tmp_path.resolve() / "kernels"
    (kernels / "mine").mkdir(parents=True)
    for name, text in {
        "mine/a.cu": '#include "own.h"\n#include "../../outside.h"\n',
        "mine/own.h": "",
        "mine/no.h": "",
        "mine/_ext.cpython-311-x86_64-linux-gnu.so": "",
        "../outside.h": "",
    }.items():
        (kernels / name).write_text(text)
    monkeypatch.setattr("saitan.workflow.planned_code._folders", lambda: {"kernels": kernels})
    named = {"a.cu", "own.h", "_ext.cpython-311-x86_64-linux-gnu.so"}
    assert set(digests()) == {*(f"kernels/mine/{name}" for name in named), str(tmp_path.resolve() / "outside.h")}


def test_a_kernel_that_was_edited_is_not_compiled(planned):
    planned("kernels/sssp/ending.cuh")

    class Arguments:
        source = Path(saitan.__path__[0]) / "sssp/fast.cu"

    with pytest.raises(Failure, match=r"^kernels/sssp/ending\.cuh was edited"):
        compile_one(Arguments)


@pytest.mark.parametrize("name", ["config/published.yaml", "config/peers.yaml", "workflow/report_template/page.html"])
def test_what_tables_and_the_page_show_is_what_was_planned(tmp_path, monkeypatch, name):
    file = ROOT / name
    told = digests() | digests_of([str(file)])
    (tmp_path / "code.json").write_text(json.dumps(told))
    monkeypatch.setenv(PLANNED, str(tmp_path / "code.json"))
    check_planned([file])
    key = str(file) if str(file) in told else name
    (tmp_path / "other.json").write_text(json.dumps(told | {key: "another", name: "another"}))
    monkeypatch.setenv(PLANNED, str(tmp_path / "other.json"))
    with pytest.raises(Failure, match=r"was edited after this run was planned: run the same command again$"):
        check_planned([file])


def test_a_run_whose_file_is_gone_is_one_line(planned, monkeypatch):
    monkeypatch.setenv(PLANNED, "results/none/code.json")
    with pytest.raises(Failure, match=r"^results/none/code\.json, which the run wrote as it began, cannot be read: "):
        hold_to_plan()
