"""Configurations and the plans made of them."""

import copy
from types import SimpleNamespace

from saitan.workflow.config import load
from saitan.workflow.graphs.catalogue import CATALOGUE
from saitan.workflow.machine import Machine
from saitan.workflow.planning import make

ENTRIES = CATALOGUE.validate_python(
    {
        "grid": {
            "title": "G",
            "generator": "grid",
            "parameters": {"width": 3, "height": 3, "weight_low": 1, "weight_high": 2, "seed": 1},
        },
        "ring": {"title": "R", "generator": "ring", "parameters": {"vertices": 5, "seed": 1}, "models": "kanto"},
        "road": {
            "title": "D",
            "url": "http://host/road.gr.gz",
            "format": "dimacs",
            "coordinates": {"url": "http://host/road.co.gz"},
        },
        "hidden": {"title": "H", "file": "hidden.gr", "format": "pace"},
    }
)


EXPERIMENT = {
    "title": "Tiny",
    "problem": "sssp",
    "graphs": ["grid", "ring"],
    "variants": {"adaptive": {"threshold_up": [10, 100]}, "conventional": {}},
    "queries": 3,
    "seed": 4,
}


TROPICAL = {"title": "Product", "problem": "tropical", "variants": ["tiled"], "instance": {"n": [32, 64]}}


WITHOUT = Machine("no driver", None, True)


GPU = Machine(None, "sm_90", True)


def plan(experiment=EXPERIMENT, settings=None, absent=None, machine=WITHOUT, **changes):
    described = {**copy.deepcopy(experiment), **changes}
    for name in () if described.get("variants") else ("queries", "seed"):
        described.pop(name, None)
    return planned({"tiny": described}, settings, absent, machine)


def planned(experiments, settings=None, absent=None, machine=WITHOUT):
    config = load({"name": "run", "experiments": experiments, **(settings or {})}, ENTRIES)
    return make(config, machine, ENTRIES, {}, absent or {})


def identities(**settings):
    return {(p.backend, p.variant, p.point): p.identity for p in plan(machine=GPU, graphs=["grid"], **settings).points}


BOTH = {"settings": {"backend": "both"}}


def changed(before, after):
    return {key for key in before if before[key] != after[key]}


KEPT = {**EXPERIMENT, "graphs": ["grid"], "variants": ["conventional"], "keep": ["distances"]}


def wildcards(file):
    """Those of the job that makes a kept answer."""
    names = ("problem", "backend", "graph", "variant", "point", "drawn", "seed", "form", "output")
    *folders, draw, form, output = file.removeprefix("results/answers/").removesuffix(".parquet").split("/")
    return SimpleNamespace(**dict(zip(names, [*folders, *draw.split("-"), form, output], strict=True)))
