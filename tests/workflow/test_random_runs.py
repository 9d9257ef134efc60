"""Random experiments with all variants that run here, from the YAML to the report: tables have every point, charts are
drawn, nothing is refused.
"""

import random

import numpy as np
import pytest
from whole import Whole, table_of

from saitan.problem import names, problem
from saitan.workflow.config import QUANTITIES

GRAPHS = {
    "grid": ("grid", {"width": 6, "height": 5, "weight_low": 1, "weight_high": 9, "seed": 1}),
    "ring": ("ring", {"vertices": 30, "weight_low": 0, "weight_high": 9, "seed": 1}),
    "bare": ("kronecker", {"scale": 5, "seed": 1}),
}
ARRAYS = {
    "whole": np.arange(40, dtype=np.int32),
    "reals": np.random.default_rng(1).normal(size=(12, 12)).astype(np.float32),
}
VALUES = {bool: [True, False], int: [1, 2, 4, 8, 32, 64, 100], float: [0.5, 1, 2, 10, 1e-3, 0.1], str: []}


class Experiment:
    """One experiment as a user writes it, of a problem's variants, parameters, columns and outputs."""

    def __init__(self, chance: random.Random, name: str) -> None:
        self.random, self.package = chance, problem(name)
        variants = {name: one for name, one in self.package.VARIANTS.items() if one.cpu}
        traced = [name for name, one in variants.items() if "cpu" in one.traces]
        view = self._one(["summary", "summary", "rivals", *(["phases", "phase_cdf"] if traced else [])])
        chosen = {name: {} for name in self._some(traced if view.startswith("phase") else variants, 1, 4)}
        data = self._data()
        made = {"title": "T", "problem": name, "view": view, "queries": 2, **data}
        made["variants"] = {name: self._given(variants[name].parameters) for name in chosen}
        made["instance"] = self._given(self.package.INSTANCE, "given" if data else "generated")
        if "n" in self.package.INSTANCE and not data:
            made["instance"]["n"] = self._some([1, 5, 33], 1, 2)
        self.made, self.keys = made, ["graph", "variant", "cores", *made["instance"]]
        self.keys += [name for given in made["variants"].values() for name in given]
        made["figure"] = self._phases(chosen) if view.startswith("phase") else self._summary(chosen)
        if self._is(0.3) and (whole := [name for name, one in self.package.OUTPUTS.items() if not one.instance]):
            made |= {"keep": whole[:1], "keep_as": self._one(["raw", "compressed"])}

    def _is(self, share):
        return self.random.random() < share

    def _one(self, values):
        return self.random.choice(list(values))

    def _some(self, values, least=0, most=3):
        values = list(values)
        return self.random.sample(values, min(len(values), self.random.randint(least, most)))

    def _data(self):
        inputs = [one.kind for one in self.package.INPUTS.values()]
        optional = all(one.optional for one in self.package.INPUTS.values())
        if not inputs or (optional and self._is(0.5)):
            return {}
        kind = self._one(inputs)
        return {f"{kind}s": self._some(GRAPHS if kind == "graph" else ARRAYS, 1, 2)}

    def _given(self, parameters, data=""):
        chosen = {}
        for name, one in parameters.items():
            fits = [value for value in one.choices or VALUES[one.type] if one.wrong(value) is None]
            other = one.instead_of or one.within or one.data not in ("", data)
            if fits and not other and self._is(0.25):
                chosen[name] = self._some(fits, 1, 2)
        return chosen

    def _figure(self, x, shown):
        made = {"mark": self._one(["line", "bar", "point", "step"]), "x": x, "y": self._some(shown, 1, 2)}
        optional = {"color": self._one(self.keys), "facet": self._one(self.keys), "y_log": True}
        return made | {key: optional[key] for key in self._some(optional)}

    def _summary(self, chosen):
        self.made["quantities"] = ["time", *self._some([*QUANTITIES[1:], *self.package.METRICS])]
        rivals = self.made["view"] == "rivals"
        self.made |= {"baseline": self._one(chosen)} if rivals or self._is(0.4) else {}
        shown = ["ratio"] if rivals else ["seconds", "mean_seconds", *self.package.METRICS]
        return self._figure(self._one(self.keys), shown)

    def _phases(self, chosen):
        common = set.intersection(*({*self.package.VARIANTS[name].traces["cpu"]} for name in chosen))
        numbers = ["seconds", *sorted(name for name in common if not self.package.TRACES[name].text)]
        self.made["column"] = self._one(numbers)
        distribution = self.made["view"] == "phase_cdf"
        return self._figure(*((self.made["column"], ["share"]) if distribution else ("phase", numbers)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", names())
def test_a_random_experiment_is_measured_tabulated_and_drawn(alone, tmp_path, monkeypatch, name, seed):
    monkeypatch.chdir(tmp_path)
    whole = Whole(tmp_path, GRAPHS, ARRAYS)
    made = Experiment(random.Random(f"{name} {seed}"), name).made
    plan = whole.plan({"mine": made})
    assert any(", 0 failed" in line for line in whole.run(plan))
    if plan.shown_of("mine"):
        table_of(plan, "mine")
