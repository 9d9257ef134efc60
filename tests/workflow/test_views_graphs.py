"""The views that describe graphs."""

import numpy as np
import pytest
from shown import shown

from saitan.workflow.config import FACTS


def test_graphs_are_described_by_degrees_and_weights(graph_folder):
    settings = {"variants": {}, "problem": None}
    table, figure = shown("graphs", settings, graphs=[graph_folder("g", [1, 1, 2, 4, 2]), graph_folder("h", None)])
    assert table[table["graph"] == "g"].set_index("quantity")["ours"].to_dict() == {
        "vertices": 6,
        "arcs": 5,
        "mean degree": 5 / 6,
        "largest degree": 3,
        "weight mean": 2,
        "weight standard deviation": pytest.approx(np.sqrt(6 / 5)),
        "weight least": 1,
        "weight largest": 4,
    }
    assert set(table["quantity"]) == {*FACTS["graphs"]}
    assert table["settled"].all() and set(table["disturbed"]) == set(table["checked"]) == {""}
    assert set(table[table["graph"] == "h"]["quantity"]) == {"vertices", "arcs", "mean degree", "largest degree"}
    assert figure.index.is_unique
    g = figure[figure["graph"] == "g"]
    assert dict(zip(g["degree"], g["share"], strict=True)) == {0: 4 / 6, 2: 5 / 6, 3: 1.0}


def test_weights_are_shown_as_a_distribution(graph_folder):
    settings = {"variants": {}, "problem": None}
    table, figure = shown("weights", settings, graphs=[graph_folder("g", [1, 1, 2, 4, 2]), graph_folder("h", None)])
    assert set(table["quantity"]) == {*FACTS["weights"]}
    # A graph without weights stands there with none.
    assert dict(table.loc[table["quantity"] == "weights", ["graph", "ours"]].values) == {"g": 5, "h": 0}
    assert set(table.loc[table["quantity"] != "weights", "graph"]) == set(figure["graph"]) == {"g"}
    assert dict(zip(figure["weight"], figure["share"], strict=True)) == {1: 0.4, 2: 0.8, 4: 1.0}
