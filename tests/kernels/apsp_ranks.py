"""Run under a launcher by test_apsp_ranks.py: all pairs by slabs that several ranks share, against SciPy.

mpirun -n 2 python apsp_ranks.py 2 cpu
"""

import sys
import traceback

import numpy as np
from scipy.sparse.csgraph import dijkstra

from saitan import apsp, ranks
from saitan.blocks import Digest, Rows, both
from saitan.generators import GENERATORS
from saitan.problem import Invalid, Unavailable
from saitan.sssp import unreachable


def answered(graph, variant, wanted, joined):
    instance = apsp.instance({"graph": graph}, answer="slabs")
    solver = apsp.prepare(instance, variant, sys.argv[2])
    [query] = apsp.queries(instance, 1, 1)
    digests = []
    for _ in range(2):
        check, digest, rows = solver.checker(query), Digest(), Rows()
        solver.run(query, both(check, digest, rows))
        assert check.finish().whole
        digests.append(Digest.of(joined.each(digest)))
    assert digests[0] == digests[1] and digests[0].entries["distances"] == graph.n**2
    assert np.array_equal(Rows.of(joined.each(rows)).answer()["distances"], wanted)
    if joined.size > 1:
        solver.done = frozenset([0])
        check = solver.checker(query)
        solver.run(query, both(check, rest := Rows()))
        check.finish()
        assert np.array_equal(Rows.of(joined.each(rest)).answer()["distances"], wanted[solver.rows :])
    # A slab that nobody hands on is missed by all.
    solver.done = frozenset()
    check = solver.checker(query)
    solver.run(query, lambda block: check(block) if block.first else None)
    try:
        check.finish()
    except Invalid:
        pass
    else:
        raise AssertionError("a missing slab passed")
    solver.close()


def main():
    joined = ranks.join(int(sys.argv[1]))
    try:
        taken = list(joined.tickets(50))
        assert sorted(ticket for own in joined.each(taken) for ticket in own) == list(range(50))
        graph = GENERATORS["random"](vertices=203, arcs=600, weight_low=1, weight_high=99, seed=2)
        found = dijkstra(graph.to_scipy())
        wanted = np.where(np.isinf(found), unreachable(np.dtype(np.uint32)), found).astype(np.uint32)
        for variant in ("fast", "batched"):
            answered(graph, variant, wanted, joined)
        instance = apsp.instance({"graph": graph}, answer="reductions")
        solver = apsp.prepare(instance, "fast", sys.argv[2])
        [query] = apsp.queries(instance, 1, 1)
        solver.run(query)
        solver.validate()
        reference = apsp.reference(instance, query)
        assert apsp.differs(reference, {k: v[reference.rows] for k, v in solver.answer().items()}) is None
        if joined.size > 1:
            try:
                apsp.instance({"graph": graph})
            except Unavailable as error:
                assert "answer by slabs or reductions" in str(error)
            else:
                raise AssertionError("a whole matrix passed")
    except BaseException:
        traceback.print_exc()
        joined.abort()
        raise
    print("right")


if __name__ == "__main__":
    main()
