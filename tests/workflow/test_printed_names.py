"""Mistakes in what the papers print, of an experiment that a run makes."""

import re
from pathlib import Path

import pytest
import yaml

from saitan.workflow.arrays import load_arrays
from saitan.workflow.config import load
from saitan.workflow.graphs.catalogue import load_catalogue
from saitan.workflow.printed_names import check_printed
from saitan.workflow.published import read_published
from saitan.workflow.step import Failure

CONFIG = Path(__file__).parents[2] / "config"
NAMES = load_catalogue(CONFIG / "graphs.yaml"), load_arrays(CONFIG / "arrays.yaml")
SSSP = {"title": "S", "problem": "sssp", "graphs": ["grid-128"], "variants": ["adaptive", "scipy"]}
PHASES = {**SSSP, "variants": ["adaptive"], "view": "phases"}
GRAPHS = {"title": "G", "graphs": ["grid-128"], "view": "graphs"}
LEVELS = {"title": "L", "problem": "bfs", "graphs": ["grid-128"], "variants": ["hybrid"], "view": "phases"}
LEVELS["column"] = "frontier"
APSP = {"title": "A", "problem": "apsp", "graphs": ["grid-128"], "variants": {"batched": {"tasks": [32, 64]}}}
TROPICAL = {"title": "T", "problem": "tropical", "variants": ["fast"], "instance": {"n": [32]}}


