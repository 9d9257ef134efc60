"""A chart as it is drawn, read back as a person reads it: by the labels of axes, the legends and the facets' titles."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import vl_convert

from saitan.workflow.vega import vega_lite_version

PREFIXES = {"m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9}


@dataclass
class Mark:
    """kind: Vega's (symbol, line, rule, rect); x, y, x2, y2: pixels of the whole chart, of a bar its edges; line: which
    line of its panel a vertex is of; seen: with any opacity.
    """

    kind: str
    x: float
    y: float
    x2: float
    y2: float
    color: str | None
    hollow: bool
    shape: str | None
    line: int
    seen: bool


@dataclass
class Panel:
    """One facet of one column named as y, its `row`. labels: of the axes, (pixel, text)."""

    row: int
    x: float
    y: float
    width: float
    height: float
    facet: str | None = None
    marks: list[Mark] = field(default_factory=list)
    labels: dict[str, list[tuple[float, str]]] = field(default_factory=dict)

    def value(self, axis: str, pixel: float, log: bool = False) -> float:
        """The number at a pixel of an axis, by its first and last label."""
        (p, low), *others = [(place, number(text)) for place, text in sorted(self.labels[axis]) if text]
        if not others:
            assert pixel == p
            return low
        q, high = others[-1]
        part = (pixel - p) / (q - p)
        return low * math.exp(math.log(high / low) * part) if log else low + (high - low) * part

    def is_of(self, name: str, pixel: float) -> bool:
        """Whether a pixel is in the band of a name on the x axis."""
        places = sorted(place for place, _ in self.labels["x"])
        step = min((after - before for before, after in itertools.pairwise(places)), default=self.width)
        # Names stand at whole pixels.
        return abs({text: place for place, text in self.labels["x"]}[name] - pixel) <= step / 2 + 1


@dataclass
class Scene:
    """legend: the texts of the colours; shapes: those of hollow marks."""

    panels: list[Panel]
    legend: dict[str, str]
    shapes: dict[str, str]


def number(text: str) -> float:
    text = text.replace("−", "-").replace(",", "")
    return float(text[:-1]) * PREFIXES[text[-1]] if text[-1] in PREFIXES else float(text)


def scene(specification: dict[str, Any]) -> Scene:
    root = vl_convert.vegalite_to_scenegraph(specification, vl_version=vega_lite_version())["scenegraph"]
    panels = list(_panels(root, 0, 0, 0))
    labels = list(_labels(root, 0, 0, None))
    for panel in panels:
        left = [(x, y, text) for axis, x, y, text in labels if axis == "left" and x < panel.x and _in(y, panel, "y")]
        below = [
            (x, y, text)
            for axis, x, y, text in labels
            if axis == "bottom" and y > panel.y + panel.height and _in(x, panel, "x")
        ]
        # Of the axes beside it the next.
        panel.labels["y"] = [(y, text) for x, y, text in left if x == max(x for x, *_ in left)]
        panel.labels["x"] = [(x, text) for x, y, text in below if y == min(y for _, y, _ in below)]
    colors, shapes = {}, {}
    for legend in _legends(root):
        named = bool(list(_texts(legend, "legend-title")))
        for symbol, text in _entries(legend):
            filled = symbol.get("fill", "white") not in ("white", "transparent")
            (colors if named else shapes)[text] = symbol["fill" if filled else "stroke"] if named else symbol["shape"]
    return Scene(panels, colors, shapes)


def _in(pixel: float, panel: Panel, axis: str) -> bool:
    start, size = (panel.x, panel.width) if axis == "x" else (panel.y, panel.height)
    return start - 1 <= pixel <= start + size + 1


def _groups(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (child for child in node.get("items", []) if child.get("marktype") == "group")


def _within(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What the groups of a mark hold; of another mark nothing."""
    if node.get("marktype") == "group":
        yield from (child for item in node["items"] for child in item.get("items", []))


def _panels(node: dict[str, Any], x: float, y: float, row: int) -> Iterator[Panel]:
    """node: a mark of groups, whose items are the groups."""
    if (named := re.match(r"concat_(\d+)", node.get("name") or "")) is not None:
        row = int(named[1])
    for item in node["items"]:
        left, top = x + item.get("x", 0), y + item.get("y", 0)
        marks = list(_marks(item, left, top))
        if any(child.get("role") == "mark" for child in item.get("items", [])):
            titles = [group for group in _groups(item) if group.get("role") == "title"]
            cell = (node.get("name") or "").endswith("cell")
            facet = next(_texts(titles[0], "title-text")) if titles and cell else None
            yield Panel(row, left, top, item["width"], item["height"], facet, marks)
        else:
            for group in _groups(item):
                if group.get("role") != "legend":
                    yield from _panels(group, left, top, row)


def _marks(item: dict[str, Any], x: float, y: float) -> Iterator[Mark]:
    for child in item.get("items", []):
        if (child.get("name") or "").endswith("_pathgroup"):
            for line, path in enumerate(child["items"]):
                for mark in path.get("items", []):
                    yield from _read(mark, x, y, line)
        elif child.get("role") == "mark":
            yield from _read(child, x, y, -1)


def _read(node: dict[str, Any], x: float, y: float, line: int) -> Iterator[Mark]:
    for one in node["items"]:
        left, top = x + one.get("x", 0), y + one.get("y", 0)
        right = x + one["x2"] if "x2" in one else left + one.get("width", 0)
        bottom = y + one["y2"] if "y2" in one else top + one.get("height", 0)
        hollow = one.get("fill") == "white"
        color = one.get("stroke") if hollow or "fill" not in one else one["fill"]
        # A number that is missing breaks a line.
        seen = one.get("defined", True) and one.get("opacity", 1) > 0
        yield Mark(node["marktype"], left, top, right, bottom, color, hollow, one.get("shape"), line, seen)


def _labels(node: dict[str, Any], x: float, y: float, axis: str | None) -> Iterator[tuple[str, float, float, str]]:
    if node.get("role") == "axis-label":
        yield from ((axis, x + one.get("x", 0), y + one.get("y", 0), one["text"]) for one in node["items"])
    if node.get("marktype") == "group" and node.get("role") != "legend":
        for item in node["items"]:
            # Axes stand half a pixel beside what they measure.
            here, off = (item["orient"], 0.5) if node.get("role") == "axis" else (axis, 0.0)
            for child in item.get("items", []):
                yield from _labels(child, x + item.get("x", 0) - off, y + item.get("y", 0) - off, here)


def _texts(node: dict[str, Any], role: str) -> Iterator[str]:
    if node.get("role") == role:
        yield from (one["text"] for one in node["items"])
    for child in _within(node):
        yield from _texts(child, role)


def _legends(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if node.get("role") == "legend":
        yield node
    for child in _within(node):
        yield from _legends(child)


def _entries(node: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """The symbols and texts of a legend."""
    for item in node["items"] if node.get("marktype") == "group" else ():
        by_role = {child.get("role"): child for child in item.get("items", [])}
        if "legend-symbol" in by_role:
            yield by_role["legend-symbol"]["items"][0], by_role["legend-label"]["items"][0]["text"]
    for child in _within(node):
        yield from _entries(child)
