"""What saitan imports from elsewhere: files of the user's own are followed, installed packages go by their version."""

import importlib.machinery
import importlib.util
import sys
import zipfile

import numpy
import pytest

from saitan.workflow import module_facts, modules, other_code
from saitan.workflow.other_code import own_file, versions


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder of the user's own on Python's path."""
    known = (other_code.own_file, other_code._spec, other_code._installed, other_code._is_installed)
    known += (
        other_code.pythons,
        other_code._by_package,
        modules.imports,
        modules._taken,
        module_facts.facts,
        modules.source,
    )

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
    (told / "RECORD").write_text("")


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
    module_facts.facts.cache_clear()
    assert modules.digest(["own_two"]) == before
    write(elsewhere, own_two="from saitan.errors import Invalid\nx = 1")
    module_facts.facts.cache_clear()
    assert modules.digest(["own_two"]) != before


def test_compiled_code_of_ones_own_is_told_by_its_bytes(elsewhere):
    ending = importlib.machinery.EXTENSION_SUFFIXES[0]
    write(elsewhere, own_one="import own_ext\nfrom own_many import inner", **{"own_many.__init__": ""})
    files = [elsewhere / f"own_ext{ending}", elsewhere / f"own_many/inner{ending}"]
    for file in files:
        file.write_bytes(b"\x7fELF\0\0")
    found = modules.closure(["own_one"])
    assert found == ["own_ext", "own_many", "own_many.inner", "own_one"]
    before = modules.digest(found)
    files[1].write_bytes(b"\x7fELF\0\1")
    module_facts.facts.cache_clear()
    assert modules.digest(found) != before


def test_code_in_an_archive_is_told_by_the_archive(elsewhere, monkeypatch):
    found = []
    for text in ("x = 1", "x = 2"):
        with zipfile.ZipFile(elsewhere / "own.zip", "w") as archive:
            archive.writestr("own_zipped/__init__.py", "")
            archive.writestr("own_zipped/k.py", text)
        monkeypatch.syspath_prepend(elsewhere / "own.zip")
        for cached in (own_file, other_code._spec, module_facts.facts):
            cached.cache_clear()
        assert own_file("own_zipped") == own_file("own_zipped.k") == elsewhere / "own.zip"
        found.append(modules.digest(modules.closure(["own_zipped.k"])))
    assert found[0] != found[1]


def test_an_installed_package_is_known_by_its_record_beside_it(elsewhere):
    write(elsewhere, own_one="", theirs="", **{"other_name.__init__": ""})
    installed(elsewhere, "theirs", "1.5", "theirs")
    installed(elsewhere, "A-thing", "2.0", "other_name")
    # A file put where packages are is the user's own.
    assert own_file("own_one") == elsewhere / "own_one.py"
    assert own_file("theirs") is None and own_file("other_name") is None
    found = versions(["theirs", "other_name.inner", "own_one", "os", "none"])
    assert [one.split()[0] for one in found] == ["A-thing=2.0", "theirs=1.5"]
    # Installed again with other code, and in another environment.
    record = elsewhere / "theirs-1.5.dist-info/RECORD"
    for text, same in (("theirs.py,sha256=a,1\n", False), ("../bin/x,sha256=b,1\ntheirs.py,sha256=a,1\n", True)):
        before = versions(["theirs"])
        record.write_text(text)
        other_code._installed.cache_clear()
        assert (versions(["theirs"]) == before) is same


def test_an_editable_installation_is_ones_own(elsewhere, monkeypatch):
    write(elsewhere, **{"code.theirs": "", "code.mine.__init__": ""})
    monkeypatch.syspath_prepend(elsewhere / "code")
    for name in ("theirs", "mine"):
        installed(elsewhere, name, "1.5", name)
        # What a build leaves.
        (elsewhere / f"code/{name}.egg-info").mkdir()
        (elsewhere / f"code/{name}.egg-info/PKG-INFO").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2\n")
    assert own_file("theirs") == elsewhere / "code/theirs.py"
    assert own_file("mine") == elsewhere / "code/mine/__init__.py"
    assert versions(["theirs", "mine"]) == []


def test_several_distributions_may_bring_parts_of_one_package(elsewhere):
    write(elsewhere, **{"theirs.__init__": "", "theirs.plugin": ""})
    installed(elsewhere, "theirs", "1.5", "theirs")
    installed(elsewhere, "theirs-plugin", "1.0", "theirs")
    assert [one.split()[0] for one in versions(["theirs.plugin"])] == ["theirs-plugin=1.0", "theirs=1.5"]


def test_folders_that_a_package_adds_to_its_path_are_looked_in(elsewhere, monkeypatch):
    old = "__path__ = __import__('pkgutil').extend_path(__path__, __name__)"
    write(elsewhere, **{f"{folder}.old_pk.__init__": old for folder in ("one", "two")})
    write(elsewhere, **{"two.old_pk.other": "", "two.old_pk.inner.k": "", "one.old_pk.inner.__init__": old})
    for folder in ("two", "one"):
        monkeypatch.syspath_prepend(elsewhere / folder)
    assert own_file("old_pk") == elsewhere / "one/old_pk/__init__.py"
    assert own_file("old_pk.other") == elsewhere / "two/old_pk/other.py"
    assert own_file("old_pk.inner.k") == elsewhere / "two/old_pk/inner/k.py"
    assert own_file("old_pk.none") is None


def test_a_file_before_pythons_of_the_same_name_is_ones_own(elsewhere, monkeypatch):
    write(elsewhere, trace="", own_one="from trace import x\nimport timeit", **{"late.timeit": ""})
    monkeypatch.setattr(sys, "path", [*sys.path, str(elsewhere / "late")])
    assert own_file("trace") == elsewhere / "trace.py" and own_file("timeit") is None
    assert modules.closure(["own_one"]) == ["own_one", "trace"] and modules.others("own_one") == {"trace"}


class Editable:
    """What an editable installation of setuptools adds: it knows a part of a package by its whole name."""

    def __init__(self, part, folder):
        self._part, self._folder = part, folder

    def find_spec(self, name, path=None, target=None):
        if name == self._part:
            file = self._folder / "__init__.py"
            return importlib.util.spec_from_file_location(name, file, submodule_search_locations=[str(self._folder)])
        return None


@pytest.mark.parametrize("imported", [False, True])
def test_of_a_package_without_init_parts_may_be_installed_and_others_ones_own(elsewhere, monkeypatch, imported):
    own, other = "shared_pk.own", "shared_pk.deep.other"
    write(elsewhere, **{f"theirs.{name}": "" for name in ("shared_pk.part.k", "shared_pk.deep.part.k")})
    write(elsewhere, **{f"mine.{own}.{name}": "" for name in ("__init__", "k")})
    write(elsewhere, **{f"mine.{other}.{name}": "" for name in ("__init__", "k")})
    write(elsewhere, **{f"lib.{name}": "" for name in ("__init__", "k")})
    installed(elsewhere / "theirs", "shared-part", "1.5", "shared_pk")
    for folder in ("theirs", "mine"):
        monkeypatch.syspath_prepend(elsewhere / folder)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Editable("shared_pk.lib", elsewhere / "lib")])
    if imported:
        importlib.import_module(own)
        importlib.import_module(other)
    assert own_file(f"{own}.k") == elsewhere / "mine/shared_pk/own/k.py"
    assert own_file(f"{other}.k") == elsewhere / "mine/shared_pk/deep/other/k.py"
    assert own_file("shared_pk.lib") == elsewhere / "lib/__init__.py"
    assert own_file("shared_pk.lib.k") == elsewhere / "lib/k.py"
    for name in ("shared_pk", "shared_pk.part.k", "shared_pk.deep", "shared_pk.deep.part.k", "shared_pk.none.k"):
        assert own_file(name) is None
    assert [one.split()[0] for one in versions(["shared_pk.own"])] == ["shared-part=1.5"]
    for name in [name for name in sys.modules if name.startswith("shared_pk")]:
        del sys.modules[name]


def test_what_saitan_requires_is_not_further():
    told = ["numpy=2.0 a", "mine=1.0 b", "Py-Arrow=1 c", "pyarrow=1 c", "networkit=11 d", "Typing_Extensions=4 e"]
    assert other_code.further(told) == ["mine=1.0 b", "Py-Arrow=1 c", "Typing_Extensions=4 e"]


def test_versions_of_what_is_there():
    (found,) = versions(["numpy.linalg", "numpy", "saitan.graph", "json"])
    assert found.startswith(f"numpy={numpy.__version__} ")
