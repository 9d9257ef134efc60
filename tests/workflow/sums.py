"""A toy problem to be put into a copy of the project: every rank adds its share; rank 1 is what its variant says."""

INIT = '''
"""A toy problem: a sum over ranks."""
import numpy as np
from saitan.problem import Input, Metric, Output, Reference, Unavailable, Variant
from saitan.ranks import current
from saitan.solver import prepared
class Lacks(Variant):
    def load(self, backend, name="the variant"):
        if current().rank == 1:
            raise Unavailable("there is no device")
        return super().load(backend, name)
TITLE = "Sums over ranks"
INPUTS, INSTANCE, TRACES = {}, {}, {}
OUTPUTS = {"sums": Output("[1]")}
METRICS = {"ranks_seen": Metric("ranks that took part")}
HEADLINE = "time"
VARIANTS = {
    name: Variant("a sum", cpu=f"saitan.sums.cpu:{name.title()}", ranks=range(1, 9))
    for name in ("right", "raises", "killed", "wrong", "waits", "unfit", "parted")
}
VARIANTS["alone"] = Variant("one process", cpu="saitan.sums.cpu:Right")
VARIANTS["lacks"] = Lacks("a sum", cpu="saitan.sums.cpu:Right", ranks=range(1, 9))
def instance(inputs):
    return None
def queries(nothing, count, seed):
    return list(range(1, count + 1))
def reference(nothing, query):
    return None
def differs(reference, answer):
    pass

def prepare(nothing, variant, backend, **parameters):
    return prepared(VARIANTS[variant].load(backend), lambda query: query)
'''
CPU = """
import os, signal, time
import numpy as np
from saitan.blocks import Blockwise
from saitan.problem import Block, Checked, Invalid, Run, Unavailable
from saitan.ranks import current

class Right(Blockwise):
    memory, transfer = 8, 0.0
    def __init__(self):
        self.ranks = current()
    def fault(self):
        pass
    def run(self, query):
        if self.ranks.rank == 1:
            self.fault()
        # The last rank is the slowest by what it says.
        parts = self.ranks.each(self.ranks.rank + query)
        self.sums = np.array([sum(parts)])
        seconds = 0.001 * (1 + self.ranks.rank)
        time.sleep(seconds)
        return Run(seconds, seconds, {"ranks_seen": len(parts)})
    def validate(self):
        return Checked("nothing", whole=False)
    def blocks(self, rows=None):
        yield Block("sums", 0, self.sums)
    def close(self):
        pass

class Raises(Right):
    def fault(self):
        raise MemoryError("as asked")
class Killed(Right):
    def fault(self):
        os.kill(os.getpid(), signal.SIGKILL)
class Waits(Right):
    def fault(self):
        while not os.path.exists("go"):
            time.sleep(0.1)
class Unfit(Right):
    def __init__(self):
        time.sleep(current().rank / 2)
        raise Unavailable("not for such sums")
class Parted(Right):
    def fault(self):
        raise Unavailable("one is enough")
class Wrong(Right):
    def validate(self):
        raise Invalid("all are wrong")
"""
EXPERIMENT = {
    "title": "Sums",
    "problem": "sums",
    "queries": 2,
    "quantities": ["time", "ranks_seen"],
    "ranks": [1, 2, 4],
}


def put_into(folder):
    """Write the problem into a copy of the project."""
    place = folder / "kernels/sums"
    place.mkdir()
    (place / "__init__.py").write_text(INIT)
    (place / "cpu.py").write_text(CPU)
