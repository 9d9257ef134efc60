"""Fixtures: a fresh copy of the project to run Snakemake in, a run to report, files of graphs and samples."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from graph_files import COMPRESS
from numba.core.caching import _CacheLocator
from reports import run_plan
from samples import write_samples
from tiny import GRAPHS, ONE_POINT, ROOT, Project

from saitan.graph import Graph
from saitan.workflow.graphs.parquet import write_graph


@pytest.fixture(scope="session")
def place(tmp_path_factory) -> Path:
    """One place for all copies: Numba's cache knows code by its path."""
    return tmp_path_factory.mktemp("project") / "copy"


@pytest.fixture(scope="session")
def template(place) -> Path:
    """What every copy begins as: the project's files, and what an earlier copy's run left for others."""
    made = place.parent / "template"
    listed = subprocess.run(
        [
            "git",
            "ls-files",
            "-co",
            "--exclude-standard",
            "Snakefile",
            "pyproject.toml",
            "kernels",
            "workflow",
            "config",
            "profiles",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.split():
        if (ROOT / name).exists():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, made / name)
    # What an installation maps to the folders: the package saitan is the copy's own.
    package = made / "site/saitan"
    package.mkdir(parents=True)
    own = (made / "kernels/__init__.py").read_text()
    (package / "__init__.py").write_text(f"{own}\n__path__ = [{str(place / 'kernels')!r}, {str(package)!r}]\n")
    (package / "workflow").symlink_to(place / "workflow")
    (made / "config/graphs.yaml").write_text(GRAPHS)
    _share_compiled(place)
    # Compiled files stay true to sources whose times are the same.
    for compiled in (file for folder in ("kernels", "workflow") for file in (ROOT / folder).rglob("*.pyc")):
        copied = made / compiled.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(compiled, copied)
    return made


def _share_compiled(place: Path) -> None:
    """The functions that Numba compiled of the project are those of its copy too, which a test changes by a word."""
    cache = Path(os.environ["NUMBA_CACHE_DIR"])
    for folder in {module.parent for module in (ROOT / "kernels").rglob("*.py")}:
        ours, theirs = (
            cache / _CacheLocator.get_suitable_cache_subpath(str(folder / "a.py"))
            for folder in (folder, place / folder.relative_to(ROOT))
        )
        ours.mkdir(parents=True, exist_ok=True)
        theirs.unlink(missing_ok=True)
        theirs.symlink_to(ours)


@pytest.fixture
def project(place, template) -> Project:
    # What is the same in every run and takes seconds.
    for name in ("modules.json", "vega.js"):
        if (place / "results" / name).exists():
            (template / "results").mkdir(exist_ok=True)
            shutil.copy2(place / "results" / name, template / "results")
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(template, place, symlinks=True)
    made = Project(place)
    made.configure({"tiny": ONE_POINT})
    return made


@pytest.fixture
def alone(monkeypatch):
    """Other work on the machine of the tests changes nothing, and is not waited for."""
    monkeypatch.setattr("saitan.workflow.disturbance.Others.load", lambda self, wait: 0.0)


@pytest.fixture
def plan(tmp_path):
    """What the report is told of a run with two points measured, one failed, one left out."""
    return run_plan(tmp_path)


@pytest.fixture(scope="module")
def write(tmp_path_factory):
    """Writes content, compressed as the suffix says, and returns the path."""
    folder = tmp_path_factory.mktemp("files")

    def write(content, name="graph.gr"):
        path = folder / name
        path.write_bytes(COMPRESS.get(path.suffix, bytes)(content.encode()))
        return path

    return write


@pytest.fixture
def write_point(tmp_path):
    """Write one point's samples: a name of the file, the variant, the rows, and what else `write_samples` takes."""
    return lambda name, variant, rows, **point: write_samples(
        tmp_path / f"{name}.parquet", rows, variant=variant, **point
    )


@pytest.fixture
def graph_folder(tmp_path):
    """A graph of 6 vertices with out-degrees 2, 0, 3, 0, 0, 0."""

    def one(name, weights):
        offsets, targets = np.array([0, 2, 2, 5, 5, 5, 5], np.int64), np.array([1, 2, 0, 1, 3], np.int32)
        graph = Graph(offsets, targets, None if weights is None else np.array(weights, np.uint32))
        write_graph(graph, tmp_path / name)
        return tmp_path / name

    return one
