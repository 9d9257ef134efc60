import json
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import saitan
from saitan import problem
from saitan.workflow import module_facts, modules

ROOT = Path(__file__).parents[2]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Writes modules of a package saitan of its own and reads them afresh."""
    monkeypatch.setattr(saitan, "__path__", [str(tmp_path)])

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path / (name.replace(".", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        forget()

    def forget():
        for cached in (
            modules.source,
            modules.imports,
            modules._taken,
            module_facts.facts,
            module_facts._known,
            module_facts._by,
        ):
            cached.cache_clear()

    yield write
    forget()


def test_modules_and_files():
    assert modules.source("saitan.graph") == ROOT / "kernels/graph.py"
    assert modules.source("saitan.sssp") == ROOT / "kernels/sssp/__init__.py"
    assert modules.source("saitan") == ROOT / "kernels/__init__.py"
    assert modules.source("saitan.workflow.step") == ROOT / "workflow/step.py"
    assert modules.source("saitan.workflow.graphs") == ROOT / "workflow/graphs/__init__.py"
    assert modules.source("saitan.sssp.unreachable") is None


def test_a_compiled_module_is_followed_like_others(package, tmp_path):
    """It is what Python takes, also where a source lies beside it."""
    package(__init__="", a="from saitan import b\n", b="x = 1\n")
    before = modules.digest(modules.closure(["saitan.a"]))
    compiled = Path(modules.source("saitan.b")).with_suffix(EXTENSION_SUFFIXES[0])
    found = []
    for content in (b"\x7fELF\xcc\xff", b"\x7fELF\xcc\xfe"):
        package()
        compiled.write_bytes(content)
        assert modules.source("saitan.b") == compiled and modules.taken_from(["saitan.b"]) == []
        found.append(modules.digest(modules.closure(["saitan.a"])))
    assert len({before, *found}) == 3


@pytest.mark.parametrize(
    "text",
    [
        'from saitan.cuda.constants import constants\nN = constants("sssp", "hop.cuh")["NONE"]\n',
        "from saitan.cuda import constants\ndef f():\n    return constants.constants('sssp', 'hop.cuh')\n",
    ],
)
def test_files_of_kernels_that_constants_are_taken_from_are_found(package, text):
    package(__init__="", a=text, b='other("sssp", "hop.cuh")\nconstants("sssp", "no_such.cuh")\nconstants(1, 2)\n')
    here = Path(saitan.__path__[0])
    (here / "sssp").mkdir(exist_ok=True)
    (here / "sssp/hop.cuh").touch()
    assert modules.taken_from(["saitan.a", "saitan.b"]) == [here / "sssp/hop.cuh"]
    assert modules.taken_from(["saitan.b"]) == []


def test_a_module_that_python_cannot_read_is_one_line(package):
    package(__init__="", a="x = 1\ndef f(:\n    pass\n")
    with pytest.raises(SystemExit, match=r"^error: \S+a\.py: line 2: invalid syntax$"):
        modules.closure(["saitan.a"])


def test_imports_are_followed_wherever_they_stand(package):
    package(
        __init__="",
        a="import saitan.b\nfrom saitan import c\nimport numpy\n",
        b="def f():\n    from saitan.d import x\n",
        c="",
        d="from saitan.a import y\n",
        e="",
    )
    assert modules.closure(["saitan.a"]) == ["saitan", *(f"saitan.{name}" for name in "abcd")]
    assert modules.closure(["saitan.e"]) == ["saitan", "saitan.e"]


def test_other_packages_are_named_by_their_first_name(package):
    package(
        __init__="", a="import os, numpy.linalg\nfrom scipy.sparse import csgraph\nfrom . import b\nimport saitan.b"
    )
    assert modules.others("saitan.a") == {"numpy", "scipy"}
    assert modules.others("saitan.none") == set()


def test_a_package_is_run_by_its_modules_and_may_be_left_alone(package):
    package(**{"__init__": "", "p.__init__": "import saitan.q", "p.m": "", "q": "", "r": "from saitan.p import m"})
    assert modules.closure(["saitan.p.m"]) == ["saitan", "saitan.p", "saitan.p.m", "saitan.q"]
    assert modules.closure(["saitan.r"], ["saitan.p.m"]) == ["saitan", "saitan.p", "saitan.q", "saitan.r"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from .b import X", ["p.b"]),
        ("from . import b, c", ["p.b", "p.c"]),
        ("from .s import t", ["p.s", "p.s.t"]),
        ("from .. import q", ["q"]),
        ("from ..q import X", ["q"]),
        ("from .q import X", []),
        ("from ...q import X", []),
    ],
)
def test_relative_imports_are_followed_from_where_they_stand(package, text, found):
    package(**dict.fromkeys(("__init__", "p.__init__", "p.b", "p.c", "p.s.__init__", "p.s.t", "q", "b"), ""))
    package(**{"p.m": text, "p.s.m": text.replace("from .", "from ..")})
    for module in ("saitan.p.m", "saitan.p.s.m"):
        assert modules.imports(module) - {"saitan", "saitan.p"} == {f"saitan.{name}" for name in found}
    package(**{"p.__init__": text})
    assert modules.imports("saitan.p") - {"saitan", "saitan.p"} == {f"saitan.{name}" for name in found}


@pytest.mark.parametrize("variants", ["VARIANTS = {}", "from saitan.p.variants import VARIANTS"])
def test_of_a_problem_what_no_measurement_calls_is_left_out(package, variants):
    text = f"{variants}\ndef reference():\n    import saitan.peers\ndef instance():\n    import saitan.instances\n"
    package(**{"__init__": "", "p.__init__": text, "peers": "", "instances": ""})
    assert modules.closure(["saitan.p"], by="measured") == ["saitan", "saitan.instances", "saitan.p"]
    assert modules.closure(["saitan.p"], by="asked") == ["saitan", "saitan.instances", "saitan.p", "saitan.peers"]
    package(
        **{
            "p.__init__": f"{text}def prepare():\n    import saitan.peers\ndef solve():\n    import saitan.more\n",
            "more": "",
        }
    )
    assert "saitan.peers" in modules.closure(["saitan.p"], by="measured")
    assert "saitan.more" not in modules.closure(["saitan.p"], by="asked")
    assert "saitan.more" in modules.closure(["saitan.p"])


@pytest.mark.parametrize(
    "caller", ["def instance():\n    return _made()\n", "def queries():\n    _made()\n", "X = _made\n"]
)
def test_of_a_problem_what_a_measurement_calls_in_turn_counts(package, caller):
    helpers = "def _made():\n    return _drawn()\ndef _drawn():\n    import saitan.numbers\n"
    text = f"VARIANTS = {{}}\n{caller}{helpers}def solve():\n    import saitan.peers\n    return instance()\n"
    package(**{"__init__": "", "p.__init__": text, "peers": "", "numbers": ""})
    assert modules.closure(["saitan.p"], by="measured") == ["saitan", "saitan.numbers", "saitan.p"]


PROBLEM = """
from saitan.p.variants import VARIANTS
def instance(): pass
def queries(reference, more): pass
def reference():
    import saitan.peers
