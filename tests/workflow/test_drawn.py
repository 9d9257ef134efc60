"""Every point of a table is in its chart, read back from what is drawn: where it belongs, once, in its colour."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scene import scene

from saitan.workflow.figure_data import DOUBTFUL, FEW_MARKERS, OURS
from saitan.workflow.figures import Drawn, specification
from saitan.workflow.published import PAPER

# Of what is printed without a colour.
GREY = "#8a8f98"
KEYS = ["graph", "variant", "level", "mode", "reuse"]
KINDS = {
    "level": ["float64", "Int64", "object", "string"],
    "mode": ["object", "string"],
    "reuse": ["object", "boolean"],
}


def points(random):
    """Points of three variants: of one parameter, of two, and of none."""
    chosen = [
        *(("a", level, None, reuse) for level in (10, 2, 0.5)[: random.integers(1, 4)] for reuse in (True, False)),
        *(("b", None, mode, None) for mode in ("x", "y")),
        ("c", None, None, None),
    ]
    rows = [(graph, *point) for graph in ("small", "large") for point in chosen if random.random() < 0.6]
    table = pd.DataFrame(rows, columns=KEYS).assign(n=lambda rows: rows["graph"].map({"small": 10, "large": 1000}))
    for name, kinds in KINDS.items():
        kind = random.choice(kinds)
        whole = kind != "Int64" or table[name].ne(0.5).all()
        if kind == "string":
            table[name] = table[name].map(text, na_action="ignore")
        table[name] = table[name].astype(kind if whole else "float64")
    return table


def curves(random, table):
    long = FEW_MARKERS + 5
    lengths = random.choice([1, 2, 4, 4, 4, long if len(table) < 6 else 5], size=len(table))
    whole = table.loc[table.index.repeat(lengths)].reset_index(drop=True)
    return whole.assign(phase=[phase for length in lengths for phase in range(1, length + 1)])


def numbered(random, table, names):
    """With numbers that tell rows apart, some missing, and with quartiles of the first."""
    n = len(table)
    table = table.assign(**{name: random.permutation(n) * 1.0 + 1 for name in names})
    first = names[0]
    table[f"{first}_q1"], table[f"{first}_q3"] = table[first] * 0.8, table[first] * 1.1
    for name in names:
        missing = random.random(n) < 0.1
        table.loc[missing, [column for column in table if column.startswith(name)]] = np.nan
    return table.assign(settled=random.random(n) < 0.7)


def with_printed(random, table):
    """And papers' numbers for some of the points, not all of which say what point they are of."""
    printed = table.sample(min(len(table), 3), random_state=int(random.integers(1000))).assign(settled=True)
    for name in KEYS:
        printed[name] = printed[name].where(random.random(len(printed)) < 0.7)
    sources = random.choice([PAPER, f"{PAPER}, 9 vertices"], size=len(printed))
    both = [table.assign(source=OURS), printed.assign(source=sources).astype(table.dtypes.to_dict())]
    return pd.concat(both, ignore_index=True)


def text(value):
    if value is None or value is pd.NA or value != value:
        return "–"
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    return value if isinstance(value, str) else f"{value:g}"


def heading(name, values):
    """What stands over a facet, by its value; {} where there is one only."""
    texts = list(dict.fromkeys(map(text, values)))
    said = name in ("level", "reuse") or "–"
    return {} if len(texts) < 2 else {one: f"{name.title()} {one}" if said in (True, one) else one for one in texts}


def asked(random, curved):
    """A figure of any of the columns, each of which some points lack but for the graph and the variant."""
    roles = {name: random.choice([None, "graph", "variant", *KINDS]) for name in ("color", "facet")}
    roles["x"] = "phase" if curved else random.choice(["graph", "n", "variant", *KINDS])
    return {**roles, "y": ["seconds", "updated"][: random.integers(1, 3)], "y_log": bool(random.random() < 0.5)}


def shown_in(heading, headings, table, figure):
    """The rows of a facet: ours of it; what is printed of it, or of none."""
    facet, ours = table[figure.facet or "graph"].map(text), table["source"] == OURS
    there = facet.map(headings.get).eq(heading) | (~ours & facet.eq("–")) if headings else True
    # What is printed without x stands beside levels of its colour.
    color = table[figure.color].map(text) if figure.color else pd.Series("", table.index)
    levels = color[ours & table[figure.x].isna()]
    return table[there & (ours | table[figure.x].notna() | color.isin(levels))]


@pytest.mark.parametrize("mark", ["line", "step", "bar", "point"])
@pytest.mark.parametrize("seed", range(10))
def test_a_chart_shows_what_its_table_has(mark, seed):
    random = np.random.default_rng([seed, *mark.encode()])
    table = points(random)
    if curved := bool(random.random() < 0.5):
        table = curves(random, table)
    figure = Drawn.model_validate({**asked(random, curved), "mark": mark, "title": "T", "keys": KEYS})
    table = numbered(random, with_printed(random, table), figure.y)
    ours = table[table["source"] == OURS]
    if len(ours) < 2 or ours[figure.y].notna().sum().min() < 2:
        pytest.skip("too few numbers for an axis to be read by")
    drawn = scene(specification(figure, table, interactive=bool(random.random() < 0.5)))
    colors = {*ours[figure.color].map(text)} if figure.color and ours[figure.color].notna().any() else set()
    assert {*drawn.legend} == colors and len({*drawn.legend.values()}) == len(colors)
    headings = heading(figure.facet, ours[figure.facet]) if figure.facet else {}
    panels = {(panel.row, panel.facet): panel for panel in drawn.panels}
    every = [*itertools.product(range(len(figure.y)), headings.values() or [None])]
    assert sorted(panels, key=str) == sorted(every, key=str) and len(drawn.panels) == len(every)
    lengths = ours.groupby(KEYS, dropna=False)[figure.x].transform("size")
    for (number, facet), panel in panels.items():
        rows = shown_in(facet, headings, table, figure)
        name = figure.y[number]
        Reading(panel, rows[rows[name].notna()], name, figure, drawn, lengths).check()


