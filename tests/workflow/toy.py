"""Two tiny problems, to be put into a copy of the project: what the contract allows, in a few lines.

`toy` sums a graph's weights; its answers are kept. `digits` reads an array, streams its answer in blocks, counts by a
harmonic mean, and has a variant that turns out unavailable and others that are wrong.
"""

TOY = '''
"""A toy problem: the sums of a graph's weights."""
import numpy as np
from saitan.problem import Input, Metric, Parameter, Output, Reference, Variant
from saitan.solver import prepared

TITLE = "Toy sums"
INPUTS = {"graph": Input("graph", "with weights")}
OUTPUTS = {"sums": Output("[n], of every row")}
INSTANCE = {"factor": Parameter(int, 1, "what is multiplied with", least=1)}
METRICS = {"steps": Metric("additions")}
HEADLINE = "time"
VARIANTS = {
    "numpy": Variant("one call", cpu="saitan.toy.cpu:Sum", parameters={"repeat": Parameter(int, 1, "times", least=1)}),
    "wrong": Variant("off by one", cpu="saitan.toy.cpu:Wrong"),
    "killed": Variant("ended by the system", cpu="saitan.toy.cpu:Killed"),
    "slow": Variant("takes its time", cpu="saitan.toy.cpu:Slow"),
    "deaf": Variant("does not hear of signals, as compiled code that goes on", cpu="saitan.toy.cpu:Deaf"),
}

def instance(inputs, *, factor=1):
    graph = inputs["graph"]
    return np.add.reduceat(graph.weights.astype(np.int64) * factor, graph.offsets[:-1])

def queries(sums, count, seed):
    return list(range(count))

def reference(sums, query):
    return Reference("addition", {"sums": sums + query})

def differs(reference, answer):
    wrong = reference.arrays["sums"] != answer["sums"]
    return f"{wrong.sum()} sums differ" if wrong.any() else None

def prepare(sums, variant, backend, **parameters):
    return prepared(VARIANTS[variant].load(backend), lambda query: query, sums, **parameters)
'''

TOY_CPU = """
import os, signal, time
import numpy as np
from saitan.blocks import Blockwise, chosen
from saitan.problem import Checked, Run

class Sum(Blockwise):
    transfer, off = 0.0, 0
    def __init__(self, sums, *, repeat=1):
        self.sums, self.repeat, self.memory = sums, repeat, sums.nbytes
    def run(self, query):
        start = time.perf_counter()
        for _ in range(self.repeat):
            self.result = self.sums + query + self.off
        seconds = time.perf_counter() - start
        return Run(seconds, seconds, {"steps": len(self.sums)})
    def validate(self):
        return Checked("nothing", whole=False)
    def blocks(self, rows=None):
        yield from chosen("sums", self.result, rows)
    def close(self):
        pass

class Wrong(Sum):
    off = 1

class Killed(Sum):
    def run(self, query):
        os.kill(os.getpid(), signal.SIGKILL)

class Slow(Sum):
    def run(self, query):
        time.sleep(0.5)
        return super().run(query)

class Deaf(Sum):
    def run(self, query):
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        open("deaf", "w").close()
        time.sleep(600)
"""

DIGITS = '''
"""A toy problem: every number of an array, and its multiples, as a stream of blocks."""
import numpy as np
from saitan.problem import Input, Metric, Parameter, Output, Reference, Variant
from saitan.solver import prepared

TITLE = "Multiples"
INPUTS = {"values": Input("array", "of numbers")}
OUTPUTS = {"multiples": Output("[n, 3]")}
INSTANCE = {}
METRICS = {"rate": Metric("numbers written", "numbers/s", over="harmonic", better="more")}
HEADLINE = "rate"
VARIANTS = {
    "rows": Variant("two rows at a time", cpu="saitan.digits.cpu:Rows",
                    parameters={"step": Parameter(int, 2, "rows of a block", least=1)}),
    "late": Variant("the last entry of the last block of a timed run is wrong", cpu="saitan.digits.cpu:Late"),
    "wrong": Variant("every run's last entry is wrong", cpu="saitan.digits.cpu:Wrong"),
    "refused": Variant("wrong where only the reference sees it", cpu="saitan.digits.cpu:Refused"),
    "elsewhere": Variant("cannot run here", cpu="saitan.digits.cpu:Elsewhere"),
}

def instance(inputs):
    return np.asarray(inputs["values"])

def queries(values, count, seed):
    return [seed + number for number in range(count)]

def reference(values, query):
    rows = np.array([0, len(values) - 1])
    return Reference("multiplication", {"multiples": values[rows, None] * np.arange(1, 4) + query}, rows)

def differs(reference, answer):
    same = np.array_equal(reference.arrays["multiples"], answer["multiples"])
    return None if same else f"{answer['multiples'].tolist()}"

def prepare(values, variant, backend, **parameters):
    return prepared(VARIANTS[variant].load(backend), lambda query: query, values, **parameters)
'''

DIGITS_CPU = """
import numpy as np
from saitan.problem import Block, Checked, Invalid, Run, Unavailable

class Rows:
    memory, transfer, streamed = 0, 0.0, True
    def __init__(self, values, *, step=2):
        self.values, self.step, self.runs = values, step, 0
    def multiples(self, low, high, query):
        return self.values[low:high, None] * np.arange(1, 4) + query
    def run(self, query, sink):
        self.runs += 1
        for low in range(0, len(self.values), self.step):
            high = min(low + self.step, len(self.values))
            block = self.spoiled(self.multiples(low, high, query), high == len(self.values))
            sink(Block("multiples", low, block))
            block[:] = -1  # the memory is reused
        return Run(1e-7, 1e-7, {"rate": 1.0 if self.runs % 2 else 3.0})
    def spoiled(self, block, last):
        return block
    def checker(self, query):
        return Check(self, query)
    def close(self):
        pass

class Check:
    def __init__(self, solver, query):
        self.solver, self.query, self.rows = solver, query, 0
    def __call__(self, block):
        low, high = block.first, block.first + len(block.array)
        if not np.array_equal(block.array, self.solver.multiples(low, high, self.query)):
            raise Invalid(f"rows {low} to {high - 1} are wrong")
        self.rows += len(block.array)
    def finish(self):
        if self.rows != len(self.solver.values):
            raise Invalid(f"{self.rows} rows")
        return Checked("every row")

class Wrong(Rows):
    def spoiled(self, block, last):
        if last:
            block[-1, -1] += 1
        return block

class Late(Wrong):
    def spoiled(self, block, last):
        return super().spoiled(block, last and self.runs > 1)

class Refused(Rows):
    def multiples(self, low, high, query):
        return super().multiples(low, high, query) + 1

class Elsewhere(Rows):
    def run(self, query, sink):
        raise Unavailable("needs a machine of another kind")
"""


def put_into(folder):
    """Write both problems into a copy of the project."""
    for name, init, cpu in (("toy", TOY, TOY_CPU), ("digits", DIGITS, DIGITS_CPU)):
        place = folder / "kernels" / name
        place.mkdir()
        (place / "__init__.py").write_text(init)
        (place / "cpu.py").write_text(cpu)
