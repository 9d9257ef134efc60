"""What saitan imports from elsewhere: files of the user's own are followed, installed packages go by their version."""

import numpy
import pytest

from saitan.workflow import modules, other_code
from saitan.workflow.other_code import own_file, versions


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder of the user's own on Python's path."""
    known = (other_code.own_file, other_code._place, other_code._is_installed, other_code._told, other_code._by_package)
    known += (modules.imports, modules._facts, modules.source)

    def forget():
        for cached in known:
            cached.cache_clear()

    monkeypatch.syspath_prepend(tmp_path)
    forget()
    yield tmp_path
    forget()


def write(folder, **texts):
    for name, text in texts.items():
        path = folder / f"{name.replace('.', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def installed(folder, name, version, package):
    """What pip leaves of a package beside its files."""
    told = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (told / "top_level.txt").write_text(f"{package}\n")


def test_files_of_ones_own_are_found_by_their_names(elsewhere):
    write(elsewhere, own_one="", **{"own_many.__init__": "", "own_many.inner": "", "own_bare.inner": ""})
    assert own_file("own_one") == elsewhere / "own_one.py"
    assert own_file("own_many") == elsewhere / "own_many/__init__.py"
    assert own_file("own_many.inner") == elsewhere / "own_many/inner.py"
    assert own_file("own_bare.inner") == elsewhere / "own_bare/inner.py"
    for name in ("own_one.thing", "own_many.thing", "own_bare", "own_none", "os.path", "numpy", "numpy.linalg", "sys"):
        assert own_file(name) is None


def test_what_they_import_is_followed_too(elsewhere):
    write(
        elsewhere, own_one="import numpy, os\nfrom own_many import inner", own_two="from saitan.errors import Invalid"
    )
    write(
        elsewhere,
        **{"own_many.__init__": "", "own_many.inner": "def f():\n    from ..own_two import x\n    import own_two"},
    )
    assert modules.closure(["own_one"]) == [
        *("own_many", "own_many.inner", "own_one", "own_two"),
        *modules.closure(["saitan.errors"]),
    ]
    before = modules.digest(["own_two"])
    write(elsewhere, own_two="# other words\nfrom saitan.errors import Invalid")
    modules._facts.cache_clear()
    assert modules.digest(["own_two"]) == before
    write(elsewhere, own_two="from saitan.errors import Invalid\nx = 1")
    modules._facts.cache_clear()
    assert modules.digest(["own_two"]) != before


def test_a_file_put_where_packages_are_is_ones_own(elsewhere, monkeypatch):
    monkeypatch.setattr(other_code, "_sites", lambda: [elsewhere])
    write(elsewhere, own_one="", theirs="", **{"other_name.__init__": ""})
    installed(elsewhere, "theirs", "1.5", "theirs")
    installed(elsewhere, "A-thing", "2.0", "other_name")
    assert own_file("own_one") == elsewhere / "own_one.py"
    assert own_file("theirs") is None and own_file("other_name") is None
    assert versions(["theirs", "other_name.inner", "own_one", "os", "none"]) == ["A-thing=2.0", "theirs=1.5"]
    # An editable installation: its record lies where packages are, its files do not.
    monkeypatch.setattr(other_code, "_sites", lambda: [elsewhere / "site"])
    other_code._is_installed.cache_clear()
    other_code.own_file.cache_clear()
    assert own_file("theirs") == elsewhere / "theirs.py" and versions(["theirs"]) == []


def test_versions_of_what_is_there():
    assert versions(["numpy.linalg", "numpy", "saitan.graph", "json"]) == [f"numpy={numpy.__version__}"]
