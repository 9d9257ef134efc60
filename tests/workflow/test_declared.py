"""Whatever a problem declares wrongly is one line that says where."""

import shutil
import subprocess
import sys
import sysconfig
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import saitan.tropical
from saitan import problem
from saitan.calls import described
from saitan.generators import GENERATORS
from saitan.problem import Form, Input, Metric, Misdeclared, Output, Parameter, Trace, Variant
from saitan.workflow.declared import check_generators, check_package

GOOD = Variant(
    "s",
    cpu="saitan.tropical.peers:NumPy",
    cuda="saitan.tropical.cuda:Tiled",
    cubins=("tiled", "bfs/fast"),
    parameters={
        "a": Parameter(int, 3, "x"),
        "b": Parameter(float, None, "x", within="a"),
        "c": Parameter(str, "q", "x"),
    },
    peer=("numpy", "peers"),
    architecture="sm_90a",
    graph=("undirected",),
    instance={"task": ("one",)},
    traces={"cpu": ("updated",)},
    inputs=("graph",),
    ranks=range(1, 9),
)


ABSENT = object()


def takes_all(*arguments, **parameters):
    pass


def takes_one(one):
    pass


def toy(variant, **changes):
    declared = {
        "INPUTS": {"graph": Input("graph", "x")},
        "INSTANCE": {"task": Parameter(str, "one", "x", ("one", "two"))},
        "OUTPUTS": {"c": Output("x")},
        "TRACES": {"updated": Trace("x")},
        "METRICS": {"tops": Metric("x", "op/s", "harmonic", "more")},
        "FORMS": {"coded": Form("x", ("c",), "mine.toy:write", "mine.toy:Read", ("graph",), {"task": "one"})},
        "VARIANTS": {"z": variant},
        "TITLE": "Toy",
        "HEADLINE": "tops",
    }
    functions = dict.fromkeys(("instance", "queries", "reference", "differs", "prepare"), takes_all)
    declared |= functions | changes
    there = {name: value for name, value in declared.items() if value is not ABSENT}
    return SimpleNamespace(__name__="saitan.tropical", **there)


@pytest.mark.parametrize("name", problem.names())
def test_what_is_declared_can_be(name):
    check_package(name, problem.problem(name))


def test_a_problem_may_declare_little():
    check_package("toy", toy(GOOD))
    little = {key: {} for key in ("INPUTS", "INSTANCE", "OUTPUTS", "METRICS")} | {"TRACES": ABSENT, "FORMS": ABSENT}
    check_package("toy", toy(Variant("s", cpu="mine.solver:Mine"), **little, HEADLINE="time"))


