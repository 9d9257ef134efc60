"""What all tests share: GPU tests skip with the reason where no GPU can be used; Hypothesis without deadlines."""

import os
import shutil
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from saitan.cuda import unusable
from saitan.workflow.numba_code import numba_cache, save_one_at_a_time

ROOT = Path(__file__).parents[1]

# A shell that starts the tests in the background ignores SIGINT, and so would what they start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Waiting threads give the core away, sooner than in a measurement, which has all cores.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

# What one test compiled, all others load, also in processes that they start. That of former code goes.
named = os.environ.get("NUMBA_CACHE_DIR")
compiled = numba_cache(Path(named or ROOT / ".pytest_cache/numba"))
if not named:
    for former in {*compiled.parent.glob("*")} - {compiled}:
        shutil.rmtree(former, ignore_errors=True)
os.environ["NUMBA_CACHE_DIR"] = str(compiled)
save_one_at_a_time()

# The first example of a test compiles Numba code, which takes seconds.
settings.register_profile("saitan", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("saitan")
# For mutants (tests/mutants/run.py): the first failure is enough, and it is the same every time.
settings.register_profile(
    "mutants", settings.get_profile("saitan"), derandomize=True, phases=(Phase.explicit, Phase.generate)
)


def pytest_collection_modifyitems(items):
    reason = unusable()
    for item in items:
        if reason and item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def card_alone():
    """For tests of the card's free memory and of times, which the other processes of `pytest -n` change."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        pytest.skip("other test processes use the card: run it without -n")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real inputs: SAITAN_DATA, or ../shared/data beside the repository."""
    folder = Path(os.environ.get("SAITAN_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no folder {folder} with real inputs (set SAITAN_DATA)")
    return folder
