"""What a run needs around it is asked for before anything else, in one line."""

import contextlib
import importlib.util
import re
import resource
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import yte
from tiny import ROOT

from saitan.problem import names
from saitan.workflow.environment import check_environment


@pytest.fixture
def clone(tmp_path):
    """A clone whose pyproject.toml asks for other packages."""

    def asks(*packages):
        (tmp_path / "pyproject.toml").write_text(f"[project]\ndependencies = {list(packages)!r}\n")
        return tmp_path

    return asks


def test_this_environment_is_complete_and_runs_this_code(capsys):
    check_environment(ROOT)
    assert capsys.readouterr() == ("", "")


def test_what_is_missing_or_too_old_is_one_line(clone):
    numpy = metadata.version("numpy")
    wanted = ["numpy>=1", "no-such-package>=2", "numpy>=99", "no-such-thing>=3; python_version < '3'"]
    with pytest.raises(SystemExit) as ended:
        check_environment(clone(*wanted))
    line = (
        "environment: no-such-package is missing, numpy>=99 is needed, not {}: `pip install -e .` in {} sets it right"
    )
    assert str(ended.value) == line.format(numpy, clone())


@pytest.mark.parametrize("found", [None, "abc"])
def test_a_package_whose_version_cannot_be_read_is_one_line(clone, monkeypatch, found):
    monkeypatch.setattr(metadata, "version", lambda name: found)
    with pytest.raises(SystemExit, match=r"^environment: numpy is damaged: "):
        check_environment(clone("numpy>=1"))


@pytest.mark.parametrize(
    ("name", "value", "usual"),
    [
        *((f"NUMBA_{name}", "1", "0") for name in ("DISABLE_JIT", "BOUNDSCHECK", "DEBUGINFO", "DEBUG_NRT")),
        *(("NUMBA_OPT", "0", "3"), ("NUMBA_OPT", "max", ""), ("NUMBA_SLP_VECTORIZE", "1", "0")),
        *(("NUMBA_LOOP_VECTORIZE", "0", "1"), ("NUMBA_ENABLE_AVX", "0", "1"), ("NUMBA_DISABLE_INTEL_SVML", "1", "0")),
        *(("NUMBA_CPU_NAME", "generic", None), ("NUMBA_CPU_FEATURES", "", None)),
    ],
)
def test_code_that_numba_is_told_to_make_otherwise_is_not_measured(monkeypatch, name, value, usual):
    if usual is not None:
        monkeypatch.setenv(name, usual)
        check_environment(ROOT)
    monkeypatch.setenv(name, value)
    says = rf"^environment: with {name}={value} times are those of other code: unset it$"
    with pytest.raises(SystemExit, match=says):
        check_environment(ROOT)