def parameter(*given, **named):
    return {"parameters": {"a": Parameter(*given, **named)}}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"cpu": "saitan.tropical.mine"},
            ' has cpu="saitan.tropical.mine": "module:Class" is right, such as "saitan.toy.',
        ),
        ({"cpu": 3}, ' has cpu=3: "module:Class" is right, such as "saitan.toy.cpu:Solver"'),
        ({"cpu": None, "cuda": None}, " has neither cpu nor cuda: one of them is right"),
        ({"cubins": ("nope",)}, ' has a cubin "nope": there is no kernels/tropical/nope.cu'),
        ({"cubins": ("sssp/nope",)}, ' has a cubin "sssp/nope": there is no kernels/sssp/nope.cu'),
        ({"peer": "x"}, ' has peer="x": a module and the extra that installs it are right'),
        ({"architecture": "sm90"}, ' has architecture="sm90": one such as "sm_90" is right'),
        ({"architecture": 90}, ' has architecture=90: one such as "sm_90" is right'),
        ({"graph": ("directed",)}, ' has graph of "directed": one of undirected, integer, weights is right'),
        ({"instance": {"foo": (1,)}}, ' has instance of "foo": one of task is right'),
        ({"instance": {"task": ()}}, ': instance["task"] is (): values that it is to have are right'),
        ({"instance": {"task": ("three",)}}, ": instance[\"task\"] must be one of one, two, not 'three'"),
        ({"traces": {"gpu": ("updated",)}}, ' has traces of "gpu": one of cpu, cuda is right'),
        ({"traces": {"cpu": ("foo",)}}, ' has traces of "foo": one of updated is right'),
        ({"inputs": ("grph",)}, ' has inputs of "grph": one of graph is right'),
        ({"ranks": 2}, " has ranks=2: numbers of processes in ascending order are right"),
        ({"ranks": ("2",)}, " has ranks=('2',): numbers of processes in ascending order are right"),
        ({"ranks": (0, 1)}, " has ranks=(0, 1): numbers of processes in ascending order are right"),
        ({"ranks": (2, 1)}, " has ranks=(2, 1): numbers of processes in ascending order are right"),
        ({"parameters": ["a"]}, ": parameters is ['a']: a mapping of names to Parameters is right"),
        ({"parameters": {"a": 3}}, ': parameters["a"] is 3: a Parameter is right'),
        (parameter(list, [], "x"), ': parameters["a"] is of type '),
        (parameter("float", 3.0, "x"), ': parameters["a"] has type="float": bool, int, float or str is right'),
        (parameter(int, "3", "x"), ": parameters[\"a\"]: its default must be a whole number, not '3'"),
        (parameter(int, True, "x"), ': parameters["a"]: its default must be a whole number, not True'),
        (parameter(int, 3, "x", most=2), ': parameters["a"]: its default must be at most 2, not 3'),
        (parameter(str, "q", "x", choices=("a",)), ": parameters[\"a\"]: its default must be one of a, not 'q'"),
        (parameter(str, None, "x", choices=("a", 3)), ': parameters["a"]: its choice must be a text, not 3'),
        *(
            (
                {"parameters": {"a": Parameter(int, None, "x", **{key: other}), "b": Parameter(int, 1, "x")}},
                f': parameters["a"] has {key}="{other}": one of b is right',
            )
            for key in ("within", "instead_of")
            for other in "ac"
        ),
        (parameter(int, None, "x", within="a"), ': parameters["a"] has within="a": there is none'),
        *(
            (
                {"parameters": {"c": Parameter(other, None, "x"), "a": Parameter(own, None, "x", within="c")}},
                ': parameters["a"] has within="c": only numbers have bounds',
            )
            for own, other in ((str, str), (int, str), (str, float), (bool, bool))
        ),
        (
            parameter(int, None, "x", together=()),
            ': parameters["a"]: its together is (): values are right, or None for',
        ),
        ({"architecture": "sm\n90"}, " has architecture='sm\\n90': one such as"),
        (
            parameter(int, 0, "x", above=2**40 - 1),
            ': parameters["a"]: its default must be greater than 1099511627775, not 0',
        ),
        (parameter(int, None, "x", alike=("one",)), ": parameters[\"a\"]: its alike must be a whole number, not 'one'"),
        (
            parameter(str, "u", "x", choices=("u", "v"), together=("w",)),
            ": parameters[\"a\"]: its together must be one of u, v, not 'w'",
        ),
        (
            {"parameters": {"c": Parameter(int, 1, "x"), "a": Parameter(int, 2, "x", within="c")}},
            ': parameters["a"] has within="c" and default=2: None is right, as it is given beside',
        ),
        (
            {"parameters": {"c": Parameter(int, 1, "x"), "a": Parameter(bool, False, "x", instead_of="c")}},
            ': parameters["a"] has instead_of="c" and default=False: None is right, as it is given beside',
        ),
        ({"traces": ("updated",)}, " has traces=('updated',): Mapping[str, tuple[str, ...]] is right"),
        ({"summary": 3}, " has summary=3: str is right"),
        ({"peer": (5, 6)}, " has peer=(5, 6): a module and the extra that installs it are right"),
        (parameter(int, None, "x", choices=None), ': parameters["a"] has choices=None: tuple is right'),
        (parameter(int, None, "x", least="1"), ': parameters["a"] has least="1": float | None is right'),
        (parameter(str, "q", "x", least=1), ': parameters["a"] is a text, and has a bound: only numbers have bounds'),
        (parameter(bool, True, "x", above=0), ': parameters["a"] is true or false, and has a bound: only numbers have'),
        (
            {"parameters": {"lambda": Parameter(int, 3, "x")}},
            ': parameters["lambda"]: the name is that of an argument: ',
        ),
        (
            {"parameters": {"checked": Parameter(int, 3, "x")}},
            " has a parameter checked, and every table or chart too: another name for one of them is right",
        ),
        (
            {"parameters": {"ranks": Parameter(int, 1, "x")}},
            " has a parameter ranks, and every experiment too:",
        ),
        (parameter(float, None, "x", least=float("nan")), ': parameters["a"] has bounds that no value is within: its'),
        (parameter(float, None, "x", most=float("nan")), ': parameters["a"] has bounds that no value is within: its'),
        (parameter(int, None, "x", least=3, most=2), ': parameters["a"] has bounds that no value is within: its'),
        (parameter(float, None, "x", above=2.0, most=2.0), ': parameters["a"] has bounds that no value is within: its'),
        (
            parameter(int, None, "x", data="generatd"),
            ': parameters["a"] has data="generatd": one of "", given, generated is right',
        ),
        ({"cpu": "saitan.tropical.nowhere:Toy"}, ' has cpu="saitan.tropical.nowhere:Toy": there is no module saitan.'),
        ({"parameters": {"task": Parameter(int, 3, "x")}}, " has a parameter task, and INSTANCE too: another name for"),
    ],
)
def test_what_a_variant_cannot_be_is_one_line(changes, says):
    with pytest.raises(Misdeclared) as caught:
        check_package("toy", toy(replace(GOOD, **changes)))
    assert str(caught.value).startswith(f'saitan.toy: VARIANTS["z"]{says}') and "\n" not in str(caught.value)


