"""Random problems of a user's own: declarations of every kind, and code that does what they say."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

from saitan.problem import Parameter

KINDS = {"bool": bool, "int": int, "float": float, "str": str}
VALUES = {
    "bool": [True, False],
    "int": [0, 1, 7, -3, 1000000, 2**62],
    "float": [0.0, 0.5, -2.25, 1e-300, 1e300, 3, 1000000.0],
    "str": ["a", "b", "true", "3", "1e3", "null", "no", "0.5", "a b", "é", "it's", "x" * 70, ""],
}
ODD = [None, True, -3, 2**70, 0.5, float("nan"), "", "a\nb", '"', (1,), [1], {}, b"x", 3j, object]
DTYPES = ["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float16", "float64"]
UNITS = ["", "s", "us", "bytes", "TEPS", "op/s", "GB/s", "%"]
QUERIES = [[0, 1], ["a", "é\n"], [[1, 2], [3]], [{"s": 1}], [None, 0], [True, False], [0.5, 1e300], ["x" * 300]]
# Texts that may stand in a path.
IN_PATHS = re.compile(r"[A-Za-z0-9._+:-]+")


class Own:
    """One problem: tables of fields by name, as they are written, and experiments on it."""

    def __init__(self, seed: int, name: str) -> None:
        self.random, self.name = random.Random(seed), name
        kinds = self._one([[], ["graph"], ["array"], ["graph", "array"]])
        self.inputs = {f"of_{kind}": self._input(kind, len(kinds) > 1) for kind in kinds}
        self.instance = self._parameters(["n", "mode", "level_s", "é"], of_instance=True)
        self.outputs = {name: self._output(name) for name in self._some(["sums", "c", "x_1", "9"], 1, 3)}
        self.metrics = {name: self._metric() for name in self._some(["steps", "rate", "prepare_s", "ratio"])}
        self.traces = {name: self._trace() for name in self._some(["updated", "engine", "edges_s"])}
        ranked = [name for name, metric in self.metrics.items() if metric["better"]]
        self.headline = self._one(ranked) if ranked and self._is(0.5) else "time"
        self.variants = {name: self._variant() for name in self._some(["plain", "fast", "A-b_1", "3"], 1, 3)}
        self.forms = {"f_1": self._form()} if self._is(0.5) else {}
        self.does = {
            "queries": self._one(QUERIES),
            "reference": self._one([None, "all", "rows", "one", "more"]),
            "unavailable": self._one([None] * 6 + ["instance", "prepare", "run"]),
            "n": self._one([1, 2, 40]),
            "traced_by": self._one(["run", "count", "both"]),
            "phases": self._one([1, 3, 0]),
            "arrays": {name: [fields.pop("actual"), fields.pop("width")] for name, fields in self.outputs.items()},
        }

    def spoil(self) -> None:
        """Put an odd value in the place of a field of some declaration."""
        tables = [self.inputs, self.instance, self.outputs, self.metrics, self.traces, self.variants, self.forms]
        tables += [variant["parameters"] for variant in self.variants.values()]
        fields = self._one([fields for table in tables for fields in table.values()])
        fields[self._one(fields)] = self._one(ODD)

    def _is(self, share: float) -> bool:
        return self.random.random() < share

    def _one(self, values: Any) -> Any:
        return self.random.choice(list(values))

    def _some(self, values: Any, least: int = 0, most: int = 3) -> list:
        values = list(values)
        return self.random.sample(values, min(len(values), self.random.randint(least, most)))

    def _input(self, kind: str, several: bool) -> dict[str, Any]:
        dtypes = {"dtypes": ("int64", *self._some(DTYPES, 0, 2))} if kind == "array" and self._is(0.3) else {}
        return dict(kind=kind, says="what is read", optional=several or self._is(0.3), **dtypes)

    def _parameters(self, names: list[str], of_instance: bool) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in self._some(names):
            found[name] = self._parameter(found, of_instance)
        return found

    def _parameter(self, others: dict[str, Any], of_instance: bool) -> dict[str, Any]:
        kind = self._one(KINDS)
        fields: dict[str, Any] = {"type": KINDS[kind], "default": self._one([None, *VALUES[kind]])}
        fields["says"] = self._one(["what it is", "a `code`, of <b>", "%s of {x}", "'q' \"Q\" \\"])
        if self._is(0.4):
            fields["choices"] = tuple(self._some(VALUES[kind], 1, 3))
            fields["default"] = self._one([None, *fields["choices"]])
        if kind in ("int", "float") and self._is(0.3):
            fields[self._one(["least", "most"])] = self._one([0, 0.5, 2**40])
            fields["default"] = None
            fields.pop("choices", None)
        if others and self._is(0.2):
            numbers = [name for name, other in others.items() if other["type"] in (int, float)]
            key = "within" if kind in ("int", "float") and numbers and self._is(0.5) else "instead_of"
            fields |= {key: self._one(numbers if key == "within" else others), "default": None}
        if of_instance:
            fields["data"] = self._one(["", "", "given", "generated"])
            fields["together"] = tuple(self._some(self.fitting(fields), 1)) if self._is(0.2) else None
        elif self._is(0.3):
            fields["alike"] = tuple(self._some([None, *self.fitting(fields)]))
        return fields

    @staticmethod
    def fitting(fields: dict[str, Any]) -> list[Any]:
        """The values that a parameter takes."""
        declared = Parameter(**fields)
        values = fields.get("choices") or VALUES[fields["type"].__name__]
        return [value for value in values if declared.wrong(value) is None]

    def _of_instance(self) -> dict[str, Any]:
        """Values of a parameter of the instance, or of none."""
        some = {name: self._some(self.fitting(fields), 1) for name, fields in self._some(self.instance.items(), 0, 1)}
        return {name: tuple(values) for name, values in some.items() if values}

    def _output(self, name: str) -> dict[str, Any]:
        dtype = self._one(DTYPES)
        fields = {"actual": dtype, "width": self._one([(), (3,), (2, 2), (1,)]), "dtype": self._one(["", dtype])}
        return dict(says=f"[n], of {name}", instance=self._of_instance() if self._is(0.4) else {}, **fields)

    def _metric(self) -> dict[str, Any]:
        over, better = self._one(["median", "mean", "harmonic"]), self._one([None, "more", "less"])
        return {"says": "what is counted", "unit": self._one(UNITS), "over": over, "better": better}

    def _trace(self) -> dict[str, Any]:
        text = self._is(0.3)
        none = None if text else self._one([None, -1])
        return {"says": "what is traced", "unit": self._one(UNITS), "text": text, "none": none}

    def _variant(self) -> dict[str, Any]:
        fields = {"cpu": f"saitan.{self.name}.cpu:{self._one(['Kept', 'Streamed'])}", "instance": self._of_instance()}
        fields["parameters"] = self._parameters(["delta", "threshold_up", "kind", "wait_us"], of_instance=False)
        fields["traces"] = {"cpu": tuple(self._some(self.traces))} if self._is(0.5) else {}
        fields["inputs"] = tuple(self._some(self.inputs, 0, 1)) if self._is(0.3) else ()
        fields["graph"] = tuple(self._some(["undirected", "integer", "weights"], 0, 1)) if self._is(0.3) else ()
        return dict(summary="one of several", **fields)

    def _form(self) -> dict[str, Any]:
        outputs = tuple(self._some(self.outputs, 1, 2))
        reader = "Reader" if len(outputs) > 1 else "OnlyReader"
        fields = {"writes": f"saitan.{self.name}.stored:write", "reads": f"saitan.{self.name}.stored:{reader}"}
        instance = {name: values[0] for name, values in self._of_instance().items()} if self._is(0.3) else {}
        return dict(says="a file", outputs=outputs, instance=instance, **fields)

    def experiment(self, graphs: list[str], arrays: list[str]) -> dict[str, Any]:
        """An experiment on these data, or on none, as a YAML has it."""
        traced = [name for name, variant in self.variants.items() if variant["traces"] and self.traces]
        view = self._one(["summary", "summary", "rivals", *(["phases", "phase_cdf"] if traced else [])])
        of_phases = view.startswith("phase")
        asked = self._some(traced if of_phases else self.variants, 1)
        variants = {name: self._chosen(self.variants[name]["parameters"]) for name in asked}
        made = {"title": "T", "problem": self.name, "view": view, "variants": variants}
        made |= {"instance": self._chosen(self.instance), "queries": len(self.does["queries"])}
        if self.inputs and not (all(given["optional"] for given in self.inputs.values()) and self._is(0.4)):
            kind = self._one(given["kind"] for given in self.inputs.values())
            made[f"{kind}s"] = graphs if kind == "graph" else arrays
        keys = ["graph", "variant", *made["instance"], *(name for chosen in variants.values() for name in chosen)]
        shown = {
            "summary": ["seconds", *self.metrics],
            "rivals": ["ratio"],
            "phases": ["seconds"],
            "phase_cdf": ["share"],
        }
        if of_phases:
            common = {*self.traces}.intersection(*(self.variants[name]["traces"]["cpu"] for name in variants))
            shown["phases"] += sorted(name for name in common if not self.traces[name]["text"])
            made["column"] = self._one(shown["phases"])
        else:
            made["quantities"] = self._some(["time", "total time", "upload time", "memory", *self.metrics], 1, 4)
            made |= {"baseline": self._one(variants)} if view == "rivals" or self._is(0.4) else {}
        if whole := [name for name, output in self.outputs.items() if not output["instance"] and self._is(0.5)]:
            held = self.forms and {*whole} <= {*self.forms["f_1"]["outputs"]} and not self.forms["f_1"]["instance"]
            made |= {"keep": whole, "keep_as": self._one(["raw", "compressed", *(["f_1"] * 3 if held else [])])}
        x = {"phases": "phase", "phase_cdf": made.get("column")}.get(view) or self._one(keys)
        figure = {"mark": self._one(["line", "bar", "point", "step"]), "x": x, "y": self._some(shown[view], 1, 2)}
        optional = {"color": self._one(keys), "facet": self._one(keys), "y_log": True}
        return made | {"figure": figure | {key: optional[key] for key in self._some(optional)}}

    def _chosen(self, parameters: dict[str, Any]) -> dict[str, Any]:
        chosen: dict[str, Any] = {}
        for name, fields in parameters.items():
            values = [one for one in self.fitting(fields) if not isinstance(one, str) or IN_PATHS.fullmatch(one)]
            other = fields.get("within") or fields.get("instead_of")
            if values and not other and self._is(0.6):
                chosen[name] = self._some(values, 1, 2)
        return chosen

    def write(self, folder: Path) -> None:
        folder.mkdir()
        tables = {
            "INPUTS": ("Input", self.inputs),
            "INSTANCE": ("Parameter", self.instance),
            "OUTPUTS": ("Output", self.outputs),
            "METRICS": ("Metric", self.metrics),
            "TRACES": ("Trace", self.traces),
            "FORMS": ("Form", self.forms),
            "VARIANTS": ("Variant", self.variants),
        }
        lines = [f"{key} = {_table(kind, table)}" for key, (kind, table) in tables.items()]
        lines += [f"HEADLINE, DOES = {self.headline!r}, {_source(self.does)}"]
        (folder / "__init__.py").write_text(INIT.replace("# What is declared.", "\n".join(lines)))
        (folder / "cpu.py").write_text(CPU.replace("@NAME", self.name))
        (folder / "stored.py").write_text(STORED.replace("@NAME", self.name))


def _table(kind: str, table: dict[str, Any]) -> str:
    entries = (
        f"{name!r}: {kind}({', '.join(_field(*field) for field in fields.items())})" for name, fields in table.items()
    )
    return "{" + ", ".join(entries) + "}"


def _field(name: str, value: Any) -> str:
    nested = name == "parameters" and isinstance(value, dict)
    return f"{name}={_table('Parameter', value) if nested else _source(value)}"


def _source(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else repr(value).replace("nan", 'float("nan")')


INIT = '''
import numpy as np
from types import SimpleNamespace
from saitan.problem import (
    Form, Input, Metric, Output, Parameter, Reference, Trace, Unavailable, Variant, check_parameters
)
from saitan.solver import prepared

TITLE = "Own <b> & `c`"
# What is declared.

def instance(inputs, **parameters):
    given = check_parameters("own", parameters, INSTANCE)
    if "of_graph" in inputs:
        if DOES["unavailable"] == "instance":
            raise Unavailable("no graphs\\ntoday")
        values = np.diff(inputs["of_graph"].offsets)
    else:
        values = np.asarray(inputs.get("of_array", np.arange(DOES["n"])))
    return SimpleNamespace(values=values.astype(np.float64), given=given)

def queries(instance, count, seed):
    return [DOES["queries"][i % len(DOES["queries"])] for i in range(count)]

def answer(instance, query):
    """All of it, by output."""
    found = {}
    for name, (dtype, width) in DOES["arrays"].items():
        if OUTPUTS[name].lacking(instance.given) is None:
            salt = sum(map(ord, f"{name} {query} {sorted(instance.given.items())}"))
            rows = ((instance.values + salt) % 100).reshape(-1, *[1] * len(width))
            found[name] = np.broadcast_to(rows, (len(rows), *width)).astype(dtype)
    return found

def reference(instance, query):
    arrays, rows = answer(instance, query), None
    match DOES["reference"] if arrays else None:
        case None:
            return None
        case "rows":
            rows = np.unique([0, len(instance.values) - 1])
            arrays = {name: array[rows] for name, array in arrays.items()}
        case "one":
            arrays = dict(list(arrays.items())[:1])
        case "more":
            arrays["more"] = np.arange(3)
    return Reference("NumPy", arrays, rows)

def differs(reference, answer):
    for name in OUTPUTS.keys() & reference.arrays:
        if line := reference.misshapen(answer, name):
            return line
        if not np.array_equal(reference.arrays[name], answer[name]):
            return f"{name} differ"

def prepare(instance, variant, backend, **parameters):
    if DOES["unavailable"] == "prepare" and variant in ("plain", "3"):
        raise Unavailable("cannot be had")
    given = check_parameters(variant, parameters, VARIANTS[variant].parameters)
    solver = VARIANTS[variant].load(backend)
    return prepared(solver, lambda query: ("checked", query), instance, name=variant, given=given)
'''

CPU = """
import time
import numpy as np
from saitan import @NAME as own
from saitan.blocks import Block, Blockwise, chosen
from saitan.problem import Checked, Invalid, Run, Unavailable

