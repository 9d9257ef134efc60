"""What turns out not to go with some data leaves these points out, and the others have their table."""

import pyarrow.parquet as pq
from whole import Whole

from saitan.workflow.answers import about_answer

WEIGHTS = {"weight_low": 1, "weight_high": 99, "seed": 1}
GRAPHS = {
    "grid": ("grid", {"width": 12, "height": 12, **WEIGHTS}),
    "ring": ("ring", {"vertices": 50, **WEIGHTS}),
    "bare": ("kronecker", {"scale": 5, "seed": 1}),
    "alone": ("ring", {"vertices": 1, "seed": 1}),
    "heavy": ("ring", {"vertices": 60, "weight_low": 90000, "weight_high": 90000, "seed": 1}),
}
EXPERIMENTS = {
    "leading": {"problem": "apsp", "variants": ["batched"], "instance": {"sources": [20, 100]}, "keep": ["distances"]},
    "blocks": {"problem": "tropical", "variants": ["tiled"], "instance": {"n": [20, 100]}, "keep": ["c"]},
    "bare": {"problem": "sssp", "variants": ["conventional"], "graphs": ["grid", "bare"]},
    "alone": {"problem": "bfs", "variants": ["hybrid", "fast"], "graphs": ["alone", "grid"]},
    "small": {
        **{"problem": "tropical", "variants": ["tiled"], "graphs": ["grid", "heavy"]},
        "instance": {"n": 20, "dtype": ["uint16", "int32"]},
    },
    "whole": {"problem": "apsp", "variants": ["scipy"], "graphs": ["grid"], "keep": ["distances"]},
    "product": {"problem": "tropical", "variants": ["numpy"], "graphs": [], "instance": {"n": 20}, "keep": ["c"]},
    "closed": {
        **{"problem": "apsp", "variants": ["scipy-floyd-warshall"], "graphs": []},
        "arrays": ["product.c", "whole.distances"],
    },
}


REASONS = (
    "sources must be at most 50, the vertices of ring, not 100",
    "n must be at most 50, the vertices of ring, not 100",
    "graph bare has no weights",
    "graph alone has no root to search from: no vertex has an arc to another one",
    "heavy: a weight of 90,000 does not fit uint16, 32,767 is infinity",
    "entries of type uint32 (there are: float32, int32, uint16)",
)
# Graph, sources, n and type of the points that a table has.
POINTS = {
    "leading": {("grid", 20, None, None), ("grid", 100, None, None), ("ring", 20, None, None)},
    "blocks": {("grid", None, 20, None), ("grid", None, 100, None), ("ring", None, 20, None)},
    "bare": {("grid", None, None, None)},
    "alone": {("grid", None, None, None)},
    "small": {("grid", None, 20, "uint16"), ("grid", None, 20, "int32"), ("heavy", None, 20, "int32")},
    "closed": {("product.c", None, None, None)},
}


def test_what_does_not_go_with_its_data_is_left_out_and_the_others_have_their_table(alone, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = Whole(tmp_path, GRAPHS, {})
    shared = {"title": "E", "graphs": ["grid", "ring"], "queries": 2}
    said = "\n".join(whole.run(whole.plan({name: shared | one for name, one in EXPERIMENTS.items()})))
    assert [reason for reason in REASONS if f": {reason}" not in said] == []
    assert ", 0 failed, 7 left out" in said
    tables = {name: pq.read_table(f"results/run/tables/{name}.parquet").to_pylist() for name in POINTS}
    keys = ("graph", "sources", "n", "dtype")
    assert {name: {tuple(map(row.get, keys)) for row in rows} for name, rows in tables.items()} == POINTS
    kept = sorted(tmp_path.joinpath("results/answers").rglob("*.parquet"))
    assert sum(about_answer(file).get("unavailable") is not None for file in kept) == 2 and len(kept) == 10
