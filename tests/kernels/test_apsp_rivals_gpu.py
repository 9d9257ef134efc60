"""Which solver `fast` takes for a small graph on the GPU, and that it is right whichever it is; needs a CUDA device."""

from types import SimpleNamespace

import numpy as np
import pytest
from test_apsp import assert_equals_scipy, random_graph

from saitan import apsp
from saitan.graph import Graph
from saitan.problem import Unavailable

pytest.importorskip("pycuda.driver", exc_type=ImportError)
from saitan.apsp import rivals
from saitan.apsp.cuda_dense import FloydWarshallBlocked
from saitan.apsp.cuda_fast import Fast
from saitan.apsp.cuda_sweep import Swept
from saitan.apsp.instances import Instance

pytestmark = pytest.mark.gpu


def path(n, weight, dtype=np.uint32):
    weights = np.full(2 * n - 2, weight, dtype)
    steps = np.arange(n - 1)
    return Graph.from_arcs(n, np.r_[steps, steps + 1], np.r_[steps + 1, steps], weights)


def taken(graph, sources=0):
    """What `fast` is on a graph, whose answer is compared with SciPy's."""
    instance = apsp.instance({"graph": graph}, sources=sources)
    solver = apsp.prepare(instance, "fast", "cuda")
    try:
        solver.matrix.fill(77)
        run = solver.run([0, instance.sources])
        assert solver.validate().whole and set(run.counters) <= set(apsp.METRICS)
        assert_equals_scipy(graph, range(instance.sources), solver.answer()["distances"])
        return next(kind for kind in (Swept, FloydWarshallBlocked, Fast) if isinstance(solver, kind))
    finally:
        solver.close()


def test_long_paths_are_not_searched_from_every_source(card_alone):
    assert taken(path(3000, 5)) in (Swept, FloydWarshallBlocked)
    assert taken(path(3000, 5), 1500) is Swept
    assert taken(path(1500, 5)) is FloydWarshallBlocked
    assert taken(path(3000, 0.5, np.float32)) is FloydWarshallBlocked
    assert taken(path(1500, 5), 100) is Fast


def test_other_graphs_are(card_alone):
    for n in (700, 3000):
        assert taken(random_graph(n, 4 * n, 0, 1000, np.uint32, n)) is Fast


def test_answers_are_right_whatever_is_taken():
    for n in (1, 2, 40, 700):
        taken(random_graph(n, 4 * n, 0, 1000, np.uint32, n))
    for weight, dtype in ((5, np.uint32), (0.5, np.float32)):
        for sources in (0, 100):
            taken(path(1500, weight, dtype), sources)


def test_paths_too_long_for_a_matrix_are_searched_in_64_bits():
    graph = path(700, 2**28)
    assert taken(graph) is Fast
    assert apsp.solve(graph, backend="cuda").dtype == np.uint64


class Takes:
    """A solver of so many seconds a source, of which the first turn takes longer."""

    made = ()

    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, instance, **how):
        Takes.made += ((self, instance.sources),)
        self.turn = 0
        return self

    def run(self, query):
        if self.seconds is None:
            raise Unavailable("not this one")
        self.turn += 1
        return SimpleNamespace(kernel=query[1] * self.seconds * (3 if self.turn == 1 else 1))

    def close(self):
        self.turn = -1


@pytest.mark.parametrize(
    ("search", "swept", "closed", "wanted"),
    [
        (1e-8, 0, 0, None),  # none is tried
        (1e-6, 2e-6, 9e-7, "closed"),
        (1e-6, 2e-6, 2e-6, None),
        (1e-6, 9e-7, 2e-6, "swept"),
        (1e-6, 9e-7, 8e-7, "closed"),
        (1e-6, 8.8e-7, 9e-7, "swept"),
        (1e-6, 8e-7, 1e-9, "swept"),  # closing takes longer in any case, and is not tried
        (1e-6, None, None, None),
        (1e-3, 9e-4, None, "swept"),  # a turn that takes long is not taken again
    ],
)
def test_the_quickest_is_taken(monkeypatch, search, swept, closed, wanted):
    solvers = {"search": Takes(search), "swept": Takes(swept), "closed": Takes(closed)}
    monkeypatch.setattr(rivals, "Swept", solvers["swept"])
    monkeypatch.setattr(rivals, "FloydWarshallBlocked", solvers["closed"])
    monkeypatch.setattr(Takes, "made", ())
    graph = path(5000, 5)
    found = rivals.rival(Instance(graph, 5000), solvers["search"], 5000)
    tried = [made for made, _ in Takes.made]
    assert all(made.turn == -1 for made in tried)
    assert tried[0] is solvers["search"] and Takes.made[0][1] == rivals.SEARCHED
    assert len(tried) == (1 if search == 1e-8 else 2 if closed == 1e-9 else 3)
    if wanted is None:
        assert found is None
    else:
        assert found(Instance(graph, 5000)) is solvers[wanted]


def test_few_searches_are_timed_as_they_are(monkeypatch):
    # A wave of blocks takes as long as one: time that is scaled down from more searches would be too short.
    monkeypatch.setattr(Takes, "made", ())
    rivals.rival(Instance(path(5000, 5), 5000), Takes(1e-9), 256)
    assert [sources for _, sources in Takes.made] == [5000]


def test_dense_graphs_may_be_closed_by_few_arcs(monkeypatch):
    monkeypatch.setattr(rivals, "FewArcs", Takes(1e-7))
    dense, sparse = (random_graph(600, m, 1, 1000, np.uint32, 1) for m in (64 * 600, 63 * 600))
    assert rivals.rival(Instance(dense, 600), Takes(1e-6), 600).__class__ is Takes
    assert rivals.rival(Instance(dense, 600, answer="slabs"), Takes(1e-6), 600) is None
    assert rivals.rival(Instance(sparse, 600), Takes(7e-7), 600) is None
