"""The arrays that an instance holds are the same after a solver ran as before: its answers are checked by them."""

from __future__ import annotations

import zlib
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from saitan.errors import Invalid

# How deep arrays are looked for: those of a graph that an instance has in a mapping lie at the third level.
_LEVELS = 3
# Bytes that a thread reads at a time.
_PART = 32 << 20


@contextmanager
def untouched(instance: Any, variant: str, *wrong: type[Exception]) -> Iterator[Callable[[], None]]:
    """Raises Invalid where a variant wrote into an array of its instance, or put another in its place.

    wrong: errors beside Invalid that call an answer wrong. Gives what looks already before the end.
    Arrays that NumPy lets nobody write are not looked at, nor what an instance holds only later.
    """
    before = {place: (array, _sums(array)) for place, array in _arrays("", instance, _LEVELS) if array.flags.writeable}
    look = partial(_check, before, instance, variant)
    try:
        yield look
    except (Invalid, *wrong):
        # An answer is called wrong also where what it is checked by was written over.
        look()
        raise
    look()


def _check(before: dict[str, tuple[np.ndarray, list[int]]], instance: Any, variant: str) -> None:
    after = dict(_arrays("", instance, _LEVELS))
    for place, (array, sums) in before.items():
        if after.get(place) is not array or _sums(array) != sums:
            where = f"{place} of its instance" if place else "its instance"
            raise Invalid(f"{variant} writes into {where}, by which answers are checked: take a copy")


def _arrays(place: str, held: Any, levels: int) -> Iterator[tuple[str, np.ndarray]]:
    """Host arrays in attributes and containers, each with its place: "graph.weights"."""
    if isinstance(held, np.ndarray):
        yield place, held
    elif levels:
        for name, value in _within(held).items():
            yield from _arrays(f"{place}.{name}" if place else str(name), value, levels - 1)


def _within(held: Any) -> Mapping[Any, Any]:
    """What a container holds, or what an object has in attributes and in slots, by name."""
    if isinstance(held, Mapping):
        return held
    if isinstance(held, list | tuple):
        return dict(enumerate(held))
    # As copying by default takes it, whatever a class says of its own: attributes, or a pair of them and of slots.
    state = object.__getstate__(held)
    return dict(ChainMap(*(part for part in (state if isinstance(state, tuple) else (state,)) if part)))


def _sums(array: np.ndarray) -> list[int]:
    """Checksums of the bytes; of objects, of what they are."""
    if array.dtype.hasobject:
        return [zlib.crc32(repr(array.tolist()).encode(errors="backslashreplace"))]
    # Of the memory as it lies, where it is whole.
    flat = np.ascontiguousarray(array if array.flags.c_contiguous else array.T).reshape(-1).view(np.uint8)
    with ThreadPoolExecutor() as pool:
        return list(pool.map(zlib.crc32, (flat[low : low + _PART] for low in range(0, len(flat), _PART))))