@pytest.mark.parametrize(("limit", "told"), [(2**32, None), (2**32 - 1, "4.3"), (600 * 2**20, "0.6")])
def test_an_address_space_in_which_nothing_can_be_loaded_is_one_line(monkeypatch, limit, told):
    monkeypatch.setattr("resource.getrlimit", lambda kind: {resource.RLIMIT_AS: (limit, -1)}[kind])
    says = rf"^environment: the address space is limited to {told} GB \(ulimit -v\): 4\.3 GB at least, or `ulimit"
    with pytest.raises(SystemExit, match=says) if told else contextlib.nullcontext():
        check_environment(ROOT)


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        ("tbbb", "The threading layer requested 'tbbb' is unknown to Numba"),
        ("tbb", "No threading layer could be loaded"),
    ],
)
def test_threads_that_numba_does_not_have_are_one_line(monkeypatch, layer, why):
    for there in ("", "default", "workqueue"):
        monkeypatch.setenv("NUMBA_THREADING_LAYER", there)
        check_environment(ROOT)
    if layer == "tbb" and importlib.util.find_spec("tbb"):
        pytest.skip("TBB is installed")
    monkeypatch.setenv("NUMBA_THREADING_LAYER", layer)
    says = rf"^environment: with NUMBA_THREADING_LAYER={layer} Numba has no threads \({re.escape(why)}\): unset it$"
    with pytest.raises(SystemExit, match=says):
        check_environment(ROOT)


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "NUMEXPR_NUM_THREADS"])
@pytest.mark.parametrize("there", [True, False])
def test_threads_by_which_pandas_cannot_be_imported_are_one_line(monkeypatch, name, there):
    """NumExpr, which it imports where it is installed, reads OpenMP's list as a number."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda it: there if it == "numexpr" else found(it))
    for value in ("", "2", " 16 "):
        monkeypatch.setenv(name, value)
        check_environment(ROOT)
    for value in ("2,1", "x"):
        monkeypatch.setenv(name, value)
        if there:
            says = rf"^environment: with {name}={value} pandas cannot be imported: a whole number is right$"
            with pytest.raises(SystemExit, match=says):
                check_environment(ROOT)
        else:
            check_environment(ROOT)


def test_the_code_of_another_clone_is_named(clone, capsys):
    check_environment(clone("numpy"))
    said = f"beware: the code that runs is that of {ROOT}, not of {clone()}: `pip install -e .` here runs this one\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("error", [NameError("name 'rnges' is not defined"), TypeError("__init__() missing 1")])
def test_generators_that_cannot_be_imported_are_one_line(monkeypatch, error):
    def fails(name):
        raise error

    monkeypatch.setattr("saitan.workflow.environment.importlib.import_module", fails)
    told = re.escape(f"error: {type(error).__name__}: {error}")
    with pytest.raises(SystemExit, match=rf"^{told} \(\S*workflow/environment\.py, line \d+\)$"):
        check_environment(ROOT)


@pytest.mark.parametrize("module", ["components", "graph", "calls"])
def test_a_folder_of_the_name_of_a_module_is_one_line(project, module):
    """Python takes it for the module, on which other problems, and what reads the command line, depend."""
    folder = project.folder / "kernels" / module
    (folder / "cpu").mkdir(parents=True)
    (folder / "__init__.py").touch()
    done = project.snakemake()
    says = f"environment: {folder}: Python takes it for kernels/{module}.py, which saitan needs: another name is right"
    assert done.returncode != 0 and project.said(done) == [says]


def test_a_folder_that_python_takes_for_the_package_is_one_line(project, tmp_path):
    """That of the clone, where PYTHONPATH names the folder that holds it."""
    (tmp_path / "saitan").mkdir()
    environment = {**project.environment, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        project.command(), cwd=project.folder, env=environment, capture_output=True, text=True, check=False
    )
    (line,) = project.said(done)
    start = f"environment: Python takes the folder {tmp_path / 'saitan'} for the package saitan: PYTHONPATH names"
    assert done.returncode != 0 and line.startswith(start)


@pytest.mark.parametrize("profile", ["default", "slurm"])
def test_a_python_that_does_not_find_saitan_is_one_line(monkeypatch, profile):
    """As that of a clone that was moved since it was installed."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "saitan" else found(name))
    says = rf"^environment: {sys.executable} has no saitan: `pip install -e \.` in {Path.cwd()} sets it right$"
    with pytest.raises(SystemExit, match=says):
        yte.process_yaml((ROOT / f"profiles/{profile}/config.yaml").read_text())


def test_what_the_profiles_import_imports_no_code_of_the_users_own():
    for profile in (ROOT / "profiles").glob("*/config.yaml"):
        imports = "; ".join(re.findall(r"^  - ((?:from|import) .*)", profile.read_text(), re.M))
        done = subprocess.run(
            [sys.executable, "-c", f"{imports}; print(sorted(sys.modules))"], capture_output=True, text=True, check=True
        )
        assert "saitan.workflow.command_line" in done.stdout
        for module in ("generators", *names()):
            assert f"'saitan.{module}'" not in done.stdout


def test_nothing_is_measured_where_a_package_is_missing(project):
    wanted = project.folder / "pyproject.toml"
    wanted.write_text(wanted.read_text().replace('"altair>=6"', '"no-such-package"'))
    done = project.snakemake()
    (line,) = project.said(done)
    assert done.returncode != 0 and line.startswith("environment: no-such-package is missing: ")
    assert not (project.folder / "results/tiny/samples").exists()
