"""How much memory calls take at their worst moments, measured in a process of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROBE = """
import json
import re
import numpy as np
{setup}
def memory(kind):
    return 1024 * int(re.search(kind + r":\\s+(\\d+) kB", open("/proc/self/status").read())[1])
def peak(call):
    eval(call, globals())  # what is loaded or compiled by the first call is not meant
    open("/proc/self/clear_refs", "w").write("5")  # the peak so far is forgotten
    before = memory("VmRSS")
    kept = eval(call, globals())
    return memory("VmHWM") - before
print(json.dumps({{name: peak(call) for name, call in {calls!r}.items()}}))
"""


def peaks(setup: str, calls: dict[str, str]) -> dict[str, int]:
    """Bytes that each expression takes at most beyond what is held before it; what it returns is part of that."""
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("no /proc/self/clear_refs that forgets the peak of memory")
    # Freed memory goes back to the system at once, or the next call would be seen to take none.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(setup=setup, calls=calls)],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)
