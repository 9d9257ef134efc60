"""Published graphs where they are there, and how much memory the way from a large file takes."""

import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from peaks import peaks

from saitan.workflow.graphs.readers import read_coordinates, read_graph_file

DATA = Path(os.environ.get("SAITAN_DATA", Path(__file__).parents[2].parent / "shared" / "data"))


def data_file(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not in {DATA} (SAITAN_DATA names the folder)")
    return path


def test_new_york():
    path, places = data_file("USA-road-d.NY.gr.gz"), data_file("USA-road-d.NY.co.gz")
    read_graph_file(path, "dimacs")
    started = time.process_time()
    graph = read_graph_file(path, "dimacs")
    assert time.process_time() - started < 2
    assert (graph.n, graph.m) == (264_346, 733_846)
    assert (graph.weights.min(), graph.weights.max()) == (1, 36946)
    assert graph.metadata["checksum"] == "37f5b3eff82330850466956b6c036a8ab8551512bdc7509edca1d4c6cf943fa3"
    longitude, latitude = np.radians(read_coordinates(places, graph.n)[0]).T
    u, v = graph.sources, graph.targets
    half = np.sin((latitude[u] - latitude[v]) / 2) ** 2
    half += np.cos(latitude[u]) * np.cos(latitude[v]) * np.sin((longitude[u] - longitude[v]) / 2) ** 2
    metres = 2 * 6_367_000 * np.arcsin(np.sqrt(half))
    assert np.abs(graph.weights - 10 * metres).max() < 1


@pytest.mark.parametrize(
    ("name", "format", "n", "m"),
    [
        ("USA-road-d.BAY.gr.gz", "dimacs", 321_270, 800_172),
        ("pace16-topology.COL.gr.xz", "pace", 435_666, 1_042_400),
        ("soc-Slashdot0902.txt.gz", "snap", 82_168, 948_464),
    ],
)
def test_published_graphs(name, format, n, m):
    graph = read_graph_file(data_file(name), format)
    assert (graph.n, graph.m) == (n, m)


ARCS = 4_000_000
SETUP = f"""
from pathlib import Path
from saitan.generators import GENERATORS
from saitan.workflow.graphs import arcs, parquet, readers
from saitan.workflow.graphs.readers import read_graph_file
from saitan.workflow.graphs.parquet import read_graph, write_graph
parquet._ROWS = 1 << 19
Blocks = readers.Blocks
readers.Blocks = lambda path: Blocks(path, size=1 << 20)
graph = GENERATORS["random"](vertices=1000, arcs={ARCS}, weight_low=0, weight_high=9, seed=1)
"""


def write_dimacs(path, n, m):
    random = np.random.default_rng(1)
    columns = [
        pa.array(["a"] * m),
        *map(pa.array, random.integers(1, n + 1, (2, m))),
        pa.array(random.integers(0, 9, m)),
    ]
    with path.open("wb") as file:
        file.write(f"p sp {n} {m}\n".encode())
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
        pyarrow.csv.write_csv(pa.table(columns, names=list("auvw")), file, options)


# Bytes an arc at the worst moment, what is returned included: 8 for a graph.
PEAKS = {
    # 12 as read and 8 as sorted.
    "read_graph_file": ("read_graph_file(path, 'dimacs')", 20),
    "write_graph": ("write_graph(graph, folder / 'graph')", 0),
    "read_graph": ("read_graph(folder / 'graph')", 8),
    "drop_loops": ("arcs.drop_loops(graph)", 12),
    # Twice the arcs: 24 in, 16 sorted, and which are loops.
    "symmetrise": ("arcs.symmetrise(graph)", 45),
    # Sorted twice, and a mark; nearly all arcs are parallel here.
    "merge_parallel": ("arcs.merge_parallel(graph)", 17),
    "draw_weights": ("arcs.draw_weights(graph, 1, 9, 1)", 9),
    "largest_component": ("arcs.largest_component(graph, 'strong')", 14),
    "relabel": ("arcs.relabel(graph, 'bfs')", 20),
}


def test_no_index_and_no_float64_of_all_arcs_is_made_on_the_way(tmp_path):
    write_dimacs(tmp_path / "large.gr", 1000, ARCS)
    setup = SETUP + f"folder, path = Path({str(tmp_path)!r}), Path({str(tmp_path / 'large.gr')!r})"
    found = peaks(setup, {name: call for name, (call, _) in PEAKS.items()})
    # Blocks of a million arcs, and what the libraries hold meanwhile.
    assert {name: size / ARCS for name, size in found.items() if size > PEAKS[name][1] * ARCS + (12 << 20)} == {}
