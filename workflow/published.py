"""What the papers print, beside what we measured (config/published.yaml)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    PositiveInt,
    TypeAdapter,
    model_validator,
)

from saitan.workflow.config import suggest
from saitan.workflow.config_model import Model, with_numbers
from saitan.workflow.numbers import readable
from saitan.workflow.yaml_files import mistake, read_checked

if TYPE_CHECKING:
    # Planning reads the file too, and pandas takes half a second to load.
    import pandas as pd

# Whose a chart's row is, where it is not ours.
PAPER = "paper"
# In the place of a parameter's value: whatever it is.
ANY = "any"
# Where our graph is another size than the paper's, a ratio would compare different work: it is left out.
SAME_SIZE = 0.02

_Value = bool | int | FiniteFloat | str


class Quantity(Model):
    """A number of a table. Its other keys must equal the row's; `models` names the paper's graph."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, _Value] = Field(init=False)

    quantity: str
    value: float = Field(ge=0, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _numbers(cls, entry: Any) -> Any:
        return with_numbers(entry)


class Printed(Model):
    """An experiment's numbers: those of its table, and points of its chart by the chart's columns.

    instance: the problem's parameters that all are of, beside what an entry names; the others have their defaults.
    """

    origin: str
    instance: Annotated[dict[str, _Value], BeforeValidator(with_numbers)] = Field(default={})
    quantities: tuple[Quantity, ...] = ()
    points: tuple[Annotated[dict[str, _Value], BeforeValidator(with_numbers)], ...] = ()


class Published(Model):
    """graphs: vertices of the papers' graphs; experiments: what is printed for each."""

    graphs: dict[str, Annotated[PositiveInt, Field(strict=True)]]
    experiments: dict[str, Printed]


def read_published(path: Path) -> Published:
    """The file's content. Raises Failure naming line and key of what is wrong, the key of a graph that is none."""
    published = read_checked(path, TypeAdapter(Published))
    for experiment, printed in published.experiments.items():
        key = ["experiments", experiment]
        quantities = [quantity.model_dump() for quantity in printed.quantities]
        for part, entries in (("quantities", quantities), ("points", printed.points)):
            for place, entry in enumerate(entries):
                if (graph := entry.get("models")) is not None and graph not in published.graphs:
                    unknown = f": unknown graph{suggest(str(graph), published.graphs)}"
                    raise mistake(path, [*key, part, place, "models"], unknown)
        places: dict[tuple, int] = {}
        for place, quantity in enumerate(printed.quantities):
            row = tuple(sorted(quantity.model_dump(exclude={"value"}).items(), key=str))
            if (earlier := places.setdefault(row, place)) != place:
                same = f"{'.'.join(key)}.quantities.{earlier}"
                raise mistake(path, [*key, "quantities", place], f": for the same row as {same}; a row has one number")
    return published


def beside_ours(
    table: pd.DataFrame,
    experiment: str,
    published: Published,
    models: Mapping[str, str],
    vertices: Mapping[str, int],
    defaults: Mapping[str, Any],
) -> pd.DataFrame:
    """The table with the columns paper and over_paper (ours / paper), empty where nothing is printed.

    models: our graph -> the paper's graph it stands for; vertices: our graph -> its size; defaults: of the parameters
    of the problem's instance.
    """
    printed = published.experiments.get(experiment)
    papers, ratios = [], []
    for row in table.to_dict("records"):
        value = None if printed is None else _printed_value(printed, row, models.get(row["graph"]), defaults)
        papers.append(value)
        sized = value and _same_size(row["graph"], published, models, vertices)
        ratios.append(row["ours"] / value if sized else None)
    import pandas as pd

    return table.assign(paper=pd.array(papers, "Float64"), over_paper=pd.array(ratios, "Float64"))


def _printed_value(
    printed: Printed, row: Mapping[str, Any], model: str | None, defaults: Mapping[str, Any]
) -> float | None:
    seen = {**defaults, **row, "models": model}
    for entry in printed.quantities:
        if _fits(seen, {**defaults, **printed.instance, **entry.model_dump(exclude={"value"})}):
            return entry.value
    return None


def _fits(seen: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(value == ANY or seen.get(key) == value for key, value in wanted.items())


def _same_size(graph: str, published: Published, models: Mapping[str, str], vertices: Mapping[str, int]) -> bool:
    printed = published.graphs.get(models.get(graph, ""))
    return printed is None or abs(vertices.get(graph, 0) - printed) <= SAME_SIZE * printed


def printed_points(
    experiment: str,
    published: Published,
    models: Mapping[str, str],
    figure: pd.DataFrame,
    vertices: Mapping[str, int],
    defaults: Mapping[str, Any],
) -> pd.DataFrame:
    """Chart rows of the paper, one for each of our graphs that an entry names or that stands for the paper's; may be
    empty. An entry without either goes with graphs that stand for none.

    source: "paper", or "paper, 1.43 M vertices" where our graph has another size.
    """
    printed = published.experiments.get(experiment)
    rows = []
    measured = figure[[name for name in ("graph", *defaults) if name in figure]].drop_duplicates().to_dict("records")
    for entry in printed.points if printed else []:
        columns = {key: value for key, value in entry.items() if key != "models"}
        if "models" in entry and "vertices" in figure:
            columns = {"vertices": published.graphs[entry["models"]]} | columns
        if "graph" not in figure:
            rows.append(columns | {"source": PAPER})
            continue
        wanted = {key: value for key, value in {**defaults, **printed.instance}.items() if key not in entry}
        fitting = dict.fromkeys(row["graph"] for row in measured if _fits({**defaults, **row}, wanted))
        named = {key: entry[key] for key in ("graph", "models") if key in entry} or {"models": None}
        for graph in fitting:
            if not _fits({"graph": graph, "models": models.get(graph)}, named):
                continue
            same = _same_size(graph, published, models, vertices)
            source = PAPER if same else f"{PAPER}, {readable(published.graphs[models[graph]], 'vertices', 3)}"
            rows.append(columns | {"graph": graph, "source": source})
    import pandas as pd

    return pd.DataFrame(rows)
