import copy
import datetime
import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from saitan.problem import Metric, Misdeclared, Trace, names, problem
from saitan.workflow import rows
from saitan.workflow.ceilings import Ceilings
from saitan.workflow.config import RULES, TABLE, ConfigError, load, schema
from saitan.workflow.config_model import Config, Experiment
from saitan.workflow.declared import check_package
from saitan.workflow.graphs.catalogue import CATALOGUE, load_catalogue
from saitan.workflow.published import Published

ROOT = Path(__file__).parents[2]
OTHERS = ("graphs", "arrays", "published", "peers", "ceilings")
RUNS = sorted(path for path in (ROOT / "config").glob("*.yaml") if path.stem not in OTHERS)
ARRAYS = yaml.safe_load((ROOT / "config/arrays.yaml").read_text())
GRAPHS = ["grid", "ring"]
EXPERIMENT = {
    "title": "Tiny",
    "problem": "sssp",
    "graphs": ["grid"],
    "variants": {"adaptive": {"threshold_up": [10, 100]}, "conventional": {}},
}
TROPICAL = {"title": "Product", "problem": "tropical", "variants": ["skip-both"], "instance": {"n": 64}}

LONG, CUT = "n" * 5000, "n" * 57 + "..."

GENERAL = {
    problem: {"problem": problem, "graphs": [], "variants": [variant]}
    for problem, variant in (("compression", "zstd"), ("tropical", "numpy"), ("apsp", "fast"))
}


# Views of graphs measure nothing.
WITHOUT = {"view": "graphs", "variants": {}}


def said(raw):
    with pytest.raises(ConfigError) as caught:
        load(raw, GRAPHS, ["field"])
    assert "\n" not in str(caught.value)
    return str(caught.value)


def loaded(experiment=EXPERIMENT, **changes):
    return load({"experiments": {"tiny": {**copy.deepcopy(experiment), **changes}}}, GRAPHS).experiments["tiny"]


@pytest.mark.parametrize("column", ["seconds", "updated"])
def test_a_distribution_is_drawn_of_its_own_column(column):
    figure = {"mark": "step", "x": column, "y": "share", "color": "graph"}
    assert loaded(view="phase_cdf", column=column, figure=figure).figure.x == column


@pytest.mark.parametrize("run", RUNS, ids=lambda path: path.stem)
def test_every_run_is_right_and_names_its_schema(run):
    assert run.read_text().splitlines()[0] == "# yaml-language-server: $schema=../workflow/schemas/config.schema.json"
    assert load(yaml.safe_load(run.read_text()), load_catalogue(ROOT / "config/graphs.yaml"), ARRAYS).experiments


def test_the_schema_is_that_of_the_models():
    printed = subprocess.run(
        [sys.executable, "-m", "saitan.workflow.config"], capture_output=True, check=True, cwd=ROOT
    ).stdout
    written = (ROOT / "workflow/schemas/config.schema.json").read_bytes()
    assert json.loads(written) == json.loads(printed), "write it again: python -m saitan.workflow.config"
    assert written == printed


def test_the_rules_names_are_reserved():
    text = "".join(path.read_text() for path in [ROOT / "Snakefile", *(ROOT / "workflow/rules").glob("*.smk")])
    assert set(re.findall(r"^(?:rule|checkpoint) (\w+):", text, re.M)) == set(RULES)


