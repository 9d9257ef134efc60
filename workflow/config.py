"""The configuration of a run (config_model.py), checked against the problems, variants and graphs that exist.

`load` is what the Snakefile calls; whatever is wrong ends in one line that names the key and what would be right.
`python -m saitan.workflow.config` prints the JSON schema that config/*.yaml name in their first line.
"""

from __future__ import annotations

import difflib
import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from pydantic import ValidationError

from saitan import problem as problems
from saitan.graph_input import shown
from saitan.problem import Misdeclared, Parameter, Trace, completed, with_defaults
from saitan.workflow.config_model import ARRAYS, Config, Experiment, Measure, Scalar, number, whole
from saitan.workflow.points import combinations
from saitan.workflow.step import told

# What the view summary knows of every problem; the problem's METRICS are the rest.
QUANTITIES = ("time", "mean time", "total time", "upload time", "memory", "share of limit")

# What the views of graphs say of one.
_WEIGHTS = ("weight mean", "weight standard deviation", "weight least", "weight largest")
FACTS = {
    "graphs": ("vertices", "arcs", "mean degree", "largest degree", *_WEIGHTS),
    "weights": ("weights", *_WEIGHTS),
}

# Columns of every table (rows.py), beside the parameters.
TABLE = (
    *("backend", "graph", "variant", "cores", "quantity", "unit", "ours", "q1", "q3", "samples", "settled"),
    *("disturbed", "checked", "paper", "over_paper"),
)
# Columns of a view's chart, beside the parameters and the problem's metrics, its traces or the described `column`.
_KEYS = ("backend", "graph", "variant", "cores", "source")
COLUMNS = {
    "graphs": ("graph", "degree", "share", "source"),
    "weights": ("graph", "weight", "share", "source"),
    "summary": (*_KEYS, "seconds", "mean_seconds", "vertices", "arcs", "settled"),
    "rivals": (*_KEYS, "ratio", "settled"),
    "phases": (*_KEYS, "query", "phase", "seconds", "settled"),
    "phase_cdf": (*_KEYS, "share", "settled"),
}

# An experiment is a target by its name, and these names are the rules'.
RULES = (
    *("all", "cubins", "compile", "graphs", "fetch", "convert", "generate", "array"),
    *("queries", "measure", "keep", "tabulate", "draw", "outline", "vega", "report"),
)
# Folders of results/ that all runs share; a run's own folder lies beside them.
SHARED = ("downloads", "graphs", "arrays", "instances", "answers", "cubins", "logs", "numba")


# Letters of a name that a message shows.
SHOWN = 60


class ConfigError(Exception):
    """One line that names the key and what would be right; long names in it are cut."""

    def __init__(self, line: str) -> None:
        super().__init__(re.sub(rf"([\w-]{{{SHOWN - 3}}})[\w-]{{4,}}", r"\1...", line))


def load(raw: Mapping[str, Any], graphs: Iterable[str], arrays: Iterable[str] = ()) -> Config:
    """The checked configuration. graphs, arrays: the names that the catalogues have. Raises ConfigError."""
    for kind in {"graphs", "arrays"} & raw.keys():
        raise ConfigError(f"{kind}: unknown key {kind!r} (config/{kind}.yaml lists them for all runs)")
    try:
        config = Config.model_validate(dict(raw))
    except ValidationError as error:
        raise ConfigError(explain(error, Config.model_json_schema())) from None
    if config.name in SHARED:
        raise ConfigError(f"name: results/{config.name} is a folder that all runs share; give the run another name")
    known, stored, outputs = list(graphs), list(arrays), _kept_outputs(config)
    for kind, names, others in (("graph", known, []), ("array", stored, known)):
        for name in names:
            if name in others or name in outputs:
                other = "a graph of config/graphs.yaml" if name in others else "what an experiment keeps"
                raise ConfigError(f"config/{kind}s.yaml: {name} is {other} too; give the {kind} another name")
    kept = [*stored, *outputs]
    for name, experiment in config.experiments.items():
        if name in RULES:
            raise ConfigError(f"experiments.{name}: {name} is the name of a rule; give the experiment another name")
        _check(f"experiments.{name}", experiment, config.measure, known, kept)
    return config


