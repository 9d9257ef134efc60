"""Run under a launcher by test_bfs_gpus_gpu.py: `fast` over the GPUs of several ranks against SciPy and the validator.

    mpirun -n 2 python gpus_ranks.py 2 11 auto

on two ranks, with eleven graphs and a way to exchange. Where ranks share a GPU, every barrier waits for the driver to
change between them.
"""

import sys

import numpy as np
from bfs_cases import spoiled, star, undirected
from cluster_ranks import graphs, on_all_ranks, refused_by_all

from saitan import bfs
from saitan.bfs.cuda_gpus import FastGpus
from saitan.generators import GENERATORS


def broad(branches, clique):
    """A star of branches of two arcs, one of which ends in a clique, whose arcs keep the star's levels top-down."""
    leaves = np.arange(1, branches + 1)
    members = np.arange(2 * branches + 1, 2 * branches + 1 + clique)
    tails, heads = np.triu_indices(clique, 1)
    ends = [(np.zeros_like(leaves), leaves), (leaves, leaves + branches), (members[tails], members[heads])]
    joined = np.concatenate([np.column_stack(pair) for pair in ends])
    return undirected(int(members[-1]) + 1, np.vstack([joined, [[2 * branches, members[0]]]]))


def more_graphs():
    # More pieces a GPU than gpus.cu's MANY, top-down.
    yield broad(600, 300)
    yield GENERATORS["kronecker"](scale=13, seed=6)
    yield star(3)
    yield from graphs()


def searches(graph):
    solver = FastGpus(graph, exchange=sys.argv[3])
    for root in bfs.queries(graph, 2, 7):
        run = solver.run(root)
        solver.validate()
        answer = solver.answer()
        assert bfs.differs(bfs.reference(graph, root), answer) is None
        levels = answer["levels"]
        assert run.phases["frontier"].tolist() == np.bincount(levels[levels >= 0]).tolist()
        assert run.counters["levels"] == levels.max() + 1
        rows = np.unique([0, graph.n // 2, graph.n - 1])
        some = list(solver.blocks(rows))
        for name in ("levels", "parents"):
            found = np.concatenate([block.array for block in some if block.name == name])
            assert np.array_equal(found, answer[name][rows]), name
    solver.close()


def wrong_answers():
    graph = undirected(70, np.random.default_rng(1).integers(0, 70, (120, 2)))
    solver, root = FastGpus(graph, exchange=sys.argv[3]), bfs.queries(graph, 1, 1)[0]
    solver.run(root)
    answer = solver.answer()
    for what, *arrays in spoiled(graph, root, answer["levels"], answer["parents"]):
        own = [np.asarray(array, np.int32)[solver.search.ids] for array in arrays]
        solver.search.deliver = lambda own=own: tuple(own)
        refused_by_all(solver, what)
    solver.close()


if __name__ == "__main__":
    on_all_ranks(more_graphs(), searches, wrong_answers)
