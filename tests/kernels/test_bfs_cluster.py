"""Paper H's cluster variant on several ranks: see cluster_ranks.py, which they run; partition and messages here."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from bfs_cases import directed
from mpi import needs_ranks, on_ranks

from saitan import bfs
from saitan.arc_parts import GraphArcs, KroneckerArcs
from saitan.bfs import cluster_code, cluster_step
from saitan.bfs.cluster_step import CHUNK
from saitan.bfs.cluster_validate import _check_arcs
from saitan.bfs.partition import PROCESSES, Partition
from saitan.cuda import nccl
from saitan.generators import GENERATORS
from saitan.problem import Unavailable
from saitan.workflow.graphs import parquet

SCRIPT = Path(__file__).with_name("cluster_ranks.py")


@needs_ranks
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("number", "graphs", "parameters"),
    [(1, 8, {}), (2, 8, {}), (8, 2, {}), (2, 3, {"compress": True})],
)
def test_ranks_equal_one_process(number, graphs, parameters):
    on_ranks(number, SCRIPT, str(graphs), "cpu", json.dumps(parameters), "cluster")


def test_a_row_that_there_is_not_is_named():
    graph = GENERATORS["grid"](width=9, height=8, weight_low=1, weight_high=9, seed=1)
    solver = bfs.prepare(graph, "cluster", "cpu")
    solver.run(0)
    assert [(block.name, block.first) for block in solver.blocks(np.array([3, 71]))] == [
        *(("levels", row) for row in (3, 71)),
        *(("parents", row) for row in (3, 71)),
    ]
    with pytest.raises(ValueError, match=r"^levels has 72 rows: there is none of number 72$"):
        list(solver.blocks(np.array([3, 72])))
    solver.close()


def test_what_a_device_found_joins_what_the_cores_did():
    draw = np.random.default_rng(4)
    for words in (1, 3, CHUNK, 2 * CHUNK + 5):
        mine, theirs = draw.random((2, 32 * words)) < 0.3
        parents, others = draw.integers(0, 1000, 32 * words).astype(np.int32), draw.integers(1000, 2000, theirs.sum())
        wanted = parents.copy()
        wanted[theirs & ~mine] = others[~mine[theirs]]
        packed = [np.packbits(bits, bitorder="little").view(np.uint32) for bits in (mine, theirs)]
        ends = np.cumsum([0] + [theirs[low : low + 32 * CHUNK].sum() for low in range(0, 32 * words, 32 * CHUNK)])
        cluster_step.join(*packed, ends.astype(np.uint32), others.astype(np.int32), parents)
        assert np.array_equal(parents, wanted)
        assert np.array_equal(packed[0], np.packbits(mine | theirs, bitorder="little").view(np.uint32))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_check_all_arcs_between_them(threads):
    """Whichever head is on no level, an arc to it is found, the first one; and every head hangs from its parent."""
    graph = directed(9, [(0, 3), (1, 4), (1, 5), (1, 6), (4, 7), (8, 2)])
    tails = np.array([0, 0, 5, 1, 1, 1, 1, 2, 0], np.int32)
    parents = np.array([9, 9, 8, 0, 1, 1, 1, 4, 9], np.int32)
    right = [0, 0, 1, 1, 1, 1, 1, 2, 0]

    def checked(wrong):
        heads, hangs = np.array(right, np.int32), np.zeros(9, np.uint8)
        heads[wrong] = -1
        found = _check_arcs(graph.offsets, graph.targets, tails, heads, parents, 0, hangs, threads)
        return (*found, hangs.tolist())

    assert checked([]) == (-1, -1, [0, 0, 1, 1, 1, 1, 1, 1, 0])
    assert checked([2, 4, 5])[:2] == (1, 4)
    for head, tail in {3: 0, 4: 1, 5: 1, 6: 1, 7: 4, 2: 8}.items():
        assert checked([head])[:2] == (tail, head)


@needs_ranks
def test_memory_holds_the_blocks_and_the_parts():
    graph = GENERATORS["kronecker"](scale=6, seed=3)
    solver = bfs.prepare(graph, "cluster", "cpu")
    # Rows of the symmetric block once; per vertex level, parent, degree, ends, parents as they are found, sent and
    # received, a bit in four bitmaps.
    assert solver.memory == 8 * 65 + 4 * graph.m + 64 * (4 + 4 + 8 + 8 + 3 * 4) + 4 * 64 // 8


@pytest.mark.parametrize("share", [0, 1e-4, 0.01, 0.2, 1])
def test_a_coded_bitmap_is_the_bitmap(share):
    draw = np.random.default_rng(3)
    for size in (1, 7, 1000):
        bits = draw.random(32 * size) < share
        words = np.packbits(bits, bitorder="little").view(np.uint32)
        coded, again = cluster_code.code(words), draw.integers(0, 2**32, size, np.uint32)
        cluster_code.decode(coded, again)
        assert np.array_equal(again, words)
        assert len(coded) <= 4 * size + 1
        gaps = np.diff(np.flatnonzero(bits), prepend=-1)
        assert len(coded) == 1 + min(4 * size, sum(-(-int(gap).bit_length() // 7) for gap in gaps))


def test_gpus_exchange_is_not_for_the_cpu():
    graph = GENERATORS["kronecker"](scale=5, seed=3)
    with pytest.raises(Unavailable, match=r"^exchange=peer is between GPUs; on the CPU there is host$"):
        bfs.prepare(graph, "cluster", "cpu", exchange="peer")


def test_what_nccl_lacks_is_one_line(monkeypatch):
    together = SimpleNamespace(size=2, together_do=lambda do: do(), each=lambda value: [value, value])
    monkeypatch.setitem(sys.modules, "nccl.bindings", None)
    with pytest.raises(Unavailable, match=r"^NCCL cannot be used \(pip install -e '\.\[nccl\]'\): .+$"):
        nccl.require(together)
    monkeypatch.setattr(nccl, "_load", lambda: None)
    monkeypatch.setattr(nccl, "device", lambda: SimpleNamespace(pci_bus_id=lambda: "0000:01:00.0"))
    with pytest.raises(Unavailable, match=r"^NCCL needs a GPU for every rank, and ranks share one here$"):
        nccl.require(together)
    together.each = lambda value: [value, (*value[:1], "0000:02:00.0")]
    nccl.require(together)


@pytest.mark.parametrize("processes", PROCESSES[:5])
@pytest.mark.parametrize("n", [1, 31, 1000, 4096])
def test_the_partition_covers_the_matrix(n, processes):
    made = Partition(n, processes)
    parts = range(made.parts)
    held = sorted(block for process in range(processes) for block in made.blocks(process))
    assert held == [(row, column) for row in parts for column in parts]
    assert made.part * made.parts >= n and made.slice % 32 == 0
    for process in range(processes):
        blocks = made.blocks(process)
        assert {(column, row) for row, column in blocks} == set(blocks) or all(row == column for row, column in blocks)
        assert [row for row, _ in blocks] == sorted(row for row, _ in blocks)
    for part in parts:
        # Those who hold a block of a row hold one of the column of the same number.
        assert made.members(part) == sorted(made.holder(row, part) for row in parts)
        assert len(set(made.members(part))) == made.parts and part in made.pair(made.members(part)[0])
        first = sum(made.blocks(process)[made.begins(process)][0] == part for process in made.members(part))
        assert first == max(1, made.parts // 2)


@pytest.mark.parametrize("processes", [3, 4, 16])
def test_a_number_of_processes_that_does_not_fit_is_one_line(processes):
    with pytest.raises(ValueError, match=f"pairs of transposed blocks are for 1, 2, 8, 32, .* not {processes}$"):
        Partition(100, processes)
    assert bfs.VARIANTS["cluster"].unranked(processes).endswith(f", not {processes}")
    assert bfs.VARIANTS["cluster"].ranks == PROCESSES


def joined(source, parts):
    """All arcs, sorted."""
    found = [arcs for part in range(parts) for arcs in source.arcs(part, parts)]
    tails, heads = (np.concatenate([arcs[end] for arcs in found]) for end in (0, 1))
    assert tails.dtype == heads.dtype == np.int32
    order = np.lexsort((heads, tails))
    return tails[order].tolist(), heads[order].tolist()


@pytest.mark.parametrize("parts", [1, 3, 8])
def test_parts_are_the_whole_graph(tmp_path, monkeypatch, parts):
    graph = GENERATORS["kronecker"](scale=7, seed=3)
    order = np.lexsort((graph.targets, graph.sources))
    wanted = graph.sources[order].tolist(), graph.targets[order].tolist()
    monkeypatch.setattr("saitan.arc_parts.BATCH", 100)
    monkeypatch.setattr(parquet, "BATCH", 100)
    monkeypatch.setattr(parquet, "_ROWS", 700)
    parquet.write_graph(graph, tmp_path / "g")
    for source in (GraphArcs(graph), KroneckerArcs(7, 3), parquet.FileArcs(tmp_path / "g")):
        assert (source.n, source.m, source.directed) == (graph.n, graph.m, False)
        assert joined(source, parts) == wanted
        assert all(len(tails) <= 100 for part in range(parts) for tails, _ in source.arcs(part, parts))


@needs_ranks
def test_a_graph_in_parts_is_for_variants_that_take_parts():
    parts = KroneckerArcs(6, 3)
    whole = GENERATORS["kronecker"](scale=6, seed=3)
    assert bfs.prepare(parts, "cluster", "cpu").memory == bfs.prepare(whole, "cluster", "cpu").memory
    with pytest.raises(ValueError, match="not KroneckerArcs: make one by"):
        bfs.prepare(parts, "fast", "cpu")


def test_a_file_of_another_graph_is_one_line(tmp_path):
    for name, scale in (("g", 5), ("h", 6)):
        parquet.write_graph(GENERATORS["kronecker"](scale=scale, seed=3), tmp_path / name)
    (tmp_path / "h/edges.parquet").replace(tmp_path / "g/edges.parquet")
    with pytest.raises(parquet.Failure, match="are of different graphs"):
        list(parquet.FileArcs(tmp_path / "g").arcs(0, 2))
