"""`fast` on the GPU: which of its kernels answers, and the solvers around them."""

from __future__ import annotations

import time

import numpy as np

from saitan.blocks import check_given
from saitan.cuda.timing import Laps
from saitan.graph import Graph
from saitan.problem import Checked, Run, Unavailable
from saitan.sssp.chains import worth_contracting
from saitan.sssp.choice import BROAD, HIERARCHY, RESIDENT, chosen, is_narrow, level_sizes
from saitan.sssp.cuda_broad import Broad
from saitan.sssp.cuda_chains import Contracted
from saitan.sssp.cuda_phast import Phast
from saitan.sssp.cuda_resident import Resident
from saitan.sssp.cuda_solver import CudaSolver
from saitan.sssp.cuda_walks import Walked
from saitan.sssp.simplify import simplified
from saitan.sssp.validate import CERTIFIED
from saitan.sssp.walks import worth_walking


class Fast(CudaSolver):
    """One source at a time: by queues of blocks (fast.cu), by phases of the whole grid (broad.cu), or both in turn.

    The queues search the graph without its chains (chains.py; walks.py for real weights) where that is worth it. What
    is long and narrow then is answered over a hierarchy (phast.cu). Making either is `prepare_s`.
    delta: how far the bound rises, in the weights' unit: a hop of fast.cu, or at a time; adapts where not given.
    Distances widen to 64 bits, for this and all later queries, when a sum does not fit.
    """

    def __init__(self, graph: Graph, *, delta: float | None = None) -> None:
        simple = simplified(graph)
        sizes = level_sizes(simple)
        engine = chosen(simple, sizes)
        self._why = {"engine": engine, "levels": len(sizes), "degree": simple.m / simple.n}
        begin = time.perf_counter()
        is_real = simple.weights.dtype.kind == "f"
        shorter = worth_walking if is_real else worth_contracting
        chains = shorter(simple, len(sizes)) if engine == RESIDENT else None
        searched, levels = (simple, sizes) if chains is None else (chains.core, level_sizes(chains.core))
        narrow = engine == RESIDENT and delta is None and is_narrow(searched, len(levels))
        if narrow and self._over_hierarchy(graph):
            return
        if chains is not None:
            self._why["prepare_s"] = time.perf_counter() - begin
            over_core = Walked if is_real else Contracted
            super().__init__(graph, over_core.forecast(simple, chains), gated=True)
            self.engine = over_core(simple, chains, self.buffers, delta=delta)
            return
        needed = (engine != BROAD) * Resident.forecast(simple) + (engine != RESIDENT) * Broad.forecast(simple)
        super().__init__(graph, needed, gated=True)
        tail = Resident(simple, self.buffers, delta=delta) if engine != BROAD else None
        self.engine = tail if engine == RESIDENT else Broad(simple, self.buffers, delta=delta, tail=tail)

    def _over_hierarchy(self, graph: Graph) -> bool:
        """Answer over a hierarchy from now on; False where the graph has none."""
        try:
            self.engine = Swept(graph)
        except Unavailable:
            return False
        super().__init__(graph, 0, gated=True)
        self.buffers = self.engine.solver.buffers
        self._why["engine"] = HIERARCHY
        return True

    def run(self, source: int) -> Run:
        """Answer one source; `rounds` is among the counters where the persistent kernel ran."""
        begin = time.perf_counter()
        seconds, counters, work = self.engine.run(source, self.laps)
        self.source, self.distances = source, self.engine.distances
        self.deliver()
        total = time.perf_counter() - begin
        return Run(seconds, total, counters | self._why, work=work, disturbed=self.laps.disturbed)

    def count(self, source: int) -> dict[str, np.ndarray]:
        """One entry a round of the persistent kernel; empty where broad.cu or phast.cu answers, which are not traced.

        seconds float64, and int64: hops, updated (vertices relaxed), repeated (changes to a vertex that had been
        relaxed before), listed (entries that wait when the round ends).
        """
        if isinstance(self.engine, Broad | Swept):
            return {}
        rounds = self.engine.trace(source)
        counted = {"updated": "vertices", "listed": "waiting", "hops": "hops", "repeated": "repeated"}
        return {
            "seconds": np.diff(rounds["ns"].astype(np.int64), prepend=0) * 1e-9,
            **{name: rounds[field].astype(np.int64) for name, field in counted.items()},
        }


class Swept:
    """A hierarchy as an engine of Fast. Raises Unavailable where the graph has none."""

    def __init__(self, graph: Graph) -> None:
        self.solver = Phast(graph)

    @property
    def distances(self):
        return self.solver.distances

    def run(self, source: int, laps: Laps) -> tuple[float, dict[str, float], dict[str, float]]:
        """Answer one source; returns seconds, counters, and the work of Run."""
        self.solver.laps = laps
        run = self.solver.run(source)
        return run.kernel, run.counters, run.work


class FastMany(CudaSolver):
    """`sources` concurrent queries in one launch: the given source, and others drawn with it as the seed.

    Times are the launch's divided by the number of queries.
    """

    def __init__(self, graph: Graph, *, sources: int = 64) -> None:
        simple = simplified(graph)
        super().__init__(graph, Resident.forecast(simple, sources))
        self.engine = Resident(simple, self.buffers, count=sources)
        self._all = np.empty(0, np.int64)

    def run(self, source: int) -> Run:
        """Answer the source and the others."""
        begin = time.perf_counter()
        others = np.random.default_rng(source).integers(0, self.graph.n, self.engine.count - 1)
        self._all = np.r_[source, others]
        seconds, records = self.engine.launch(self._all, self.laps)
        self.source, self.distances = source, self.engine.distances
        self.deliver()
        total = time.perf_counter() - begin
        share = 1 / self.engine.count
        return Run(seconds * share, total * share, self.engine.counters(records))

    def validate(self) -> Checked:
        """The certificate of every query. Raises Invalid."""
        for i, source in enumerate(self._all.tolist()):
            distances = self.engine.answers[i, : self.graph.n]
            self.certificate.check(source, distances)
            self.certificate.tree(source, distances)
        check_given(self, CudaSolver, CudaSolver.blocks(self))
        return CERTIFIED