def test_of_many_names_a_line_lists_some():
    raw = {"experiments": {"a": {**EXPERIMENT, "graphs": ["zzz"]}}}
    with pytest.raises(ConfigError, match=r"\(there are: g0, .* g18, g19 and 80 more\) \(config/graphs.yaml\)$"):
        load(raw, [f"g{i}" for i in range(100)])


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ({}, "experiments: field required"),
        ({"experiments": {}}, "experiments: dictionary should have at least 1 item, not {}"),
        ({"experiments": None}, "experiments: input should be keys with values, not null"),
        ({"experiments": {"a": None}}, "experiments.a: input should be keys with values, not null"),
        ({"experiments": {"a": {"view": "graphs", "graphs": ["tiny"]}}}, "experiments.a.title: field required"),
        ({"experiments": {"a": {"titel": "A"}}}, "experiments.a.titel: unknown key 'titel'; did you mean 'title'?"),
        (
            {"experiments": {"a-b": EXPERIMENT}},
            "experiments: 'a-b' is no name: up to 100 ASCII letters, digits and underscores",
        ),
        ({"experiments": {"a" * 300: EXPERIMENT}}, f"experiments: '{'a' * 57}...' is no name: up to 100 ASCII letters"),
        ({"experiments": {"a": EXPERIMENT}, "name": "my run"}, "name: 'my run' is no name: up to 100 ASCII letters"),
        ({"experiments": {"a": EXPERIMENT}, "name": "graphs"}, "name: results/graphs is a folder that all runs share"),
        ({"experiments": {"graphs": EXPERIMENT}}, "experiments.graphs: graphs is the name of a rule"),
        *(
            (
                {"experiments": {"a": EXPERIMENT}, kind: {}},
                f"{kind}: unknown key '{kind}' (config/{kind}.yaml lists them",
            )
            for kind in ("graphs", "arrays")
        ),
        *(
            ({"experiments": {"a": EXPERIMENT}, key: 1}, f"{key}: unknown key '{key}': it goes {place}")
            for key, place in (
                ("variants", "into an experiment"),
                ("max_rounds", "into `measure`"),
                ("y_log", "into `figure` of an experiment"),
            )
        ),
        (
            {"experiments": {"a": EXPERIMENT | {"warmup": 1}}},
            "experiments.a.warmup: unknown key 'warmup': it goes into `measure`",
        ),
        (
            {"experiments": {"a": EXPERIMENT | {"mirror": "x"}}},
            "experiments.a.mirror: unknown key 'mirror': it goes to the top of the file",
        ),
        ({"experiments": {"a": EXPERIMENT}, "backed": "cpu"}, "backed: unknown key 'backed'; did you mean 'backend'?"),
        (
            {"experiments": {"a": EXPERIMENT}, "zzz": 1},
            "zzz: unknown key 'zzz' (there are: name, title, backend, mirror, architectures, cores, launcher, measure,",
        ),
        *(
            (
                {"experiments": {"a": EXPERIMENT}, key: "a\0b"},
                rf"{key}: 'a\x00b' is not a line of text, without control",
            )
            for key in ("mirror", "launcher")
        ),
        ({"experiments": {"a": EXPERIMENT}, "launcher": "mpirun '"}, 'launcher: "mpirun \'" is no command: No closing'),
        ({"experiments": {"a": EXPERIMENT}, "launcher": " "}, "launcher: the name of a program is right, not a blank"),
        (
            {"experiments": {"a": EXPERIMENT}, "title": "a\ud800b"},
            r"title: 'a\ud800b' is not a title: a text that is not",
        ),
        ({"experiments": {"a": EXPERIMENT}, "mirror": "\udfff"}, r"mirror: '\udfff' is not a line of text, without"),
        ({"experiments": {"a": EXPERIMENT}, "title": "a\x1bb"}, r"title: 'a\x1bb' is not a title: a text that is not"),
        (
            {"experiments": {"a": {**EXPERIMENT, "title": " "}}},
            "experiments.a.title: ' ' is not a title: a text that is",
        ),
        ({"experiments": {"a": {**EXPERIMENT, "text": "\0"}}}, r"experiments.a.text: '\x00' is not a text without"),
        (
            {"experiments": {"a": EXPERIMENT}, "backend": "gpu"},
            "backend: input should be 'auto', 'both', 'cpu' or 'cuda', not \"gpu\"",
        ),
        (
            {"experiments": {"a": EXPERIMENT}, "architectures": ["90"]},
            "architectures.0: '90' is no architecture (there are: sm_70, sm_72, ",
        ),
        (
            {"experiments": {"a": EXPERIMENT}, "architectures": ["sm_999"]},
            "architectures.0: 'sm_999' is no architecture (there are: sm_70, sm_72, ",
        ),
        (
            {"experiments": {"a": EXPERIMENT}, "measure": {"max_round": 3}},
            "measure.max_round: unknown key 'max_round'; did you mean 'max_rounds'?",
        ),
        (
            {"experiments": {"a": EXPERIMENT}, "measure": {"budget_s": 0}},
            "measure.budget_s: input should be greater than 0, not 0",
        ),
        (
            {"experiments": {"a": EXPERIMENT}, "measure": {"min_rounds": 9, "max_rounds": 8}},
            "measure: min_rounds must be at most max_rounds, 8, not 9",
        ),
        (
            {"experiments": {"a": EXPERIMENT}, "measure": {"min_rounds": 60}},
            "measure: min_rounds must be at most max_rounds, 50, not 60",
        ),
        (
            {"experiments": {"a": EXPERIMENT | {"measure": {"min_rounds": 6}}}, "measure": {"max_rounds": 5}},
            "experiments.a.measure: min_rounds must be at most max_rounds, 5, not 6",
        ),
    ],
)
def test_a_bad_run_is_one_line(raw, says):
    assert said(raw).startswith(says)