@pytest.fixture
def check(tmp_path, monkeypatch):
    def check(experiment, **printed):
        monkeypatch.chdir(tmp_path)
        content = {"graphs": {}, "experiments": {"own": {"origin": "O", **printed}}}
        Path("published.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
        config = load({"name": "run", "experiments": {"own": experiment}}, *NAMES)
        check_printed("published.yaml", read_published(Path("published.yaml")), config, {*NAMES[0], *NAMES[1]})

    return check


@pytest.mark.parametrize("path", [path for path in CONFIG.glob("*.yaml") if "\nexperiments:" in path.read_text()])
def test_what_is_committed_is_right(path):
    if path.name == "published.yaml":
        return
    config = load({"name": "run", **yaml.safe_load(path.read_text())}, *NAMES)
    check_printed("published.yaml", read_published(CONFIG / "published.yaml"), config, {*NAMES[0], *NAMES[1]})


@pytest.mark.parametrize(
    ("experiment", "printed"),
    [
        (SSSP, {"quantities": [{"graph": "any", "variant": "scipy", "cores": 2, "quantity": "mean time", "value": 1}]}),
        (SSSP, {"quantities": [{"threshold_up": 30, "quantity": "speed-up over scipy", "value": 1}]}),
        (SSSP, {"quantities": [{"quantity": "over the best of the others", "value": 1}]}),
        (SSSP, {"quantities": [{"quantity": "over fast on cuda", "value": 1}]}),
        (PHASES, {"quantities": [{"quantity": "share of phases with updated <= 10,000", "value": 1}]}),
        (SSSP, {"points": [{"graph": "grid-128", "threshold_up": 30, "seconds": 1, "phases": 2}]}),
        (PHASES, {"points": [{"variant": "adaptive", "phase": 30, "updated": 1}]}),
        (GRAPHS, {"points": [{"graph": "grid-128", "degree": 1, "share": 1}]}),
        (LEVELS, {"points": [{"direction": "top-down", "phase": 1}]}),
        # A paper's number may be out of the bounds of ours.
        (SSSP, {"points": [{"threshold_up": -1, "seconds": 1}]}),
        (GRAPHS, {"quantities": [{"graph": "grid-128", "quantity": "vertices", "value": 1}]}),
        (
            APSP,
            {"quantities": [{"tasks": 32, "quantity": "time", "value": 1}], "points": [{"tasks": 64, "seconds": 1}]},
        ),
        (TROPICAL, {"quantities": [{"reuse": True, "quantity": "tops", "value": 1}], "points": [{"reuse": False}]}),
        (TROPICAL, {"instance": {"n": "any"}, "points": [{"n": 32, "tops": 1}, {"dtype": "int32", "tops": 1}]}),
    ],
)
def test_what_rows_and_charts_have_is_right(check, experiment, printed):
    check(experiment, **printed)


@pytest.mark.parametrize(
    ("experiment", "printed", "says"),
    [
        (
            SSSP,
            {"quantities": [{"quantity": "time", "value": 1}, {"varient": "scipy", "quantity": "time", "value": 1}]},
            "quantities.1: unknown key 'varient'; did you mean 'variant'?",
        ),
        (
            SSSP,
            {"quantities": [{"variant": "scipi", "quantity": "time", "value": 1}]},
            "quantities.0.variant: unknown variant 'scipi'; did you mean 'scipy'?",
        ),
        (
            SSSP,
            {"quantities": [{"quantity": "mean tim", "value": 1}]},
            "quantities.0.quantity: unknown quantity 'mean tim'; did you mean 'mean time'?",
        ),
        (
            GRAPHS,
            {"quantities": [{"quantity": "vertises", "value": 1}]},
            "quantities.0.quantity: unknown quantity 'vertises'; did you mean 'vertices'?",
        ),
        (
            {**GRAPHS, "view": "weights"},
            {"quantities": [{"quantity": "arcs", "value": 1}]},
            "quantities.0.quantity: unknown quantity 'arcs' (there are: weights, weight mean, weight",
        ),
        (
            SSSP,
            {"quantities": [{"quantity": "speed-up of means over scypi", "value": 1}]},
            "quantities.0.quantity: unknown variant 'scypi'; did you mean 'scipy'?",
        ),
        (
            PHASES,
            {"quantities": [{"quantity": "peak updatd", "value": 1}]},
            "quantities.0.quantity: unknown trace 'updatd'; did you mean 'updated'?",
        ),
        (
            PHASES,
            {"quantities": [{"quantity": "share of phases with lsted <= 10", "value": 1}]},
            "quantities.0.quantity: unknown trace 'lsted'; did you mean 'listed'?",
        ),
        (
            SSSP,
            {"quantities": [{"cores": "two", "quantity": "time", "value": 1}]},
            "quantities.0.cores: a number is right, not 'two'",
        ),
        (
            SSSP,
            {"points": [{"graph": "grid-12O", "seconds": 1}]},
            "points.0.graph: unknown graph 'grid-12O'; did you mean 'grid-128'?",
        ),
        (SSSP, {"points": [{"secondes": 1}]}, "points.0: unknown key 'secondes'; did you mean 'seconds'?"),
        (SSSP, {"points": [{"seconds": "0.1 ms"}]}, "points.0.seconds: a number is right, not '0.1 ms'"),
        (SSSP, {"points": [{"phases": "many"}]}, "points.0.phases: a number is right, not 'many'"),
        (
            SSSP,
            {"points": [{"threshold_up": "30 us", "seconds": 1}]},
            "points.0.threshold_up must be a number, not '30 us'",
        ),
        (
            SSSP,
            {"points": [{"backend": "gpu", "seconds": 1}]},
            "points.0.backend: unknown backend 'gpu'; did you mean 'cpu'?",
        ),
        (GRAPHS, {"points": [{"degree": "1 to 4"}]}, "points.0.degree: a number is right, not '1 to 4'"),
        (APSP, {"points": [{"tasks": 33, "seconds": 1}]}, "points.0.tasks must be one of 8, 16, 32, 64, 128, not 33"),
        (APSP, {"points": [{"cores": True, "seconds": 1}]}, "points.0.cores: a number is right, not true"),
        (TROPICAL, {"points": [{"reuse": 1, "tops": 1}]}, "points.0.reuse must be true or false, not 1"),
        (TROPICAL, {"points": [{"n": True, "tops": 1}]}, "points.0.n must be a whole number, not True"),
        (TROPICAL, {"instance": {"m": 3}}, "instance: unknown key 'm' (there are: n,"),
        (TROPICAL, {"instance": {"n": "all"}}, "instance.n must be a whole number, not 'all'"),
        (TROPICAL, {"instance": {"dtype": "int23"}}, "instance.dtype must be one of "),
        (TROPICAL, {"points": [{"dtype": 32, "tops": 1}]}, "points.0.dtype must be a text, not 32"),
        (
            SSSP,
            {"quantities": [{"quantity": "over fsat on cuda", "value": 1}]},
            "quantities.0.quantity: unknown variant 'fsat'; did you mean 'fast'?",
        ),
    ],
)
def test_what_no_row_has_is_one_line(check, experiment, printed, says):
    with pytest.raises(Failure, match=rf"^published.yaml: line \d+: {re.escape(f'experiments.own.{says}')}") as caught:
        check(experiment, **printed)
    assert "\n" not in str(caught.value)