def _kept_outputs(config: Config) -> list[str]:
    return [f"{name}.{output}" for name, experiment in config.experiments.items() for output in experiment.keep]


def explain(error: ValidationError, schema: dict[str, Any], content: Any = None) -> str:
    """The first of pydantic's complaints as one line: the key, what is wrong, what would be right (by the schema).

    content: what was read, if keys may be below a choice of models, whose names pydantic has among the keys
    """
    # An unknown key is often why another one is missing: say it first.
    errors = error.errors(include_url=False)
    first = min(errors, key=lambda e: e["type"] != "extra_forbidden")
    where = keys_of(first)
    message = re.sub(r" after validation, not 0$| or instance of \w+$", "", first["msg"].removeprefix("Value error, "))
    message = message.replace("a valid tuple", "a valid list").replace("a valid dictionary", "keys with values")
    if first["type"] == "string_type" and isinstance(first["input"], int | float | date):
        message = message.replace("a valid string", "a text in quotes")
    if first["type"] == "invalid_key":
        message = f"a key must be a text{' in quotes' if first['input'] is not None else ''}"
    # A value that fits no type of a union: pydantic complains once a type, with the type's name as the last part.
    types = [e["loc"][-1] for e in errors if where and e["loc"][:-1] == first["loc"][:-1]]
    if len(types) > 1 and set(types) <= {"bool", "int", "float", "str"}:
        where.pop()
        message = f"input should be {' or '.join(types)}"
    if where and where[-1] == "[key]":
        where = where[:-2]
        quotes = " in quotes" if isinstance(first["input"], int | float | date) else ""
        message = f"a name in it must be a text{quotes}" if first["type"] == "string_type" else message
    where = [str(part) for part in (where if content is None else _written(where, content, first["type"]))]
    key = ".".join(where)
    if first["type"] == "extra_forbidden":
        if content is None and "experiments" in schema.get("properties", {}):
            for place, path in _PLACES.items():
                if where[-1] in _known_keys(schema, path):
                    return f"{key}: unknown key {where[-1]!r}: it goes {place}"
        known = [name for name in _known_keys(schema, where[:-1]) if name != where[-1]]
        return f"{key}: unknown key{suggest(where[-1], known)}"
    # What is no JSON is shown as a whole file.
    silent = first["type"] in ("missing", "value_error", "json_invalid", "both_kinds")
    shown = "" if silent else f", not {json.dumps(first['input'], default=str)[:60]}"
    place = f"{key}: " if key else ""
    return f"{place}{message[0].lower()}{message[1:]}{shown}"


def keys_of(error: Mapping[str, Any]) -> list[Any]:
    """The keys of one of pydantic's complaints; of a key that is no text, such as a date, what stands in the file."""
    where = list(error["loc"])
    if error["type"] == "invalid_key":
        where[-1] = error["input"]
    elif where[-1:] == ["[key]"]:
        where[-2] = error["input"]
    return where


# Where keys of a run's file go, and where its schema has them.
_PLACES = {
    "into an experiment": ["experiments", "any"],
    "into `measure`": ["measure"],
    "into `figure` of an experiment": ["experiments", "any", "figure"],
    "to the top of the file": [],
}


def _written(where: list[str | int], content: Any, kind: str) -> list[str | int]:
    """The keys of a place that are there, and the last one where that is what is missing."""
    kept = []
    for place, part in enumerate(where, 1):
        among = content if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
        if there := part in among:
            content = content[part]
        if there or (kind == "missing" and place == len(where)):
            kept.append(part)
    return kept


def _known_keys(schema: dict[str, Any], path: list[str]) -> list[str]:
    """The keys allowed at `path`, followed through the JSON schema; of a choice of models those of each."""

    def choices(node: Any) -> list[dict[str, Any]]:
        if not isinstance(node, dict):
            return []
        if "$ref" in node:
            return choices(schema["$defs"][node["$ref"].rsplit("/", 1)[1]])
        several = [*node.get("anyOf", []), *node.get("oneOf", [])]
        return [found for option in several for found in choices(option)] if several else [node]

    def below(node: dict[str, Any], part: str) -> Any:
        patterns = list(node.get("patternProperties", {}).values())
        return node.get("properties", {}).get(part) or node.get("additionalProperties") or (patterns or [{}])[0]

    nodes = choices(schema)
    for part in path:
        nodes = [found for node in nodes for found in choices(below(node, part))]
    return list(dict.fromkeys(key for node in nodes for key in node.get("properties", {})))