def test_fewer_rounds_than_are_wanted_otherwise_are_a_choice():
    for measure in ({"max_rounds": 1}, {"min_rounds": 7, "max_rounds": 7}, {"min_rounds": 9, "max_rounds": 90}):
        settings = {"experiments": {"a": EXPERIMENT | {"measure": measure}}, "measure": {"max_rounds": 5}}
        assert load(settings, GRAPHS).experiments["a"].measure == measure
    assert load({"experiments": {"a": EXPERIMENT}, "measure": {"max_rounds": 1}}, GRAPHS).measure.max_rounds == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"viw": "summary"}, ".viw: unknown key 'viw'; did you mean 'view'?"),
        (
            {"titel": "An unknown key is said before the key that it leaves missing", "title": None},
            ".titel: unknown key",
        ),
        ({"title": None}, ".title: input should be a valid string, not null"),
        ({"title": 2024}, ".title: input should be a text in quotes, not 2024"),
        ({"title": datetime.date(2024, 1, 2)}, '.title: input should be a text in quotes, not "2024-01-02"'),
        ({"view": "phase"}, ".view: input should be 'graphs', 'weights', 'summary', 'rivals', 'phases' or 'phase_cdf'"),
        ({"problem": "ssp"}, ".problem: unknown problem 'ssp'; did you mean 'sssp'?"),
        ({"problem": "cuda"}, ", tropical); kernels/cuda/__init__.py defines no VARIANTS"),
        ({"problem": "problem"}, ", tropical)"),
        ({"problem": None}, ": variants need a `problem`"),
        ({"variants": "scipy"}, ".variants: a list of names, or names with their parameters, is right"),
        ({"variants": {}}, ": view summary needs `variants`"),
        ({"variants": {}, "view": "phases"}, ": view phases needs `variants`"),
        ({"graphs": [], "view": "weights"}, ": view weights needs `graphs`"),
        ({"view": "graphs"}, ": view graphs shows nothing that is measured: leave out `variants`"),
        ({"graphs": ["grit"]}, ".graphs: unknown graph 'grit'; did you mean 'grid'? (config/graphs.yaml)"),
        ({"graphs": ["x"]}, ".graphs: unknown graph 'x' (there are: grid, ring) (config/graphs.yaml)"),
        ({"graphs": ["grid", "grid"]}, ".graphs: 'grid' is there twice"),
        ({"baseline": ""}, ".baseline: '' is not among `variants`"),
        ({"figure": {"mark": "bar", "x": "graph", "y": ["time", "memory", "time"]}}, ".figure: y names time twice"),
        ({"graphs": "grid"}, '.graphs: input should be a valid list, not "grid"'),
        ({"variants": ["adaptiv"]}, ".variants: unknown variant 'adaptiv'; did you mean 'adaptive'?"),
        ({"variants": [{"adaptive": {}}]}, ".variants: a list of names, or names with their parameters, is right"),
        ({"variants": {1: {}}}, ".variants: a name in it must be a text in quotes, not 1"),
        ({"variants": {False: {}}}, ".variants: a name in it must be a text in quotes, not false"),
        ({"variants": ["adaptive", False]}, ".variants: a name in it must be a text in quotes, not false"),
        ({"keep": [False]}, ".keep.0: input should be a text in quotes, not false"),
        (
            {datetime.date(2024, 1, 2): 3},
            '.2024-01-02: a key must be a text in quotes, not "2024-01-02"',
        ),
        ({True: 3}, ".True: a key must be a text in quotes, not true"),
        ({None: 3}, ".None: a key must be a text, not null"),
        (
            {"variants": {datetime.date(2024, 1, 2): {}}},
            '.variants: a name in it must be a text in quotes, not "2024-01-02"',
        ),
        ({"variants": {"adaptive": 3}}, ".variants.adaptive: input should be keys with values, not 3"),
        (
            {"variants": {"conventional": {"threshold_up": [1]}}},
            ".variants.conventional.threshold_up: conventional has no parameter 'threshold_up' (it has none)",
        ),
        (
            {"variants": {"adaptive": {"threshold": [1]}}},
            "adaptive has no parameter 'threshold' (it has: threshold_up, threshold_down)",
        ),
        ({"variants": {"adaptive": {"threshold_up": []}}}, ".threshold_up: an empty list makes no point"),
        ({"variants": {"adaptive": {"threshold_up": ["1"]}}}, ".threshold_up: must be a number, not '1'"),
        ({"variants": {"adaptive": {"threshold_up": [True]}}}, ".threshold_up: must be a number, not true"),
        ({"variants": {"adaptive": {"threshold_up": [1, 2, 1.0]}}}, ".threshold_up: 1.0 is there twice"),
        (
            {"variants": {"adaptive": {"threshold_up": [300, 20], "threshold_down": [10, 20.5]}}},
            ".variants.adaptive.threshold_down: must be at most threshold_up, which is 20, not 20.5",
        ),
        ({"variants": {"adaptive": {"threshold_down": 7}}}, ".threshold_down: it goes with threshold_up: give both"),
        (
            {"variants": {"adaptive": {"threshold_up": [None]}}},
            ".variants.adaptive.threshold_up.0: input should be bool or int or float or str, not null",
        ),
        ({"instance": {"n": 3}}, ".instance.n: sssp has no parameter 'n' (it has none)"),
        ({"instance": 3}, ".instance: input should be keys with values, not 3"),
        ({"baseline": "scipy", "variants": ["scip"]}, ".variants: unknown variant 'scip'; did you mean 'scipy'?"),
        ({"baseline": "scipy"}, ".baseline: 'scipy' is not among `variants`"),
        ({"quantities": ["mean tim"]}, ".quantities: unknown quantity 'mean tim'; did you mean 'mean time'?"),
        ({"variants": {"fast": {"delta": [float("nan")]}}}, ".fast.delta: must be finite, not nan"),
        ({"variants": {"fast": {"delta": [float("inf")]}}}, ".fast.delta: must be finite, not inf"),
        ({"variants": {"fast": {"delta": [0]}}}, ".fast.delta: must be greater than 0, not 0"),
        ({"variants": ["adaptive", "scipy", "adaptive"]}, ".variants: 'adaptive' is there twice; name it once"),
        ({"quantities": ["time", "time"]}, ".quantities: 'time' is there twice; name it once"),
        ({"graphs": []}, ": sssp needs `graphs` (with weights)"),
        ({"graphs": [], "arrays": ["field"]}, ".arrays: sssp takes `graphs`"),
        ({"arrays": ["field"]}, ": either `graphs` or `arrays`, not both"),
        ({"graphs": [], "arrays": ["fied"]}, ".arrays: unknown array 'fied'; did you mean 'field'?"),
        ({"keep": ["distance"]}, ".keep: unknown output 'distance'; did you mean 'distances'?"),
        ({"keep": ["distances", "distances"]}, ".keep: 'distances' is there twice"),
        ({"ranks": [2]}, ".ranks: none of its variants runs on several ranks (those of sssp that do: none)"),
        ({"ranks": [True]}, ".ranks.0: input should be a valid integer, not true"),
        ({"ranks": ["2"]}, '.ranks.0: input should be a valid integer, not "2"'),
        ({"ranks": [1, 10**30]}, ".ranks.1: input should be less than or equal to 1000000, not 1000000000"),
        ({"graphs": [LONG]}, f".graphs: unknown graph '{CUT}' (there are: grid, ring)"),
        ({"variants": [LONG]}, f".variants: unknown variant '{CUT}' (there are: conv"),
        ({LONG: 1}, f".{CUT}: unknown key '{CUT}' (there are: title, "),
        ({"instance": {LONG: 1}}, f".instance.{CUT}: sssp has no parameter '{CUT}' (it has none)"),
        ({"queries": True}, ".queries: a number is right, not true"),
        ({"small": True}, ".small: a number is right, not true"),
        ({"small": "few"}, '.small: input should be int or float, not "few"'),
        ({"seed": False}, ".seed: a number is right, not false"),
        ({"queries": 0}, ".queries: input should be greater than or equal to 1, not 0"),
        ({"queries": 10**20}, ".queries: input should be less than or equal to 1000000, not 1000000000"),
        ({"seed": -1}, ".seed: input should be greater than or equal to 0, not -1"),
        (
            {"view": "phases", "variants": ["conventional", "scipy"]},
            ".variants: scipy traces no phases: leave it out (those that do: conventional, selection, adaptive, fast)",
        ),
        ({"view": "phases", "column": "foo"}, ".column: unknown column 'foo' (there are: seconds, updated, listed, "),
        ({"view": "phases", "column": "mode"}, ".column: mode holds words, not numbers (there are: seconds, updated, "),
        (
            {"figure": {"mark": "line", "x": "graph", "y": "seconds", "x_log": True}},
            ".figure.x_log: graph holds words, not numbers: leave x_log out",
        ),
        (
            {"view": "phases", "figure": {"mark": "line", "x": "phase", "y": ["seconds", "mode"], "y_log": True}},
            ".figure.y: mode holds words, not numbers: they go with x, color or facet",
        ),
        (
            {"figure": {"mark": "step", "x": "graph", "y": ["seconds", "settled"]}},
            ".figure.y: settled holds words, not numbers: they go with x, color or facet",
        ),
        (
            {"figure": {"mark": "bar", "x": "vertices", "y": "seconds", "x_log": True}},
            ".figure.x_log: bars stand side by side",
        ),
        (
            {"view": "phase_cdf", "column": "updated", "figure": {"mark": "step", "x": "listed", "y": "share"}},
            ".figure.x: unknown column 'listed'; did you mean 'settled'?",
        ),
        ({"figure": {"mark": "bar", "x": "grap", "y": "seconds"}}, ".figure.x: unknown column 'grap'; did you mean"),
        ({"figure": {"mark": "bar", "x": "graph", "y": ["seconds", "b"]}}, ".figure.y: unknown column 'b'"),
        ({"figure": {"mark": "bar", "x": "graph", "y": "phases", "facet": "q"}}, ".figure.facet: unknown column 'q'"),
        ({"figure": {"mark": "bar", "x": "phase", "y": "seconds"}}, ".figure.x: unknown column 'phase'"),
        ({"measure": {"rounds": 1}}, ".measure.rounds: unknown key 'rounds'; did you mean 'min_rounds'?"),
        ({"measure": {"spread": -1}}, ".measure.spread: input should be greater than 0, not -1"),
        ({"measure": {"budget_s": True}}, ".measure.budget_s: a number is right, not true"),
        ({"measure": {"warmup": 1.5}}, ".measure.warmup: input should be a valid integer"),
        (
            {"measure": {"spread": "x"}},
            '.measure.spread: input should be a valid number, unable to parse string as a number, not "x"',
        ),
        ({"measure": {"budget_s": math.inf}}, ".measure.budget_s: input should be a finite number, not Infinity"),
        ({"small": math.nan}, ".small: input should be a finite number, not NaN"),
        ({"quantities": []}, ".quantities: list should have at least 1 item"),
        ({"figure": {"mark": "pie", "x": "a", "y": "b"}}, ".figure.mark: input should be 'line', 'step', 'point' or"),
        ({"figure": {"mark": "bar", "y": "b"}}, ".figure.x: field required"),
        (
            {"figure": {"mark": "bar", "x": "a", "y": "b", "y_title": ["c", "d"]}},
            ".figure: y_title names 2 panels, and y",
        ),
        ({"cores_per_rank": 2}, ": cores_per_rank needs `ranks`"),
        ({"column": "updated"}, ".column: it is of the views phases and phase_cdf, not of summary: leave it out"),
        (
            {"view": "rivals", "baseline": "adaptive", "small": 3},
            ".small: it is of the views phases and phase_cdf, ",
        ),
        ({"view": "phase_cdf", "quantities": ["time"]}, ".quantities: it is of the views summary and rivals, not of "),
        ({"view": "phases", "baseline": "adaptive"}, ".baseline: it is of the views summary and rivals, not of phases"),
        (WITHOUT | {"quantities": ["time"]}, ".quantities: it is of the views summary and rivals, not of graphs"),
        (WITHOUT | {"queries": 8}, ".queries: nothing is measured without `variants`: leave it out"),
        (WITHOUT | {"seed": 1}, ".seed: nothing is measured without `variants`: leave it out"),
        (WITHOUT | {"measure": {"warmup": 1}}, ".measure: nothing is measured without `variants`: leave it out"),
        (WITHOUT | {"keep_as": "raw"}, ".keep_as: nothing is measured without `variants`: leave it out"),
        ({"view": "graphs", "variants": {}, "instance": {"n": 3}}, ": instance needs `variants`"),
        ({"view": "graphs", "variants": {}, "keep": ["distances"]}, ": keep needs `variants`"),
        ({"view": "weights", "variants": {}, "ranks": [2]}, ": ranks needs `variants`"),
        ({"figure": {"mark": "bar", "x": "a", "y": []}}, ".figure.y: list should have at least 1 item, not []"),
        ({"figure": {"mark": "bar", "x": "a", "y": "b", "colour": "c"}}, "'colour'; did you mean 'color'?"),
    ],
)
def test_a_bad_experiment_is_one_line(change, says):
    line = said({"experiments": {"tiny": {**copy.deepcopy(EXPERIMENT), **change}}})
    assert line.startswith("experiments.tiny") and says in line, line


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"instance": {"by": "a/b"}}, ".instance.by: must be one of tile, element, not 'a/b'"),
        ({"instance": {"n": 1.5}}, ".instance.n: must be a whole number, not 1.5"),
        ({"instance": {"n": 0}}, ".instance.n: must be at least 1, not 0"),
        ({"instance": {"infinite": 1.01}}, ".instance.infinite: must be at most 1, not 1.01"),
        ({"instance": {"dtype": "int8"}}, ".instance.dtype: must be one of float32, int32, uint16, not 'int8'"),
        ({"variants": {"skip-both": {"reuse": 1}}}, ".variants.skip-both.reuse: must be true or false, not 1"),
    ],
)
def test_a_parameter_of_another_type_is_one_line(change, says):
    line = said({"experiments": {"tiny": {**TROPICAL, **change}}})
    assert says in line, line


