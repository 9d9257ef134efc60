"""Draws shared by the generators: weights, and a counter-based hash."""

from __future__ import annotations

import numpy as np

_BLOCK = 1 << 18
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S1, _S2, _S3 = np.uint64(30), np.uint64(27), np.uint64(31)


def mix(z):
    """The output function of splitmix64: uint64 (scalar in Numba, or array) to uint64, a bijection."""
    z = (z ^ (z >> _S1)) * _M1
    z = (z ^ (z >> _S2)) * _M2
    return z ^ (z >> _S3)


def key(seed: int, stream: int) -> np.uint64:
    """A 64-bit key of a seed; keys of different streams are independent."""
    return np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)[0]


def weights(generator: np.random.Generator, count: int, low: int, high: int) -> np.ndarray:
    """uint32 [count], uniform in low .. high, both included."""
    return generator.integers(low, high, size=count, dtype=np.uint32, endpoint=True)


def optional_weights(
    generator: np.random.Generator, count: int, low: int | None, high: int | None
) -> np.ndarray | None:
    """The same; None when no bounds are given."""
    return None if low is None else weights(generator, count, low, high)


def _nine_decades(generator, count):
    # The logarithm's deviation leaves one in a thousand beyond either end, where it is cut off.
    logarithm = np.clip(generator.normal(4.5, 1.5, count), 0, 9)
    return np.rint(10**logarithm).astype(np.uint32)


# One of ranges.KINDS -> the weights of `count` edges: uint32 but for "float", float32 in [0, 1)
_KINDS = {
    "unit": lambda generator, count: np.ones(count, np.uint32),
    "uniform": lambda generator, count: weights(generator, count, 1, 1000),
    "zero-one": lambda generator, count: weights(generator, count, 0, 1),
    "log-normal": _nine_decades,
    "nearly-equal": lambda generator, count: weights(generator, count, 1_000_000, 1_000_009),
    "float": lambda generator, count: generator.random(count, np.float32),
}


def of_kind(generator: np.random.Generator, count: int, kind: str) -> np.ndarray:
    """Weights of one of ranges.KINDS, uint32 or float32 [count]."""
    return _KINDS[kind](generator, count)


def endpoint_weights(
    sources: np.ndarray, targets: np.ndarray, low: int, high: int, seed: int, *, directed: bool
) -> np.ndarray:
    """uint32 [m], uniform in low .. high, a function of the seed and the two end points alone.

    Undirected: of the unordered pair, so that both arcs of an edge weigh the same. Parallel arcs weigh the same.
    """
    drawn = np.empty(len(sources), np.uint32)
    salt, span = key(seed, 0), np.uint64(high - low + 1)
    for start in range(0, len(sources), _BLOCK):
        block = slice(start, start + _BLOCK)
        u, v = sources[block].astype(np.uint64), targets[block].astype(np.uint64)
        if not directed:
            u, v = np.minimum(u, v), np.maximum(u, v)
        hashed = mix(mix((u << np.uint64(32) | v) + salt) + _GOLDEN)
        drawn[block] = np.uint64(low) + (hashed >> np.uint64(32)) * span // np.uint64(2**32)
    return drawn