# Names that a line lists at most.
NAMED = 20


def suggest(name: str, known: Iterable[str]) -> str:
    """What follows "unknown graph" and the like: the name, and the closest one there is, or those there are."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f" {name!r}; did you mean {close[0]!r}?"
    more = f" and {len(known) - NAMED:,} more" if len(known) > NAMED else ""
    return f" {name!r} (there are: {', '.join(known[:NAMED])}{more})" if known else f" {name!r}"


def unknown_problem(name: str) -> str:
    """What is said of a problem that there is not."""
    return f"unknown problem{suggest(name, problems.names())}{problems.undeclared(name)}"


def _check(key: str, experiment: Experiment, measure: Measure, graphs: list[str], arrays: list[str]) -> None:
    for graph in experiment.graphs:
        if graph not in graphs:
            raise ConfigError(f"{key}.graphs: unknown graph{suggest(graph, graphs)} (config/graphs.yaml)")
    for array in experiment.arrays:
        if array not in arrays:
            raise ConfigError(
                f"{key}.arrays: unknown array{suggest(array, arrays)} (config/arrays.yaml, or experiment.output of"
                " another experiment that keeps it)"
            )
    for field in ("graphs", "arrays", "keep", "ranks", "quantities"):
        _once(f"{key}.{field}", getattr(experiment, field))
    _check_read(key, experiment)
    try:
        own = Measure.model_validate({"max_rounds": measure.max_rounds, **experiment.measure})
        # In the types of the run's: 1.0 is 1.
        experiment.measure.update(own.model_dump(include=experiment.measure.keys()))
    except ValidationError as error:
        # What is wrong with two keys is told of neither.
        of_one = "." if error.errors()[0]["loc"] else ": "
        raise ConfigError(f"{key}.measure{of_one}{explain(error, Measure.model_json_schema())}") from None
    if experiment.problem is None:
        _check_columns(key, experiment, None)
        return
    if experiment.problem not in problems.names():
        raise ConfigError(f"{key}.problem: {unknown_problem(experiment.problem)}")
    package = problems.problem(experiment.problem)
    _check_inputs(key, experiment, package)
    for variant, parameters in experiment.variants.items():
        if variant not in package.VARIANTS:
            raise ConfigError(f"{key}.variants: unknown variant{suggest(variant, package.VARIANTS)}")
        _check_parameters(f"{key}.variants.{variant}", parameters, package.VARIANTS[variant].parameters, variant)
    if experiment.baseline is not None and experiment.baseline not in experiment.variants:
        raise ConfigError(f"{key}.baseline: {experiment.baseline!r} is not among `variants`")
    if experiment.ranks and not any(package.VARIANTS[variant].ranks for variant in experiment.variants):
        able = [name for name, variant in package.VARIANTS.items() if variant.ranks]
        raise ConfigError(
            f"{key}.ranks: none of its variants runs on several ranks (those of {experiment.problem} that do:"
            f" {', '.join(able) or 'none'})"
        )
    _check_parameters(f"{key}.instance", experiment.instance, package.INSTANCE, experiment.problem)
    _check_together(f"{key}.instance", experiment, package)
    for output in experiment.keep:
        if output not in package.OUTPUTS:
            raise ConfigError(f"{key}.keep: unknown output{suggest(output, package.OUTPUTS)}")
        _check_kept(f"{key}.keep", experiment, package, output)
    _check_form(key, experiment, package)
    for quantity in experiment.quantities:
        if quantity not in (known := [*QUANTITIES, *package.METRICS]):
            raise ConfigError(f"{key}.quantities: unknown quantity{suggest(quantity, known)}")
    _check_columns(key, experiment, package)


# What only some views show, and what is said of the measuring alone.
_SHOWN_BY = {
    **dict.fromkeys(("quantities", "baseline"), ("summary", "rivals")),
    **dict.fromkeys(("column", "small"), ("phases", "phase_cdf")),
}
_MEASURING = ("queries", "seed", "measure", "keep_as")


def _check_read(key: str, experiment: Experiment) -> None:
    """Nothing is named that the view does not read."""
    view = experiment.view
    for name in (known for known in Experiment.model_fields if known in experiment.model_fields_set):
        if view not in (views := _SHOWN_BY.get(name, (view,))):
            raise ConfigError(f"{key}.{name}: it is of the views {' and '.join(views)}, not of {view}: leave it out")
        if name in _MEASURING and not experiment.variants:
            raise ConfigError(f"{key}.{name}: nothing is measured without `variants`: leave it out")


def _check_inputs(key: str, experiment: Experiment, package: Any) -> None:
    """The inputs that an experiment names are those that its problem takes."""
    if not experiment.variants:
        return
    given = {"graph": experiment.graphs, "array": experiment.arrays}
    taken = {declared.kind: declared for declared in package.INPUTS.values()}
    for kind in given:
        if given[kind] and kind not in taken:
            kinds = " or ".join(f"`{known}s`" for known in taken) or "no input"
            raise ConfigError(f"{key}.{kind}s: {experiment.problem} takes {kinds}")
    if not any(given.values()) and taken and not any(declared.optional for declared in taken.values()):
        kinds = " or ".join(f"`{kind}s` ({declared.says})" for kind, declared in taken.items())
        raise ConfigError(f"{key}: {experiment.problem} needs {kinds}")


def _check_kept(key: str, experiment: Experiment, package: Any, output: str) -> None:
    """Every answer that there will be has the output."""
    for chosen in combinations(experiment.instance):
        instance = with_defaults(chosen, package.INSTANCE)
        answered = any(not package.VARIANTS[name].unfit("", instance) for name in experiment.variants)
        if answered and (reason := package.OUTPUTS[output].lacking(instance)):
            raise ConfigError(f"{key}: no {output}: {reason}")


def _check_form(key: str, experiment: Experiment, package: Any) -> None:
    """How outputs are kept: there is such a form, and it holds them."""
    forms = getattr(package, "FORMS", {})
    if "keep_as" in experiment.model_fields_set and not experiment.keep:
        raise ConfigError(f"{key}.keep_as: nothing is kept: name outputs under `keep`")
    if experiment.keep_as not in (known := [*ARRAYS, *forms]):
        raise ConfigError(f"{key}.keep_as: unknown form{suggest(experiment.keep_as, known)}")
    together = any(number > 1 for number in experiment.ranks)
    if experiment.keep and together and "answer" not in package.INSTANCE:
        raise ConfigError(f"{key}.keep: {experiment.problem} keeps nothing on several ranks: leave `ranks` out")
    if experiment.keep_as in ARRAYS:
        return
    holds = forms[experiment.keep_as].outputs
    if absent := [output for output in experiment.keep if output not in holds]:
        raise ConfigError(f"{key}.keep_as: {experiment.keep_as} holds {' and '.join(holds)}, not {absent[0]}")
    for name, value in forms[experiment.keep_as].instance.items():
        default = package.INSTANCE[name].default
        if any(given != value for given in experiment.instance.get(name, [default])):
            right = (
                f"leave `{name}` out" if value == default else f"`instance: {{{name}: {json.dumps(value)}}}` is right"
            )
            raise ConfigError(f"{key}.keep_as: {experiment.keep_as} is kept of the whole answer: {right}")
    for name in forms[experiment.keep_as].inputs:
        if not getattr(experiment, f"{package.INPUTS[name].kind}s"):
            kind = package.INPUTS[name].kind
            raise ConfigError(f"{key}.keep_as: {experiment.keep_as} is that of a {name}: name `{kind}s`")
    if together:
        raise ConfigError(f"{key}.keep_as: {experiment.keep_as} is written by one rank: leave `ranks` out")


def _check_columns(key: str, experiment: Experiment, package: Any) -> None:
    """The columns that a chart and a view of phases name are there."""
    view = experiment.view
    if clashing := [name for name in experiment.swept if name in (*TABLE, *COLUMNS[view])]:
        raise ConfigError(f"{key}: view {view} has a column {clashing[0]} of its own: leave that parameter out")
    known = [*COLUMNS[experiment.view], *experiment.swept]
    if experiment.view == "summary":
        known += [] if package is None else list(package.METRICS)
    elif experiment.traced:
        traces = _traces(key, experiment, package)
        known += [experiment.column] if experiment.view == "phase_cdf" else traces
        numbers = [name for name in ("seconds", *traces) if name not in _words(experiment, package)]
        if (column := experiment.column) not in numbers:
            words = f"{column} holds words, not numbers (there are: {', '.join(numbers)})"
            raise ConfigError(
                f"{key}.column: {words if column in traces else 'unknown column' + suggest(column, numbers)}"
            )
    if experiment.figure is None:
        return
    figure = experiment.figure
    for axis, column in figure.columns:
        if column not in known:
            raise ConfigError(f"{key}.figure.{axis}: unknown column{suggest(column, dict.fromkeys(known))}")
    words = _words(experiment, package)
    if named := [column for column in figure.y if column in words]:
        raise ConfigError(f"{key}.figure.y: {named[0]} holds words, not numbers: they go with x, color or facet")
    if figure.x_log and figure.x in words:
        raise ConfigError(f"{key}.figure.x_log: {figure.x} holds words, not numbers: leave x_log out")
    if figure.x_log and figure.mark == "bar":
        raise ConfigError(f"{key}.figure.x_log: bars stand side by side, whatever x is: leave x_log out")


def _traces(key: str, experiment: Experiment, package: Any) -> Mapping[str, Trace]:
    """What the problem traces. Raises ConfigError for variants that trace nothing on any backend."""
    traces = getattr(package, "TRACES", {})
    if not traces:
        raise ConfigError(f"{key}.view: {experiment.problem} traces no phases; view summary shows its times")
    if untraced := [name for name in experiment.variants if not package.VARIANTS[name].traces]:
        able = ", ".join(name for name, variant in package.VARIANTS.items() if variant.traces) or "none"
        raise ConfigError(f"{key}.variants: {untraced[0]} traces no phases: leave it out (those that do: {able})")
    return traces


def _words(experiment: Experiment, package: Any) -> set[str]:
    """The columns that hold words. A parameter that is not given is none: `ratio` of rivals has the name of one."""
    variants = {} if package is None else package.VARIANTS
    known = [*(variants[name].parameters for name in experiment.variants)] + ([package.INSTANCE] if package else [])
    texts = {name for parameters in known for name, parameter in parameters.items() if parameter.type is str}
    traces = getattr(package, "TRACES", {})
    return {
        *("backend", "graph", "variant", "source", "settled"),
        *(name for name, trace in traces.items() if trace.text and experiment.traced),
        *texts.intersection(experiment.swept),
    }


def _check_parameters(key: str, given: dict[str, list[Scalar]], known: Mapping[str, Parameter], owner: str) -> None:
    """What is given is declared, and fits; it is put into the declared order and types, in which it names a point."""
    for name, values in given.items():
        if name not in known:
            has = f"it has: {', '.join(known)}" if known else "it has none"
            raise ConfigError(f"{key}.{name}: {owner} has no parameter {name!r} ({has})")
        if (other := known[name].instead_of) in given:
            raise ConfigError(f"{key}.{name}: it is given instead of {other}: leave one of them out")
        if (other := known[name].within) and other not in given:
            raise ConfigError(f"{key}.{name}: it goes with {other}: give both")
        if not values:
            raise ConfigError(f"{key}.{name}: an empty list makes no point; give at least one value")
        if known[name].type is not str:
            values[:] = map(number, values)
        for value in values:
            if known[name].type is str and not isinstance(value, str):
                raise ConfigError(f"{key}.{name}: must be a text in quotes, not {json.dumps(value)}")
            if reason := known[name].wrong(value):
                if isinstance(value, bool):
                    reason = reason.removesuffix(str(value)) + json.dumps(value)
                raise ConfigError(f"{key}.{name}: {reason}")
            if isinstance(value, str) and not re.fullmatch(r"[A-Za-z0-9._+:-]+", value):
                raise ConfigError(f"{key}.{name}: {value!r} stands in a path: ASCII letters, digits and . _ + : - only")
        _once(f"{key}.{name}", values)
        values[:] = map(whole, values)
    for name, values in given.items():
        if (other := known[name].within) and max(values) > min(given[other]):
            least, most = min(given[other]), max(values)
            raise ConfigError(f"{key}.{name}: must be at most {other}, which is {least}, not {most}")
    for name in [name for name in known if name in given]:
        given[name] = given.pop(name)


def _check_together(key: str, experiment: Experiment, package: Any) -> None:
    """Every point's parameters of the instance go together, and with the data."""
    check = getattr(package, "check_instance", None)
    data = "given" if experiment.graphs or experiment.arrays else "generated"
    for chosen in itertools.product(*experiment.instance.values()) if check else ():
        try:
            given = dict(zip(experiment.instance, chosen, strict=True))
            # As the job calls it.
            known = check(data, **completed(given, package.INSTANCE, data))
        except ValueError as error:
            raise ConfigError(f"{key}: {error}") from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise Misdeclared(f"saitan.{experiment.problem}.check_instance: {told(error)}") from error
        if not isinstance(known, Mapping) or (lacking := [name for name in package.INSTANCE if name not in known]):
            gives = f"gives no {lacking[0]}" if isinstance(known, Mapping) else f"gives {shown(known)}"
            right = "all of INSTANCE with their values are right"
            raise Misdeclared(f"saitan.{experiment.problem}.check_instance {gives}: {right}")


