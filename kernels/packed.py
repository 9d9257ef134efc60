"""Blocks of an answer as streams of the project's compressed format, made where the block lies."""

from __future__ import annotations

from typing import Any

import numpy as np

from saitan.blocks import on_host


def packs(dtype: np.dtype) -> bool:
    """Whether arrays of a type can be packed."""
    from saitan.compression.data import TYPES

    return dtype.name in TYPES


def pack(array: Any) -> np.ndarray:
    """The stream of an array of a type that `packs`, uint8, every value to the bit.

    An array on the device is compressed there, so that only the stream comes to the host.
    """
    from saitan import compression

    return on_host(compression.compress(array))


def unpack(stream: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The array of a stream. Raises StreamError (a ValueError) for one that is damaged."""
    from saitan import compression

    return compression.decompress(stream).reshape(shape)