@pytest.mark.parametrize("entry", [3, {"cpu": "a:B"}, None, Variant])
def test_what_is_no_variant_is_told_before_it_is_described(entry):
    says = r'VARIANTS\["z"\] is .*: a Variant is right$'
    with pytest.raises(Misdeclared, match=rf"^saitan\.toy: {says}"):
        check_package("toy", toy(entry))
    with pytest.raises(Misdeclared, match=rf"^{__name__}: {says}"):
        described({"z": entry})(lambda: None)


@pytest.mark.parametrize("wrong", [["a"], {"a": 3}])
def test_what_cannot_be_described_is_told(wrong):
    says = "a mapping of names to Parameters is right$"
    with pytest.raises(Misdeclared, match=rf'^{__name__}: VARIANTS\["z"\]: parameters is .*: {says}'):
        described({"z": replace(GOOD, parameters=wrong)})(lambda: None)
    with pytest.raises(
        Misdeclared, match=rf"^{__name__}: VARIANTS is \['z'\]: a mapping of names to Variants is right$"
    ):
        described(["z"])(lambda: None)


TAKES_ONE = f"{__name__}.takes_one takes (one): "
OUTPUT, METRIC, FORM = Output("x"), Metric("x"), Form("x", ("c",), "mine.toy:write", "mine.toy:Read")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        *(
            ({key: ABSENT}, f" has no {key}: a mapping of names to {kind}s is right, which may be empty")
            for key, kind in (("INPUTS", "Input"), ("INSTANCE", "Parameter"), ("OUTPUTS", "Output"))
        ),
        ({"METRICS": ABSENT}, " has no METRICS: a mapping of names to Metrics is right, which may be empty"),
        *(
            ({key: [3]}, f": {key} is [3]: a mapping of names to {kind}s is right")
            for key, kind in (("OUTPUTS", "Output"), ("TRACES", "Trace"), ("FORMS", "Form"))
        ),
        ({"TRACES": None}, ": TRACES is None: a mapping of names to Traces is right"),
        ({"METRICS": {3: METRIC}}, ": METRICS[3]: the name is 3: a text is right"),
        ({"OUTPUTS": {"c": "int64"}}, ": OUTPUTS[\"c\"] is 'int64': an Output is right"),
        ({"OUTPUTS": {"C": OUTPUT}}, ': OUTPUTS["C"]: the name is a part of paths: small letters, digits and _ are'),
        ({"OUTPUTS": {"ä": OUTPUT}}, ': OUTPUTS["ä"]: the name is a part of paths: small letters, digits and _ are'),
        ({"OUTPUTS": {"c": Output("x", {"foo": (1,)})}}, ': OUTPUTS["c"] has instance of "foo": one of task is right'),
        (
            {"OUTPUTS": {"c": Output("x", {"task": 1})}},
            ": OUTPUTS[\"c\"] has instance={'task': 1}: Mapping[str, tuple] is right",
        ),
        (
            {"OUTPUTS": {"c": Output("x", {"task": ()})}},
            ': OUTPUTS["c"]: instance["task"] is (): values that it is to have are right',
        ),
        ({"OUTPUTS": {"c": Output("x", {"task": (1,)})}}, ': OUTPUTS["c"]: instance["task"] must be a text, not 1'),
        ({"TRACES": {"updated": "x"}}, ": TRACES[\"updated\"] is 'x': a Trace is right"),
        (
            {"INPUTS": {"graph": Input("graph", "x", True), "values": Input("array", "x")}},
            ": INPUTS: an experiment gives an instance one of them: of several each is of another kind and has",
        ),
        (
            {"INPUTS": {"graph": Input("graph", "x", True), "other": Input("graph", "x", True)}},
            ": INPUTS: an experiment gives an instance one of them: of several each is of another kind and has",
        ),
        (
            {"INPUTS": {"graph": Input("grph", "x")}},
            ': INPUTS["graph"] has kind="grph": one of graph, array',
        ),
        (
            {"METRICS": {"tops": replace(METRIC, over="max")}},
            ': METRICS["tops"] has over="max": one of median,',
        ),
        (
            {"METRICS": {"tops": replace(METRIC, better="up")}},
            ': METRICS["tops"] has better="up": one of more, less is right',
        ),
        ({"METRICS": {"tops": replace(METRIC, unit=5)}}, ': METRICS["tops"] has unit=5: str is right'),
        *(
            (
                {"INPUTS": {"graph": Input("array", "x", dtypes=("int64", one))}},
                f': INPUTS["graph"] has dtypes of "{one}":',
            )
            for one in ("int63", "float", "<i4")
        ),
        *(
            (
                {"OUTPUTS": {"c": Output("x", dtype=one)}},
                f': OUTPUTS["c"] has dtype="{one}": a type of numbers of 64 bits at most is right, as `dtype.name` has',
            )
            for one in ("int63", "object", "str", "complex128", "longdouble", "double", "i4")
        ),
        ({"FORMS": {"f": replace(FORM, outputs="c")}}, ': FORMS["f"] has outputs="c": tuple[str, ...] is right'),
        (
            {"FORMS": {"f": replace(FORM, outputs=())}},
            ': FORMS["f"] has outputs=(): names of OUTPUTS that it holds are',
        ),
        ({"FORMS": {"raw": FORM}}, ': FORMS["raw"]: every problem has a form of this name: another name is right'),
        ({"HEADLINE": "top"}, ': HEADLINE is "top": one of time, tops is right'),
        ({"METRICS": {"tops": METRIC}}, ': METRICS["tops"] is the HEADLINE and has better=None: one of more, less is'),
        ({"HEADLINE": ABSENT}, ": HEADLINE is None: one of time, tops is right"),
        ({"TITLE": ABSENT}, ": TITLE is None: a text is right"),
        ({"queries": ABSENT}, " has no function queries: kernels/problem.py says what it does"),
        ({"differs": 3}, " has no function differs: kernels/problem.py says what it does"),
        *(
            ({"INSTANCE": {name: Parameter(int, 1, "x")}}, f': INSTANCE["{name}"]: the name is that of an argument: ')
            for name in ("lambda", "a b", "x-y", "1a", "")
        ),
        *(
            (
                {"INSTANCE": {name: Parameter(int, 1, "x")}},
                f': INSTANCE["{name}"]: what takes parameters has an argument of this name beside them: another name',
            )
            for name in ("inputs", "self", "instance", "variant", "backend")
        ),
        (
            {"METRICS": {"tops.s": Metric("x")}},
            ': METRICS["tops.s"]: the name is that of a column: letters, digits and _',
        ),
        ({"TRACES": {"a b": Trace("x")}}, ': TRACES["a b"]: the name is that of a column: letters, digits and _ are'),
        (
            {"FORMS": {"a b": FORM}},
            ': FORMS["a b"]: the name is a part of paths: small letters, digits and _ are right',
        ),
        ({"INSTANCE": {"ranks": Parameter(int, 1, "x")}}, " has INSTANCE of ranks, and every experiment too: another"),
        *(
            (
                {"INSTANCE": {name: Parameter(int, 1, "x")}},
                f" has INSTANCE of {name}, and every table or chart too: another name for one of them is right",
            )
            for name in ("samples", "unit", "vertices", "source")
        ),
        *(
            ({function: takes_one}, f"{TAKES_ONE}{function}({arguments}) is right (")
            for function, arguments in (
                ("queries", "instance, count, seed"),
                ("reference", "instance, query"),
                ("differs", "reference, answer"),
                ("instance", "inputs, task"),
                ("prepare", "instance, variant, backend, a, b, c"),
            )
        ),
        (
            {"FORMS": {"f": replace(FORM, reads="toy")}},
            ': FORMS["f"] has reads="toy": "module:name" is right, such',
        ),
        ({"FORMS": {"f": replace(FORM, outputs=("d",))}}, ': FORMS["f"] has outputs of "d": one of c is right'),
        ({"FORMS": {"f": replace(FORM, inputs=("d",))}}, ': FORMS["f"] has inputs of "d": one of graph is right'),
        ({"FORMS": {"f": replace(FORM, instance={"task": 3})}}, ': FORMS["f"]: instance["task"] must be a text, not 3'),
        ({"VARIANTS": {3: GOOD}}, ": VARIANTS[3]: the name is 3: a text is right"),
        ({"VARIANTS": 3}, ": VARIANTS is 3: a mapping of names to Variants is right"),
    ],
)
def test_what_a_problem_cannot_declare_is_one_line(changes, says):
    with pytest.raises(Misdeclared) as caught:
        check_package("toy", toy(replace(GOOD, instance={}) if "INSTANCE" in changes else GOOD, **changes))
    begins = says if says.startswith(TAKES_ONE) else f"saitan.toy{says}"
    assert str(caught.value).startswith(begins) and "\n" not in str(caught.value)