@pytest.mark.parametrize(("kept", "bound"), [([52], [0.5]), ([52], 0.5), (52, 0.5)])
def test_a_parameter_in_the_place_of_another_is_not_given_beside_it(kept, bound):
    fast = GENERAL["compression"] | {"variants": {"fast": {"keep_bits": kept, "bound": bound}}}
    line = "experiments.tiny.variants.fast.bound: it is given instead of keep_bits: leave one of them out"
    assert said({"experiments": {"tiny": EXPERIMENT | fast}}) == line


@pytest.mark.parametrize(
    ("problem", "data", "instance", "says"),
    [
        (
            "compression",
            {"arrays": ["field"]},
            {"qubits": 3},
            "qubits is of generated data only, and here data is given",
        ),
        ("compression", {"arrays": ["field"]}, {"data": "ghz"}, "data is of generated data only"),
        ("compression", {"arrays": ["field"]}, {"seed": 1}, "seed is of generated data only"),
        ("compression", {"arrays": ["field"]}, {"basis": 1}, "basis is of generated data only"),
        ("compression", {}, {"copies": 2}, "copies is of given data only, and here data is generated"),
        ("compression", {}, {"doubles": False}, "doubles is of given data only"),
        ("compression", {}, {"data": ["qft", "ghz"], "basis": 1}, "basis goes with data qft, not ghz"),
        ("compression", {}, {"qubits": [3, 2], "basis": 4}, "basis is 4, a state of 2 qubits is in [0, 4)"),
        ("tropical", {"graphs": ["grid"]}, {"infinite": 0.5}, "infinite is of generated data only"),
        ("tropical", {"graphs": ["grid"]}, {"zero": 0.5}, "zero is of generated data only"),
        ("tropical", {"graphs": ["grid"]}, {"by": "tile"}, "by is of generated data only"),
        ("tropical", {"graphs": ["grid"]}, {"tile": 8}, "tile is of generated data only"),
        ("tropical", {"graphs": ["grid"]}, {"seed": 2}, "seed is of generated data only"),
        ("tropical", {}, {"order": "file"}, "order is of given data only"),
        ("tropical", {}, {"by": ["tile", "element"], "tile": 8}, "tile goes with by tile, not element"),
        ("tropical", {}, {"dtype": ["int32", "uint16"], "semiring": "max_plus"}, "uint16 has no minus infinity"),
        ("apsp", {"graphs": ["grid"]}, {"n": 8}, "n is of generated data only"),
        ("apsp", {"arrays": ["field"]}, {"infinite": 0.5}, "infinite is of generated data only"),
        ("apsp", {"arrays": ["field"]}, {"dtype": "int32"}, "dtype is of generated data only"),
        ("apsp", {"graphs": ["grid"]}, {"seed": 8}, "seed is of generated data only"),
        ("apsp", {}, {"n": [9, 8], "sources": 9}, "sources must be at most 8, the vertices of the matrix, not 9"),
    ],
)
def test_parameters_of_an_instance_that_do_not_go_together_are_one_line(problem, data, instance, says):
    line = said({"experiments": {"tiny": EXPERIMENT | GENERAL[problem] | data | {"instance": instance}}})
    assert line.startswith(f"experiments.tiny.instance: {says}"), line


