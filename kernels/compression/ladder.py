"""The stream of the paper's ladder, which the CPU and CUDA write alike, byte for byte (little-endian).

    head      MAGIC, then int64: code (0 fpc, 1 against the first element), keep_bits, components, count
    offsets   int64 [chunks + 1]: where each chunk begins in the payload, and its end
    payload   the chunks, one of every CHUNK doubles, each of whole 64-bit words

Doubles are shortened first: rounded to the nearest with `keep_bits` mantissa bits (ties to even), the low bits
shifted out. Where these are all zero, nothing is lost (zeros, infinities). A chunk in which a value cannot be shortened
within the bound 2^-(keep_bits + 1) (a NaN's payload, a denormal, what rounds to infinity) is stored raw, as is a chunk
that coding does not make smaller. A raw chunk is one as long as its doubles.

A coded chunk:

    references  code 1 only: the first shortened value, with two components the first two
    codes       4 bits a value, the first in the low bits of a byte, filled up to a whole word
    residuals   the low bytes of each value's residual, as many as its code says, without gaps; zeros up to a whole word

Code 1: the residual is the value XOR the reference of its component, the code the number of its significant bytes.
Code 0 (after Burtscher and Ratanaworabhan, FPC, IEEE Trans. Comput. 58(1), 2009): two predictors, FCM and DFCM, each
with a hash table that begins as zeros in every chunk; the residual is the value XOR the better prediction (FCM where
equal). The code's high bit names the predictor (1: DFCM), the low three the number of bytes; values shortened by more
than 8 bits have at most seven. Others have up to eight: four are stored as five; 5, 6, 7, 8 have the codes 4 to 7.
"""

from __future__ import annotations

import numpy as np

from saitan.compression.data import Instance
from saitan.problem import Unavailable

MAGIC = b"saitanL1"
CHUNK = 1024
# Words of the longest chunk while it is coded: references, codes, residuals.
LONGEST = 2 + CHUNK // 16 + CHUNK
# Entries of each predictor's table in FPC; with 32 those of 64 threads fit 32 KB of shared memory.
ENTRIES = 32


def chunks(count: int) -> int:
    return -(-count // CHUNK)


def stream(
    code: int, keep_bits: int, components: int, count: int, offsets: np.ndarray, payload: np.ndarray
) -> np.ndarray:
    """The parts joined, uint8 [bytes]."""
    head = np.array([code, keep_bits, components, count], np.int64)
    parts = (np.frombuffer(MAGIC, np.uint8), head, offsets, payload)
    return np.concatenate([part.view(np.uint8) for part in parts])


def stream_bytes(count: int, payload: int) -> int:
    """Length of a stream whose payload has so many bytes."""
    return len(MAGIC) + 8 * (4 + chunks(count) + 1) + payload


def doubles_only(instance: Instance, variant: str) -> None:
    """Raises Unavailable for an array of anything else."""
    if instance.dtype != np.float64:
        raise Unavailable(f"{variant} compresses float64 only, not {instance.dtype}")