def _once(key: str, values: Sequence[Scalar]) -> None:
    """Two equal points would be one file, counted twice."""
    for place, value in enumerate(values):
        if value in values[:place]:
            raise ConfigError(f"{key}: {value!r} is there twice; name it once")


def schema() -> dict[str, Any]:
    """The JSON schema of a run's YAML: the models', and for each problem its variants and their parameters."""
    made = Config.model_json_schema()
    made["$defs"]["Experiment"]["allOf"] = [
        {
            "if": {"properties": {"problem": {"const": name}}, "required": ["problem"]},
            "then": {"properties": _offered(problems.problem(name))},
        }
        for name in problems.names()
    ]
    return made


def _offered(package: Any) -> dict[str, Any]:
    variants = {name: _parameters(v.parameters) | {"description": v.summary} for name, v in package.VARIANTS.items()}
    metrics = {name: metric.says for name, metric in package.METRICS.items()}
    quantities = [*({"const": name} for name in QUANTITIES)]
    quantities += [{"const": name, "description": says} for name, says in metrics.items()]
    return {
        "variants": {
            "anyOf": [
                {"type": "array", "items": {"enum": list(variants)}},
                {"type": "object", "properties": variants, "additionalProperties": False},
            ]
        },
        "instance": _parameters(package.INSTANCE),
        "keep": {"type": "array", "items": {"enum": list(package.OUTPUTS)}},
        "keep_as": {"anyOf": [{"enum": list(ARRAYS)}, *_forms(package)]},
        "quantities": {"type": "array", "items": {"anyOf": quantities}},
    }


def _forms(package: Any) -> list[dict[str, Any]]:
    return [{"const": name, "description": form.says} for name, form in getattr(package, "FORMS", {}).items()]


def _parameters(known: Mapping[str, Parameter]) -> dict[str, Any]:
    """An object with one value, or a list of values, for each parameter."""
    properties = {}
    for name, parameter in known.items():
        one: dict[str, Any] = {
            "type": {bool: "boolean", int: "integer", float: "number", str: "string"}[parameter.type]
        }
        bounds = (("exclusiveMinimum", parameter.above), ("minimum", parameter.least), ("maximum", parameter.most))
        one |= {key: bound for key, bound in bounds if bound is not None}
        if parameter.choices:
            one["enum"] = list(parameter.choices)
        properties[name] = {"description": parameter.says, "anyOf": [one, {"type": "array", "items": one}]}
        if parameter.default is not None:
            properties[name]["default"] = parameter.default
    return {"type": ["object", "null"], "properties": properties, "additionalProperties": False}


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))