@pytest.mark.parametrize(
    ("problem", "data", "instance"),
    [
        ("compression", {"arrays": ["field"]}, {"copies": 2, "doubles": True}),
        ("compression", {}, {"data": "qft", "qubits": 2, "basis": 3, "seed": 4}),
        ("tropical", {"graphs": ["grid"]}, {"n": 8, "dtype": "uint16", "order": ["bfs", "file"]}),
        ("tropical", {}, {"by": "element"}),
        ("tropical", {}, {"by": "tile", "tile": 8, "infinite": 0.5, "zero": 0.5, "seed": 2}),
        ("apsp", {"graphs": ["grid"]}, {"sources": 9, "answer": "slabs"}),
        ("apsp", {}, {"n": 9, "sources": 9, "dtype": "int32", "infinite": 0.5, "seed": 2}),
    ],
)
def test_those_that_go_together_are_taken(problem, data, instance):
    assert load(
        {"experiments": {"tiny": EXPERIMENT | GENERAL[problem] | data | {"instance": instance}}}, GRAPHS, ["field"]
    )


@settings(deadline=None)
@given(st.floats(1e-300, 1e300), st.integers(1, 2**63 - 1024))
@example(1e20, 10**18)
@example(1.2345678e19, 2**62)
def test_a_whole_number_is_one_point_however_it_is_written(value, number):
    written = list(dict.fromkeys([value, float(number)]))
    experiment = {**EXPERIMENT | GENERAL["compression"], "instance": {"data": ["qft"]}}
    made = loaded(experiment, variants={"fast": {"bound": written}}).variants["fast"]["bound"]
    assert made == written
    assert [isinstance(known, int) for known in made] == [one.is_integer() and one < 2**63 for one in written]
    assert not any(problem("compression").VARIANTS["fast"].parameters["bound"].wrong(known) for known in made)
    assert not any(re.search(r"(.)\1{19}$", str(known)) for known in made), "Snakemake takes it for a path without end"


