"""What declarations name as "module:name"."""

import re

import pytest

from saitan.errors import Misdeclared
from saitan.generators.generator import Generator
from saitan.named import check_takes, named
from saitan.problem import Form, Variant


def test_what_is_there_is_found():
    assert named("json:loads", "x")("[1]") == [1]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("no_such_named:Solver", "there is no module no_such_named"),
        ("no_such_named.inner:Solver", "there is no module no_such_named"),
        ("json.none:Solver", "there is no module json.none"),
        ("json:Solver", "json has no Solver"),
    ],
)
def test_what_is_not_there_is_one_line_that_says_who_declares_it(path, says):
    line = re.escape(f'"{path}", and {says}')
    with pytest.raises(Misdeclared, match=f"^mine has cpu={line}$"):
        Variant("x", cpu=path).load("cpu", "mine")
    with pytest.raises(Misdeclared, match=f"^a form has reads={line}$"):
        Form("x", ("x",), path, path).open("a", "x")
    made = Generator("mine", path, lambda **_: (1, 1), lambda **_: None, {})
    with pytest.raises(Misdeclared, match=f"^generator mine has path={line}$"):
        made(seed=1)


def test_what_a_module_fails_to_import_is_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "named_own.py").write_text("import no_such_helper")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_helper"):
        named("named_own:Solver", "x")


def takes_seed(seed):
    pass


def test_a_generator_s_function_that_takes_something_else_is_one_line_that_names_it():
    made = Generator("mine", f"{__name__}:takes_seed", lambda **_: (1, 1), lambda **_: None, {"n": int})
    says = rf"^{__name__}\.takes_seed takes \(seed\): \(n, seed\) is right \(got an unexpected keyword argument 'n'\)$"
    with pytest.raises(Misdeclared, match=says):
        made(n=3, seed=1)


def test_what_does_not_tell_what_it_takes_may_take_anything():
    class Untold:
        __signature__ = 3

        def __call__(self):
            pass

    check_takes(Untold(), ["a"])
    check_takes(takes_seed, ["a"])


def takes_right(right, call, solver, check):
    pass


def test_a_parameter_may_be_called_anything():
    check_takes(takes_right, [], {"right": 1, "call": 2, "solver": 3, "check": 4})