class Reading:
    """One panel against the rows that it is of."""

    def __init__(self, panel, rows, y, figure, drawn, lengths):
        self.panel, self.rows, self.y, self.figure, self.lengths = panel, rows, y, figure, lengths
        self.legend, self.shapes = drawn.legend, drawn.shapes
        ours = rows[rows["source"] == OURS]
        self.levels, self.printed = ours[ours[figure.x].isna()], rows.drop(ours.index)
        self.placed = ours.drop(self.levels.index)

    def check(self):
        marks = [mark for mark in self.panel.marks if mark.seen]
        rects, lines, rules, symbols = (
            [mark for mark in marks if mark.kind == kind] for kind in ("rect", "line", "rule", "symbol")
        )
        across = [mark for mark in rules if mark.y == mark.y2]
        assert all(abs(mark.x - mark.x2) == self.panel.width for mark in across)
        self.each(across, self.levels)
        disks = [mark for mark in symbols if not mark.hollow]
        kind = {"bar": rects, "point": disks}.get(self.figure.mark, lines)
        ours = self.each(kind, self.placed)
        self.lines(disks)
        edges = sorted((mark.x, mark.x2) for mark in rects)
        assert all(end <= start + 1e-6 for (_, end), (start, _) in itertools.pairwise(edges)), "bars overlap"
        hollow = {source: [] for source in self.shapes}
        kinds = {shape: source for source, shape in self.shapes.items()}
        for mark in symbols:
            if mark.hollow:
                hollow[kinds[mark.shape]].append(mark)
        self.circles(hollow.pop(DOUBTFUL, []))
        for source, rows in self.printed.groupby("source"):
            self.each(hollow.pop(source), rows)
        assert not any(hollow.values())
        self.quartiles([mark for mark in rules if mark.y != mark.y2], ours)

    def each(self, marks, rows):
        """Each row has one mark of these, at its place and in its colour; the marks by the rows' labels."""
        found = {}
        for mark in marks:
            row = self.row_of(mark)
            assert row.name not in found
            found[row.name] = mark
        assert sorted(found) == sorted(rows.index)
        return found

    def row_of(self, mark):
        """The row that a mark is of by its height, whose colour and place it has too."""
        read = self.panel.value("y", mark.y, self.figure.y_log)
        found = self.rows[(self.rows[self.y] - read).abs() < 0.02]
        assert len(found) == 1, (read, self.rows[self.y].tolist())
        row = found.iloc[0]
        if self.legend:
            color = text(row[self.figure.color])
            assert mark.color == (GREY if color == "–" and row["source"] != OURS else self.legend[color])
        assert self.is_at(mark, row[self.figure.x])
        return row

    def is_at(self, mark, x):
        middle = (mark.x + mark.x2) / 2
        if text(x) == "–":
            return mark.x == self.panel.x + self.panel.width
        if text(x) in {name for _, name in self.panel.labels["x"]} and self.figure.mark == "bar":
            return self.panel.is_of(text(x), middle)
        if isinstance(x, (str, bool, np.bool_)) or self.rows[self.figure.x].dtype == object:
            return [abs(at - middle) < 1 for at, name in self.panel.labels["x"] if name == text(x)] == [True]
        return abs(self.panel.value("x", middle) - float(x)) < 1e-6 * float(x)

    def lines(self, disks):
        """A line joins numbers of one point, or of one at each x. All have a disk where they are few; otherwise those
        that no line joins to another.
        """
        alone = set()
        vertices = [mark for mark in self.panel.marks if mark.kind == "line"]
        for _, line in itertools.groupby(vertices, lambda mark: mark.line):
            runs = [
                [self.row_of(mark) for mark in run] for seen, run in itertools.groupby(line, lambda m: m.seen) if seen
            ]
            joined = list(itertools.chain(*runs))
            assert len({text(row[self.figure.x]) for row in joined}) == len(joined)
            if self.figure.x == "phase":
                assert len({tuple(text(row[key]) for key in KEYS) for row in joined}) <= 1
            alone |= {run[0].name for run in runs if len(run) == 1}
        if self.figure.mark in ("line", "step"):
            few = self.figure.mark == "line" and self.lengths.max() <= FEW_MARKERS
            assert {self.row_of(mark).name for mark in disks} == ({*self.placed.index} if few else alone)

    def circles(self, circles):
        doubted = pd.concat([self.placed, self.levels]).query("not settled").index
        marked = [self.row_of(mark).name for mark in circles]
        assert len(marked) == len({*marked}) and {*marked} <= {*doubted}
        assert {*doubted[self.lengths.loc[doubted] <= FEW_MARKERS]} <= {*marked}

    def quartiles(self, rules, ours):
        if f"{self.y}_q1" not in self.rows:
            assert not rules
            return
        spread = set()
        for rule in rules:
            ends = sorted(self.panel.value("y", pixel, self.figure.y_log) for pixel in (rule.y, rule.y2))
            there = (self.rows[[f"{self.y}_q1", f"{self.y}_q3"]] - ends).abs().lt(0.02).all(axis=1)
            (row,) = self.rows.index[there]
            middle = (ours[row].x + ours[row].x2) / 2
            assert abs(middle - rule.x) < 0.01 and row not in spread
            spread.add(row)
        assert sorted(spread) == sorted(ours)