def test_a_number_that_yaml_takes_for_a_text_is_the_number_that_is_meant():
    written = yaml.safe_load("{bound: [1e-6, 1.0e6, 2.e+2, 3E1, 0.5]}")
    assert str in map(type, written["bound"])
    made = loaded(EXPERIMENT | GENERAL["compression"], variants={"fast": written}, instance={"data": ["qft"]})
    assert made.variants == {"fast": {"bound": [1e-6, 1e6, 200.0, 30.0, 0.5]}}
    fast = {"experiments": {"tiny": EXPERIMENT | GENERAL["compression"] | {"variants": {"fast": {"bound": "1e400"}}}}}
    assert said(fast) == "experiments.tiny.variants.fast.bound: must be finite, not inf"
    fast["experiments"]["tiny"]["variants"]["fast"]["bound"] = "1e-6x"
    assert said(fast) == "experiments.tiny.variants.fast.bound: must be a number, not '1e-6x'"
    text = {"experiments": {"tiny": TROPICAL | {"instance": {"n": 64, "dtype": "1e3"}}}}
    assert said(text).startswith("experiments.tiny.instance.dtype: must be one of float32, ")
    assert said(text).endswith(", not '1e3'")
    text["experiments"]["tiny"]["instance"]["dtype"] = [False]
    assert said(text) == "experiments.tiny.instance.dtype: must be a text in quotes, not false"


