"""README's Python, as it is printed."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from saitan import apsp
from saitan.generators import GENERATORS
from saitan.graph import Graph

ARRAYS, STREAMS, OWN = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[2] / "README.md").read_text(), re.S)


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(ARRAYS + STREAMS, names)
    graph = GENERATORS["road_rail"](vertices=20000, arcs=64200, seed=1)
    dijkstra = scipy.sparse.csgraph.dijkstra
    matrix = scipy.sparse.csr_matrix((graph.weights.astype(float), graph.targets, graph.offsets), (graph.n, graph.n))
    assert names["result"].distances[123] == dijkstra(matrix, indices=0)[123]
    assert (names["levels"][:, 123] == dijkstra(matrix, unweighted=True, indices=[3, 14, 15])[:, 123]).all()
    a, c = names["a"], names["c"]
    assert (c[3] == (a[3][:, None] + a).min(axis=0)).all()
    assert apsp.open("matrix.coded").shape == (names["small"].n,) * 2
    assert np.abs(names["part"] - a.ravel()[1000:2000]).max() <= 1e-6


def test_graphs_of_ones_own(tmp_path, monkeypatch):
    pandas, networkx = pytest.importorskip("pandas"), pytest.importorskip("networkx")
    monkeypatch.chdir(tmp_path)
    Path("USA-road-d.NY.gr.gz").write_bytes(gzip.compress(b"p sp 3 2\na 1 2 5\na 2 3 7\n"))
    matrix = scipy.sparse.csr_matrix(([5, 7], ([0, 1], [1, 2])), (3, 3))
    theirs = networkx.DiGraph()
    theirs.add_weighted_edges_from([(0, 1, 5), (1, 2, 7)])
    names = {"matrix": matrix, "frame": pandas.DataFrame({"from": [0, 1], "to": [1, 2], "metres": [5, 7]})}
    made = []
    for line in OWN.splitlines():
        exec(line, names | {"theirs": theirs}, names)
        made += [names.pop("graph")] if line.startswith("graph = ") else []
    assert len(made) == 5 and all(isinstance(graph, Graph) for graph in made)
    for graph in made:
        assert (graph.n, graph.targets.tolist(), graph.weights.tolist()) == (3, [1, 2], [5, 7]), graph.name