def test_a_problem_s_own_parameters_are_looked_at_too():
    with pytest.raises(Misdeclared, match=r'^saitan\.toy: INSTANCE\["n"\]: its default must be at least 1, not 0$'):
        check_package("toy", toy(replace(GOOD, instance={}), INSTANCE={"n": Parameter(int, 0, "x", least=1)}))


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """A module of the problem tropical that is compiled: what it was compiled from defines."""

    def make(code):
        (tmp_path / "mine.c").write_text(code)
        (tmp_path / "mine.py").write_text("class Toy: pass")
        command = ["gcc", "-shared", "-fPIC", f"-I{HEADERS}", "-o", tmp_path / "mine.so", tmp_path / "mine.c"]
        subprocess.run(command, check=True)
        monkeypatch.setattr("saitan.tropical.__path__", [*saitan.tropical.__path__, str(tmp_path)])
        monkeypatch.setattr("saitan.workflow.declared.source", lambda module: tmp_path / "mine.so")
        return replace(GOOD, cpu="saitan.tropical.mine:Toy")

    yield make
    sys.modules.pop("saitan.tropical.mine", None)


MODULE = """
#include <Python.h>
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "mine", 0, -1, 0};
PyObject *PyInit_mine(void) {
  PyObject *made = PyModule_Create(&module);
  %s
  return made;
}
"""
HEADERS = Path(sysconfig.get_path("include"))
needs_compiler = pytest.mark.skipif(
    not (shutil.which("gcc") and (HEADERS / "Python.h").exists()), reason="there is no gcc, or none of Python's headers"
)