def test_short_forms_mean_the_long_ones():
    assert loaded(variants=["adaptive", "scipy"]).variants == {"adaptive": {}, "scipy": {}}
    assert loaded(variants={"adaptive": {"threshold_up": 7}}).variants == {"adaptive": {"threshold_up": [7]}}
    assert loaded(variants={"adaptive": None}).variants == {"adaptive": {}}
    assert loaded(TROPICAL).instance == {"n": [64]}
    figure = {"mark": "bar", "x": "threshold_up", "y": "phases", "y_title": "B"}
    assert loaded(figure=figure).figure.y == ["phases"]


def test_a_catalogue_that_can_be_read_only_once_serves_every_experiment():
    experiments = {"one": EXPERIMENT, "two": EXPERIMENT}
    assert set(load({"experiments": experiments}, iter(GRAPHS)).experiments) == set(experiments)


KEYS = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=4,
)


@given(key=st.sampled_from([*EXPERIMENT, "view", "instance", "measure", "figure", "quantities", "x"]), value=JSON)
def test_whatever_stands_at_a_key_is_accepted_or_one_line(key, value):
    try:
        loaded(**{key: value})
    except ConfigError as error:
        assert "\n" not in str(error) and str(error).startswith("experiments.tiny")


@pytest.mark.parametrize(("heading", "model"), [("## A run", Config), ("### An experiment", Experiment)])
def test_the_readme_says_which_keys_are_required(heading, model):
    """And names every key there is."""
    table = (ROOT / "config/README.md").read_text().split(f"{heading}\n")[1].split("\n#")[0]
    rows = re.findall(r"^\| (`.*?) \| (.*?) ?\|", table, re.M)
    said = {key: default == "required" for keys, default in rows for key in re.findall(r"`(\w+)`", keys)}
    assert said == {key: field.is_required() for key, field in model.model_fields.items()}


def test_the_readmes_examples_are_right():
    run, graphs, published, ceilings = re.findall(r"```yaml\n(.*?)```", (ROOT / "config/README.md").read_text(), re.S)
    assert load(yaml.safe_load(run), load_catalogue(ROOT / "config/graphs.yaml")).experiments
    assert CATALOGUE.validate_python(yaml.safe_load(graphs))
    assert Published.model_validate(yaml.safe_load(published)).experiments
    assert Ceilings.model_validate(yaml.safe_load(ceilings)).root


def test_a_kept_answer_is_an_array_of_other_experiments():
    kept = {**copy.deepcopy(EXPERIMENT), "keep": ["distances"], "variants": ["conventional"]}
    graphs = {"title": "Maps", "view": "graphs", "graphs": ["grid"]}
    reader = {"title": "Reader", "arrays": ["kept.distances"], "view": "graphs", "graphs": []}
    assert load({"experiments": {"kept": kept, "maps": graphs}}, GRAPHS).experiments["kept"].keep == ["distances"]
    line = said({"experiments": {"kept": kept, "tiny": {**reader, "arrays": ["kept.levels"]}}})
    assert line.startswith("experiments.tiny"), line


@pytest.mark.parametrize(
    ("kind", "name", "says"),
    [
        ("array", "ring", "ring is a graph of config/graphs.yaml too"),
        ("array", "tiny.c", "tiny.c is what an experiment keeps too"),
        ("graph", "tiny.c", "tiny.c is what an experiment keeps too"),
    ],
)
def test_a_name_of_data_stands_for_one_thing(kind, name, says):
    named = {"graph": GRAPHS, "array": ["field"]}
    named[kind] = [*named[kind], name]
    with pytest.raises(ConfigError, match=f"^config/{kind}s.yaml: {says}; give the {kind} another name$"):
        load({"experiments": {"tiny": {**TROPICAL, "keep": ["c"]}}}, *named.values())


