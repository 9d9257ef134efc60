"""How much memory a call takes at its worst moment, measured in a process of its own."""

import subprocess
import sys

PROBE = """
import resource
import numpy as np
{setup}
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
# The most memory so far must not hide what the call needs: fill up to it.
held = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
ballast = np.ones(max(0, peak() - held) // 8)
before = peak()
kept = {call}
print(peak() - before)
"""


def peak(setup: str, call: str) -> int:
    """Bytes that an expression takes at most beyond what is held before it; what it returns is part of that."""
    script = PROBE.format(setup=setup, call=call)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return int(done.stdout)