@needs_compiler
def test_a_library_of_the_name_of_a_module_is_told(compiled, tmp_path):
    """That of ctypes, which Python takes for the module beside it."""
    variant = compiled("int smaller(int a, int b) { return a < b ? a : b; }")
    says = (
        f'z has cpu="saitan.tropical.mine:Toy", and Python takes {tmp_path}/mine.so for saitan.tropical.mine (dynamic'
        " module does not define module export function (PyInit_mine)): another name for it is right where it is no"
        " module"
    )
    with pytest.raises(Misdeclared) as caught:
        check_package("toy", toy(variant))
    assert str(caught.value) == f'saitan.toy: VARIANTS["z"] {says.removeprefix("z ")}'
    with pytest.raises(Misdeclared) as caught:
        variant.load("cpu", "z")
    assert str(caught.value) == says


@needs_compiler
def test_what_a_compiled_module_has_can_be_declared(compiled):
    variant = compiled(MODULE % 'PyModule_AddIntConstant(made, "Toy", 1);')
    check_package("toy", toy(variant))
    with pytest.raises(
        Misdeclared, match=r'has cpu="saitan\.tropical\.mine:Tow", and saitan\.tropical\.mine has no Tow$'
    ):
        check_package("toy", toy(replace(variant, cpu="saitan.tropical.mine:Tow")))