def test_a_parameter_is_no_column_of_its_view():
    shared = {"title": "T", "problem": "bfs", "graphs": ["grid"], "baseline": "hybrid"}
    shared["variants"] = {"hybrid": {}, "cpu-gpu": {"ratio": ["1:1", "1:3"]}}
    assert load({"experiments": {"tiny": shared}}, GRAPHS)
    line = "experiments.tiny: view rivals has a column ratio of its own: leave that parameter out"
    assert said({"experiments": {"tiny": {**shared, "view": "rivals"}}}) == line
    # That of the view can be drawn beside a variant that has such a parameter, of which nothing is given.
    shared |= {"variants": ["hybrid", "cpu-gpu"], "figure": {"mark": "bar", "x": "graph", "y": "ratio"}}
    assert load({"experiments": {"tiny": {**shared, "view": "rivals"}}}, GRAPHS)
    assert {*TABLE} == {*rows.KEYS, *rows.MEASURED, *rows.PRINTED}


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        *(("METRICS", "memory"), ("METRICS", "graph"), ("METRICS", "seconds"), ("METRICS", "settled")),
        *(("TRACES", "phase"), ("TRACES", "settled"), ("TRACES", "share")),
    ],
)
def test_a_metric_takes_no_place_of_what_every_problem_has(monkeypatch, declared, name):
    entry = Metric("x") if declared == "METRICS" else Trace("x")
    monkeypatch.setitem(getattr(problem("sssp"), declared), name, entry)
    with pytest.raises(Misdeclared, match=rf'^saitan\.sssp: {declared}\["{name}"\]: every problem has a quantity or'):
        check_package("sssp", problem("sssp"))


def test_the_schema_completes_what_problems_offer():
    then = {
        rule["if"]["properties"]["problem"]["const"]: rule["then"] for rule in schema()["$defs"]["Experiment"]["allOf"]
    }
    assert set(then) == set(names())
    listed, mapped = then["sssp"]["properties"]["variants"]["anyOf"]
    assert "adaptive" in listed["items"]["enum"]
    delta = mapped["properties"]["fast"]["properties"]["delta"]
    assert delta["anyOf"][0] == {"type": "number", "exclusiveMinimum": 0} and delta["description"]
    instance = then["tropical"]["properties"]["instance"]["properties"]
    assert instance["dtype"]["anyOf"][0]["enum"] == ["float32", "int32", "uint16"]
    assert instance["n"]["default"] == 1024 and instance["n"]["anyOf"][0]["minimum"] == 1


TOTAL = {"problem": "apsp", "variants": ["batched"], "keep": ["total"]}
CLOSENESS = {"problem": "bfs", "variants": ["fast"], "keep": ["closeness"]}
MANY = {"variants": ["fast", "closeness"], "keep": ["levels"]}
ALL_PAIRS = {"problem": "apsp", "variants": ["fast"], "keep": ["distances"], "keep_as": "coded"}


def test_a_form_holds_no_answer_that_a_default_makes_a_part(monkeypatch):
    form = replace(problem("apsp").FORMS["coded"], instance={"sources": 5})
    monkeypatch.setitem(problem("apsp").FORMS, "coded", form)
    slabs = {"answer": "slabs"}
    for chosen in ({}, {"sources": 4}, {"sources": [4, 5]}):
        with pytest.raises(ConfigError) as error:
            loaded(**ALL_PAIRS, instance=slabs | chosen)
        right = "coded is kept of the whole answer: `instance: {sources: 5}` is right"
        assert str(error.value) == f"experiments.tiny.keep_as: {right}"
    assert loaded(**ALL_PAIRS, instance=slabs | {"sources": 5}).keep


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (TOTAL, "keep: no total: the answer has it where the instance's answer is reductions, not matrix"),
        (
            TOTAL | {"instance": {"answer": ["reductions", "slabs"]}},
            "keep: no total: .* reductions, not slabs",
        ),
        (TOTAL | {"instance": {"answer": "reductions"}}, None),
        (TOTAL | {"instance": {"answer": "reductions"}, "ranks": [1, 2], "variants": ["fast"]}, None),
        (
            {"problem": "bfs", "variants": ["cluster"], "keep": ["levels"], "ranks": [1, 2]},
            "keep: bfs keeps nothing on several ranks: leave `ranks` out",
        ),
        ({"problem": "bfs", "variants": ["cluster"], "keep": ["levels"], "ranks": [1]}, None),
        (CLOSENESS, "keep: no closeness: the answer has it where the instance's task is closeness, not search"),
        (CLOSENESS | {"instance": {"task": "closeness"}, "variants": ["closeness"]}, None),
        (
            CLOSENESS | MANY | {"instance": {"task": ["search", "closeness"]}},
            "keep: no levels: .* or many, not closeness",
        ),
        (
            ALL_PAIRS | {"instance": {"answer": ["slabs"], "sources": [0, 5]}},
            "keep_as: coded is kept of the whole answer: leave `sources` out",
        ),
        (ALL_PAIRS | {"instance": {"answer": ["slabs"], "sources": [0]}}, None),
        # No variant answers it: there is no point.
        (CLOSENESS | MANY | {"instance": {"task": ["search", "closeness"]}, "variants": ["fast"]}, None),
        (
            {"problem": "apsp", "variants": ["batched"], "view": "phases"},
            "view: apsp traces no phases; view summary",
        ),
    ],
)
def test_what_no_answer_has_is_said_before_it_is_measured(changes, line):
    if line is None:
        assert loaded(**changes).keep
    else:
        with pytest.raises(ConfigError, match=rf"^experiments\.tiny\.{line}"):
            loaded(**changes)
