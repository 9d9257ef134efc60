"""CUDA for every problem: the device, compiled kernels, device arrays, event timing.

Importing this package is cheap and works without PyCUDA; `unusable` says why the GPU cannot be used.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from functools import cache

from saitan import ranks
from saitan.cuda.build import NvccError, build, find_nvcc
from saitan.errors import Unavailable

__all__ = ["NvccError", "arch", "build", "describe", "device", "find_nvcc", "finish", "unusable"]


@cache
def unusable() -> str | None:
    """Why no CUDA device can be used, in one line; None when one can."""
    try:
        import pycuda.driver as driver
    except ModuleNotFoundError:
        return "PyCUDA is not installed (pip install -e '.[cuda]')"
    except ImportError as error:
        return f"PyCUDA cannot be loaded, usually because there is no NVIDIA driver: {error}"
    try:
        driver.init()
        count = driver.Device.count()
    except driver.Error as error:
        return f"the CUDA driver does not start: {error}"
    return None if count else "the CUDA driver sees no device (is CUDA_VISIBLE_DEVICES empty?)"


_current = threading.local()


def device():
    """The pycuda.driver.Device in use, its primary context made current for the calling thread.

    The primary context is shared with CuPy, PyTorch and Numba, so their arrays can be passed in. Ranks of one host
    take a device each, by their local number. Raises Unavailable with the reason when there is no usable device.
    """
    if not hasattr(_current, "device"):
        chosen, context = _primary()
        context.push()
        # PyCUDA aborts the process if a context is still current when its thread or the interpreter ends.
        if threading.current_thread() is threading.main_thread():
            atexit.register(context.pop)
        else:
            _current.pushed = _Pushed(context.pop)
        _current.device = chosen
    return _current.device


def finish() -> str | None:
    """Wait until the device in use has nothing more to do. What failed of it, in one line; None where nothing did."""
    device()
    import pycuda.driver as driver

    try:
        driver.Context.synchronize()
    except driver.Error as error:
        return str(error)
    return None


class _Pushed:
    """Pops a thread's context when the thread ends, which is when its thread-local objects are deleted."""

    def __init__(self, pop: Callable[[], None]) -> None:
        self._pop = pop

    def __del__(self) -> None:
        self._pop()


@cache
def _primary():
    """The device in use and its primary context."""
    chosen = _chosen()
    return chosen, chosen.retain_primary_context()


def _chosen():
    if reason := unusable():
        raise Unavailable(reason)
    import pycuda.driver as driver

    return driver.Device(ranks.current().local % driver.Device.count())


def arch() -> str:
    """Architecture of the device in use, as nvcc names it: "sm_90". Raises Unavailable."""
    return "sm_{}{}".format(*_chosen().compute_capability())


def describe() -> dict[str, str | int]:
    """What identifies the device in a sample row: name, driver, CUDA version, clocks in MHz, memory in bytes."""
    import pycuda.driver as driver

    card = device()
    attribute = driver.device_attribute
    version = driver.get_driver_version()
    return {
        "gpu": card.name(),
        "gpu_memory": card.total_memory(),
        "gpu_multiprocessors": card.get_attribute(attribute.MULTIPROCESSOR_COUNT),
        "gpu_clock_mhz": card.get_attribute(attribute.CLOCK_RATE) // 1000,
        "gpu_memory_clock_mhz": card.get_attribute(attribute.MEMORY_CLOCK_RATE) // 1000,
        "cuda_driver": f"{version // 1000}.{version % 1000 // 10}",
    }