@needs_compiler
def test_what_a_compiled_module_lacks_is_told_where_it_is_loaded(compiled):
    variant = compiled(MODULE % 'Py_CLEAR(made); return PyImport_ImportModule("no_such_package");')
    check_package("toy", toy(variant))
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        variant.load("cpu", "z")


def test_what_is_no_class_is_told_where_it_is_loaded():
    says = r'^mine has cpu="saitan\.problem:BACKENDS", which is \(.*\): a class is right$'
    with pytest.raises(Misdeclared, match=says):
        Variant("s", cpu="saitan.problem:BACKENDS").load("cpu", "mine")


def computes(instance, query):
    """The rows."""

    def rows():
        return instance[query]

    rows()


def leaves(instance, query):
    if instance:
        instance.clear()
    return


def refuses(instance, query):
    raise ValueError


def says_why(instance, query):
    """Nothing, as there is no other solver."""


def yields(instance, query):
    yield from instance


def test_a_reference_without_return_is_named():
    says = r"^saitan\.tropical\.reference returns nothing of what it makes: `return None` is right where there is none$"
    with pytest.raises(Misdeclared, match=says):
        check_package("toy", toy(GOOD, reference=computes))
    for function in (leaves, refuses, says_why, yields, lambda instance, query: None, partial(computes)):
        check_package("toy", toy(GOOD, reference=function))


def drops(reference, answer):
    if line := reference.misshapen(answer, "c"):
        return line
    wrong = reference.arrays["c"] != answer["c"]
    f"{wrong.sum()} differ" if wrong.any() else None


def asserts(reference, answer):
    np.testing.assert_array_equal(reference.arrays["c"], answer["c"])


def test_a_difference_that_is_not_returned_is_named():
    says = r"^saitan\.tropical\.differs ends in a value: `return` before it is right$"
    with pytest.raises(Misdeclared, match=says):
        check_package("toy", toy(GOOD, differs=drops))
    for function in (asserts, lambda reference, answer: None, partial(drops)):
        check_package("toy", toy(GOOD, differs=function))


RING = GENERATORS["ring"]


@pytest.mark.parametrize(
    ("generator", "says"),
    [
        ("saitan.generators.regular:ring", " is 'saitan.generators.regular:ring': a Generator is right"),
        (replace(RING, name="rng"), ' has name="rng": "ring" is right'),
        (replace(RING, name=7), " has name=7: str is right"),
        (replace(RING, path=RING.size), " has path=<function "),
        (replace(RING, path="mine.ring"), ' has path="mine.ring": "module:name" is right, such as "saitan.generators.'),
        (
            replace(RING, path="saitan.generators.regular:rings"),
            " has path=\"saitan.generators.regular:rings\": saitan.generators.regular has no 'rings'; did you",
        ),
        (replace(RING, size=5), " has size=5: Callable"),
        (replace(RING, fits=None), " has fits=None: Callable"),
        (replace(RING, required=["vertices"]), " has required=['vertices']: Mapping[str, type] is right"),
        (replace(RING, required={"vertices": "int"}), " has required={'vertices': 'int'}: Mapping[str, type] is right"),
        (
            replace(RING, optional={"sizes": list}),
            ": optional[\"sizes\"] is <class 'list'>: bool, int, float or str is right",
        ),
        (replace(RING, arc="8"), ' has arc="8": int is right'),
    ],
)
def test_what_a_generator_cannot_be_is_one_line(generator, says):
    check_generators(GENERATORS)
    with pytest.raises(Misdeclared) as caught:
        check_generators({"ring": generator})
    assert str(caught.value).startswith(f'saitan.generators: GENERATORS["ring"]{says}')
    assert "\n" not in str(caught.value)


def test_generators_are_a_mapping():
    with pytest.raises(Misdeclared, match=r"^saitan\.generators: GENERATORS is \[.*: a mapping of names to Gener"):
        check_generators([RING])