def differs(reference, answer):
    import saitan.tolerances
def prepare(instance, variant):
    return VARIANTS[variant].load()
def more():
    import saitan.more
def scaled():
    return _scaled()
def _scaled():
    from saitan.scales import scale
def solve():
    from .near import check
    return prepare()
"""
VARIANTS = (
    'VARIANTS = {"one": Variant("says", cpu="saitan.one:Solver"), "two": Variant("says", cpu="own_two:Solver")}\n'
)
FILES = dict.fromkeys(("__init__", "peers", "tolerances", "more", "scales", "one", "p.near", "m"), "")
FILES |= {"p.__init__": PROBLEM, "p.variants": VARIANTS}


def without_package(found):
    return sorted(name.removeprefix("saitan.") for name in {*found} - {"saitan", "saitan.p", "saitan.p.variants"})


def test_a_measurement_compares_and_what_an_argument_is_called_is_no_function(package):
    package(**FILES)
    assert without_package(modules.closure(["saitan.p"], by="measured")) == ["tolerances"]
    assert without_package(modules.closure(["saitan.p"], by="asked")) == ["peers"]


@pytest.mark.parametrize(
    "takes",
    [
        "from saitan.p import {0}\n",
        "from saitan import p\ndef f(x):\n    return p.{0}(x)\n",
        "import saitan.p\nclass C:\n    f = saitan.p.{0}\n",
        "import saitan.p as other\nx = other.{0}.__name__\n",
        "def f():\n    from saitan import p as other\n    other.{0}()\n",
        "from . import p\np.{0}()\n",
        "from .p import {0} as g\n",
    ],
)
@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("more", ["m", "more", "tolerances"]),
        ("scaled", ["m", "scales", "tolerances"]),
        ("solve", ["m", "one", "own_two", "p.near", "p:VARIANTS", "tolerances"]),
        ("prepare", ["m", "one", "own_two", "p:VARIANTS", "tolerances"]),
        ("VARIANTS", ["m", "one", "own_two", "p:VARIANTS", "tolerances"]),
        ("no_such", ["m", "tolerances"]),
    ],
)
def test_of_a_problem_what_other_code_takes_is_followed(package, takes, name, found):
    """Of what loads solvers by their names, all of them."""
    package(**FILES | {"m": takes.format(name)})
    assert without_package(modules.closure(["saitan.m"], by="measured")) == found


@pytest.mark.parametrize(
    ("function", "loads"),
    [
        ("def answer(prepare, *more, scaled=1):\n    return prepare(scaled, more)\n", False),
        ("def answer(x, y=lambda prepare: prepare()):\n    return [prepare(), y]\n", True),
        ("def answer(x):\n    return called(VARIANTS, x)\n", True),
        ("def answer(x):\n    return [one for one in VARIANTS.values()]\n", True),
        ("def answer(x):\n    return VARIANTS[x]\n", True),
        ("def answer(x):\n    return VARIANTS['one'].parameters[x]\n", False),
        ("def answer(x):\n    return VARIANTS['one'].load(x)\n", True),
    ],
)
def test_what_loads_solvers_names_them_or_is_given_their_names(package, function, loads):
    package(**FILES | {"p.__init__": PROBLEM + function, "m": "from saitan.p import answer\n"})
    found = ["m", "one", "own_two", "p:VARIANTS", "tolerances"] if loads else ["m", "tolerances"]
    assert without_package(modules.closure(["saitan.m"], by="measured")) == found


@pytest.mark.parametrize(
    "made",
    ["answer = wrapped(prepare)\n", "class answer:\n    def __init__(self):\n        prepare()\n", "answer = 3\n"],
)
def test_what_other_statements_of_a_problem_make_may_load_too(package, made):
    package(**FILES | {"p.__init__": PROBLEM + made, "m": "from saitan.p import answer\n"})
    found = ["m", "tolerances"] if "3" in made else ["m", "one", "own_two", "p:VARIANTS", "tolerances"]
    assert without_package(modules.closure(["saitan.m"], by="measured")) == found


@pytest.mark.parametrize(
    "takes",
    [
        "from saitan.p.variants import VARIANTS\n",
        "from saitan.p.variants import VARIANTS as W\n",
        "from .p.variants import *\n",
        "from saitan.p import variants\nx = variants.VARIANTS\n",
        "import saitan.p.variants as other\ndef f(x):\n    return other.VARIANTS[x]\n",
        "import saitan.p.variants\nx = saitan.p.variants.VARIANTS\n",
    ],
)
def test_variants_may_be_taken_from_beside_the_package(package, takes):
    package(**FILES | {"m": takes})
    found = ["m", "one", "own_two", "p:VARIANTS", "tolerances"]
    assert without_package(modules.closure(["saitan.m"], by="measured")) == found
    package(**FILES | {"m": "from saitan.p.variants import INPUTS\nimport saitan.p.variants\n"})
    assert without_package(modules.closure(["saitan.m"], by="measured")) == ["m", "tolerances"]


def test_all_that_is_taken_of_a_problem_is_everything(package):
    package(**FILES | {"m": "from saitan.p import *\n"})
    found = ["m", "more", "one", "own_two", "p.near", "p:VARIANTS", "peers", "scales", "tolerances"]
    assert without_package(modules.closure(["saitan.m"], by="measured")) == found


def test_what_is_set_aside_or_given_loads_nothing(package):
    package(**FILES | {"m": "from saitan.p import solve\n"})
    assert without_package(modules.closure(["saitan.m"], ["saitan.p"], "measured")) == ["m"]
    given = modules.closure(["saitan.m"], (), "measured", ("saitan.m", "saitan.p"))
    assert without_package(given) == ["m", "p.near", "tolerances"]
    # Of another problem it loads what its own code names.
    given = modules.closure(["saitan.m"], (), "measured", ("saitan.m", "saitan.q"))
    assert without_package(given) == ["m", "one", "own_two", "p.near", "p:VARIANTS", "tolerances"]


def test_what_is_declared_of_solvers_is_code_where_they_are_loaded_by_name(package):
    digests = {"solve": set(), "scaled": set()}
    for other in (VARIANTS, VARIANTS.replace("one:Solver", "one:Another")):
        for name, found in digests.items():
            package(**FILES | {"p.variants": other, "m": f"from saitan.p import {name}\n"})
            found.add(modules.digest(modules.closure(["saitan.m"], by="measured")))
    assert [len(found) for found in digests.values()] == [2, 1]


def test_names_that_problems_declare_are_code_elsewhere(package):
    digests = {}
    for number in (2, 5):
        text = f"INPUTS = {number}\nVARIANTS = {{}}\n"
        # A module of one's own may have a table of that name.
        package(
            **{
                "a": f"INPUTS = {number}\n",
                "q.tuned": text,
                "q.r.__init__": text,
                "p.__init__": text,
                "q.variants": text,
            }
        )
        names = ("a", "q.tuned", "q.r", "p", "q.variants")
        digests |= {name: {*digests.get(name, ()), modules.digest([f"saitan.{name}"])} for name in names}
    assert {name: len(found) for name, found in digests.items()} == {
        "a": 2,
        "q.tuned": 2,
        "q.r": 2,
        "p": 1,
        "q.variants": 1,
    }


CODE = '"""Says."""\n# why\nX = 1\nclass C:\n    """Says."""\n    def f(self):\n        """Says."""\n        return 1\n'


@pytest.mark.parametrize(
    "text",
    [
        CODE.replace("# why", "# why not"),
        CODE.replace("Says", "Says it better"),
        CODE.replace("X = 1", "\nX   =  1  # one"),
        CODE + 'VARIANTS = {"another": 1}\n',
    ],
)
def test_words_layout_and_declarations_are_no_code(package, text):
    package(**{"__init__": "", "p.variants": CODE + 'VARIANTS = {"one": 1}\n'})
    before = modules.digest(["saitan.p.variants"])
    package(**{"p.variants": text if "VARIANTS" in text else text + 'VARIANTS = {"one": 1}\n'})
    assert modules.digest(["saitan.p.variants"]) == before


def test_of_a_package_of_ones_own_with_such_a_table_every_import_is_followed(package):
    text = "VARIANTS = {}\ndef scale():\n    import saitan.more\n"
    package(**{"__init__": "", "p.__init__": "", "p.fam.__init__": text, "more": ""})
    assert "saitan.more" in modules.closure(["saitan.p.fam"], by="measured")


@pytest.mark.parametrize("text", [CODE.replace("X = 1", "X = 2"), CODE.replace("return 1", "return 2"), CODE + "Y = 1"])
def test_another_code_is_another_digest(package, text):
    package(__init__="", a=CODE, b=CODE)
    before = modules.digest(["saitan.a"])
    assert modules.digest(["saitan.b"]) != before
    package(a=text)
    assert modules.digest(["saitan.a"]) != before


def test_kernels_are_the_problems_or_the_shared():
    assert "fast.cu" in {path.name for path in modules.kernels("sssp")}
    assert "gate.cu" in {path.name for path in modules.kernels("cuda")}


def test_text_digests_tell_contents(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("a")
    two.write_text("b")
    assert modules.text_digest([one]) != modules.text_digest([two]) != modules.text_digest([one, two])
    before = modules.text_digest([one])
    two.write_text("a")
    assert modules.text_digest([two]) == before


def test_the_names_that_a_module_defines_are_those_that_importing_it_binds(package):
    package(
        a="import x.y, m.n as o\nfrom p import q as r, s\nx1, (x2, *x3) = 1, 2\nfor i in ():\n    j: int = 3\n"
        "try:\n    class C:\n        inside = 1\n        def method(self): pass\nexcept ImportError:\n    C2 = None\n"
        "if x1:\n    def f(a):\n        local = 2\nelse:\n    async def g(): pass\n"
        "h = lambda z: (k := z)\nwith x1 as opened: pass\nw.attribute = 1\n"
    )
    names = {"x.y", "o", "r", "s", "x1", "x2", "x3", "i", "j", "C", "C2", "f", "g", "h", "opened"}
    assert set(modules.defined("saitan.a")) == names


@pytest.mark.parametrize("name", problem.names())
def test_every_solver_of_a_problem_is_there(name):
    for variant in problem.problem(name).VARIANTS.values():
        for backend in variant.backends():
            module, _, wanted = getattr(variant, backend).partition(":")
            assert wanted in modules.defined(module), getattr(variant, backend)


def test_what_was_found_is_kept_by_content(package, tmp_path, monkeypatch):
    kept = tmp_path / "results/modules.json"
    kept.parent.mkdir()
    monkeypatch.setattr(module_facts, "FOUND", kept)
    texts = {"__init__": "", "a": "import saitan.b\nx = 1\n", "b": ""}
    package(**texts)
    found, digest = modules.closure(["saitan.a"]), modules.digest(["saitan.a"])
    module_facts.keep_found(kept)
    package(**texts)
    with monkeypatch.context() as patch:
        patch.setattr(module_facts.ast, "parse", lambda *_, **__: pytest.fail("parsed again"))
        assert (modules.closure(["saitan.a"]), modules.digest(["saitan.a"])) == (found, digest)
    package(a="x = 2\n")
    assert modules.closure(["saitan.a"]) == ["saitan", "saitan.a"]
    assert modules.digest(["saitan.a"]) != digest
    old = json.loads(kept.read_text())
    old = {
        "by": f"0{old['by']}",
        "files": {content: [{"": [[], [], False]}, "of another code", "", [], []] for content in old["files"]},
    }
    other = [{}, None, [], old | {"by": None}, {"by": module_facts._by()}, {"by": module_facts._by(), "files": []}]
    for content in ("", "{", *map(json.dumps, [old, *other])):
        kept.write_text(content)
        package(**texts)
        assert (modules.closure(["saitan.a"]), modules.digest(["saitan.a"])) == (found, digest)


@pytest.mark.parametrize("other", ["code", "python"])
def test_what_another_code_or_python_found_is_not_taken(package, tmp_path, monkeypatch, other):
    kept, reader = tmp_path / "kept.json", tmp_path / "reader.py"
    monkeypatch.setattr(module_facts, "FOUND", kept)
    monkeypatch.setattr(module_facts, "__file__", str(reader))
    reader.write_text("")
    package(__init__="", a="import saitan.b\n", b="")
    modules.closure(["saitan.a"])
    module_facts.keep_found(kept)
    stored = json.loads(kept.read_text())
    nothing = {content: [{"": [[], [], False]}, "of another code", "", [], [], []] for content in stored["files"]}
    kept.write_text(json.dumps(stored | {"files": nothing}))
    package()
    assert modules.closure(["saitan.a"]) == ["saitan", "saitan.a"]
    if other == "code":
        reader.write_text("changed")
    else:
        monkeypatch.setattr(sys, "version", "another")
    package()
    assert modules.closure(["saitan.a"]) == ["saitan", "saitan.a", "saitan.b"]


def test_a_module_that_is_not_there_is_another_code_than_one_that_is(tmp_path):
    there = modules.digest(["saitan.graph"])
    assert modules.source("saitan.no_such_module") is None
    assert len({there, modules.digest(["saitan.graph", "saitan.no_such_module"]), modules.digest([])}) == 3


def test_a_module_that_is_not_there_imports_nothing():
    assert modules.imports("saitan.nothing") == frozenset()
    assert modules.closure(["saitan.nothing"]) == sorted([*modules.closure(["saitan"]), "saitan.nothing"])
