"""The project fixture: a fresh copy to run Snakemake in."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tiny import GRAPHS, ONE_POINT, ROOT, Project


@pytest.fixture(scope="session")
def place(tmp_path_factory) -> Path:
    """One place for all copies: Numba's cache knows code by its path."""
    return tmp_path_factory.mktemp("project") / "copy"


@pytest.fixture
def project(place) -> Project:
    shutil.rmtree(place, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "Snakefile", "kernels", "workflow", "config", "profiles"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.split():
        if (ROOT / name).exists():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    # What an installation maps to the folders: the package saitan is the copy's own.
    package = place / "site/saitan"
    package.mkdir(parents=True)
    own = (place / "kernels/__init__.py").read_text()
    (package / "__init__.py").write_text(f"{own}\n__path__ = [{str(place / 'kernels')!r}, {str(package)!r}]\n")
    (package / "workflow").symlink_to(place / "workflow")
    (place / "config/graphs.yaml").write_text(GRAPHS)
    made = Project(place)
    made.configure({"tiny": ONE_POINT})
    return made