class Kept(Blockwise):
    memory, transfer = 8, 0.0
    def __init__(self, instance, *, name, given):
        self.instance, self.name = instance, name
    def run(self, query):
        start = time.perf_counter()
        self.query, self.result = query, self.made(query)
        return self.timed(start)
    def made(self, query):
        if own.DOES["unavailable"] == "run" and self.name in ("plain", "fast"):
            raise Unavailable("not of this kind")
        return own.answer(self.instance, query[1])
    def timed(self, start):
        seconds = time.perf_counter() - start
        return Run(seconds, seconds, {name: 3.0 + i for i, name in enumerate(own.METRICS)}, self.phases("run"))
    def phases(self, by):
        traces = own.VARIANTS[self.name].traces.get("cpu")
        if traces is None or own.DOES["traced_by"] not in (by, "both"):
            return {}
        n = own.DOES["phases"]
        found = {"seconds": np.full(n, 1e-9)}
        for name in traces:
            found[name] = np.array(list("aba"[:n]), str) if own.TRACES[name].text else np.arange(n) * 2.0
            if own.TRACES[name].none is not None:
                found[name][1:2] = own.TRACES[name].none
        return found
    def count(self, query):
        return self.phases("count")
    def validate(self):
        if any(not np.array_equal(array, self.result[name]) for name, array in self.made(self.query).items()):
            raise Invalid("wrong")
        return Checked("every row")
    def blocks(self, rows=None):
        for name, array in self.result.items():
            yield from chosen(name, array, rows)
    def close(self):
        pass

