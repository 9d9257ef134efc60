"""What entries of config/published.yaml may say of an experiment: its columns, its problem's names and values.

A misspelt one goes with no row, and a text in a column of numbers makes a chart's axis one of words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from types import ModuleType
from typing import Any

from saitan.problem import BACKENDS, Parameter, problem
from saitan.workflow.config import COLUMNS, FACTS, QUANTITIES, suggest
from saitan.workflow.config_model import Config, Experiment
from saitan.workflow.published import ANY, Published
from saitan.workflow.quantities import BEST, SHARE
from saitan.workflow.yaml_files import mistake

# Columns of any experiment that hold words, and those of numbers.
_WORDS = ("backend", "graph", "variant", "models")
_NUMBERS = {column for columns in COLUMNS.values() for column in columns} - {*_WORDS, "source", "settled"} | {"ranks"}
# Quantities that hold the name of a variant, and of what is traced.
_OF_VARIANT = re.compile(r"(?:speed-up |speed-up of means |)over (.*?)(?: on cuda)?")
_OF_TRACE = re.compile(r"peak (.*)|share of phases with (.*) <= .*")


def check_printed(path: str, published: Published, config: Config, data: Collection[str]) -> None:
    """Raise Failure, naming file, line and key, for a name or value that no row or chart of an experiment can have.

    config: the run; data: names of the catalogues' graphs and arrays.
    """
    for name in config.experiments.keys() & published.experiments.keys():
        experiment, printed = config.experiments[name], published.experiments[name]
        key = ["experiments", name]
        package = problem(experiment.problem) if experiment.problem else None
        known = _Known(path, experiment, package, {*data, *experiment.arrays})
        for parameter, value in printed.instance.items():
            known.check([*key, "instance"], parameter, value, known.instance)
        for place, quantity in enumerate(printed.quantities):
            entry = quantity.model_dump(exclude={"value", "quantity"})
            known.check_quantity([*key, "quantities", place], quantity.quantity)
            for column, value in entry.items():
                known.check([*key, "quantities", place], column, value, [*_WORDS, "cores", "ranks", *known.parameters])
        for place, point in enumerate(printed.points):
            for column, value in point.items():
                known.check([*key, "points", place], column, value, known.columns)


class _Known:
    """What there is of one experiment. path: of what is checked."""

    def __init__(self, path: str, experiment: Experiment, package: ModuleType | None, data: Collection[str]) -> None:
        self.path, self.experiment, self.package = path, experiment, package
        self.instance: Mapping[str, Parameter] = package.INSTANCE if package else {}
        variants = package.VARIANTS if package else {}
        self.parameters = {name: p for variant in variants.values() for name, p in variant.parameters.items()}
        self.parameters |= self.instance
        traces = getattr(package, "TRACES", {})
        self.words = {name for name, trace in traces.items() if trace.text}
        self.columns = [*_WORDS, *sorted(_NUMBERS), *getattr(package, "METRICS", ()), *traces, *self.parameters]
        self.choices: Mapping[str, Iterable[str]] = {"backend": BACKENDS, "graph": sorted(data)}
        if package:
            self.choices = {**self.choices, "variant": variants}

    def check(self, key: list[str | int], column: str, value: Any, columns: Collection[str]) -> None:
        if column not in columns:
            raise mistake(self.path, key, f": unknown key{suggest(column, columns)}", within=column)
        if reason := self._wrong(column, value):
            raise mistake(self.path, [*key, column], reason)

    def _wrong(self, column: str, value: Any) -> str | None:
        """What is wrong with a column's value; None where nothing is."""
        if value == ANY or column in self.words:
            return None
        if column in self.choices:
            unknown = f": unknown {column}{suggest(str(value), self.choices[column])}"
            return unknown if value not in self.choices[column] else None
        if column in self.parameters:
            declared = self.parameters[column]
            # A paper's number may be out of the bounds of ours.
            other = any(isinstance(value, kind) is not (declared.type is kind) for kind in (str, bool))
            reason = declared.wrong(value) if value is not None and (declared.choices or other) else None
            return reason and f" {reason}"
        if column not in _WORDS and isinstance(value, str | bool):
            return f": a number is right, not {str(value).lower() if isinstance(value, bool) else repr(value)}"
        return None

    def check_quantity(self, key: list[str | int], quantity: str) -> None:
        if quantity.startswith(SHARE) or quantity == BEST:
            return
        if facts := FACTS.get(self.experiment.view):
            what, name, known = "quantity", quantity, facts
        elif found := _OF_VARIANT.fullmatch(quantity):
            what, name, known = "variant", found[1], list(self.package.VARIANTS)
        elif found := _OF_TRACE.fullmatch(quantity):
            what, name, known = "trace", found[1] or found[2], ["seconds", *getattr(self.package, "TRACES", ())]
        else:
            what, name = "quantity", quantity
            known = list(dict.fromkeys([*QUANTITIES, "phases", *self.package.METRICS]))
        if name not in known:
            raise mistake(self.path, [*key, "quantity"], f": unknown {what}{suggest(name, known)}")