class Streamed(Kept):
    streamed = True
    def run(self, query, sink):
        start = time.perf_counter()
        for name, array in self.made(query).items():
            for low in range(0, len(array), 7):
                sink(Block(name, low, block := array[low : low + 7].copy()))
                block[...] = 1
        return self.timed(start)
    def checker(self, query):
        return Checking(self.made(query))

class Checking:
    def __init__(self, right):
        self.right, self.rows = right, 0
    def __call__(self, block):
        rows = self.right[block.name][block.first : block.first + len(block.array)]
        if not np.array_equal(rows, block.array):
            raise Invalid("wrong")
        self.rows += len(rows)
    def finish(self):
        if self.rows != sum(map(len, self.right.values())):
            raise Invalid("rows are missing")
        return Checked("every row")
"""

STORED = """
import numpy as np
from saitan import @NAME as own

def write(instance, variant, backend, path, query, /, **parameters):
    own.prepare(instance, variant, backend, **parameters).close()
    with open(path, "wb") as file:
        np.savez(file, **{f"of {name}": array for name, array in own.answer(instance, query).items()})

class Reader:
    def __init__(self, path, output):
        with np.load(path) as stored:
            self.array = stored[f"of {output}"]
        self.shape, self.dtype = self.array.shape, self.array.dtype
    def __getitem__(self, rows):
        return self.array[rows]
    def close(self):
        pass

class OnlyReader(Reader):
    def __init__(self, path):
        super().__init__(path, *own.FORMS["f_1"].outputs)
"""
