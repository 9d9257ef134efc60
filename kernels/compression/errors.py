"""How far decompressed values are from the array: sums and maxima that a backend counts, and the metrics of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from saitan.errors import Invalid

# A square loses at most 2^-1075 to underflow: a larger sum of up to 2^34 squares has more than 40 bits.
LEAST = 2.0**-1000


@dataclass(frozen=True)
class Errors:
    """Of an array a and what was found of it, d = found - a; values that are not finite count only as wrong or right.

    wrong, first      values out of bounds, and the place of the first (-1: none)
    relative, absolute  largest |d| / |a| over finite a other than 0, largest |d|
    aa, dd            sums of a^2 and d^2
    re, im            of the sum of conj(a) d over complex numbers (im is 0 where there are none)
    """

    wrong: int
    first: int
    relative: float
    absolute: float
    aa: float
    dd: float
    re: float
    im: float

    def metrics(self, components: int) -> dict[str, float]:
        """The error metrics; one whose sums overflow or lose digits is left out, and all where values are wrong.

        Differences are summed rather than results subtracted: an infidelity of 1e-20 keeps its digits.
        """
        if self.wrong:
            return {}
        with np.errstate(all="ignore"):
            dd, re, im = (np.float64(x) / self.aa for x in (self.dd, self.re, self.im))
            found = {"largest_relative_error": self.relative, "largest_absolute_error": self.absolute}
            of_sums = {
                "relative_l2_error": np.sqrt(dd),
                "norm_error": abs(np.expm1(np.log1p(2 * re + dd) / 2)),
                "infidelity": np.maximum(0.0, (dd - re**2 - im**2) / (1 + 2 * re + dd)),
            }
            if components != 2:
                del of_sums["infidelity"]
            if not self.absolute:
                found |= dict.fromkeys(of_sums, 0.0)
            elif min(self.aa, self.dd) > LEAST and math.isfinite(self.aa):
                found |= of_sums
        return {name: float(value) for name, value in found.items() if math.isfinite(value)}


def combine(places: np.ndarray, sums: np.ndarray) -> Errors:
    """Errors of the partial results: places int64 [parts, 2] (wrong, first), sums float64 [parts, 6]."""
    if not len(places):
        return Errors(0, -1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    firsts = places[places[:, 0] > 0, 1]
    first = int(firsts.min()) if len(firsts) else -1
    with np.errstate(all="ignore"):
        total = [float(x) for x in sums[:, 2:].sum(axis=0)]
    return Errors(int(places[:, 0].sum()), first, float(sums[:, 0].max()), float(sums[:, 1].max()), *total)


def counters(
    nbytes: int, stream: int, compress: float, decompress: float, workspace: int, errors: dict[str, float]
) -> dict[str, float]:
    """The METRICS of a round trip: bytes of the array, the stream and the work space, seconds. None of nothing.

    Raises Invalid for a stream without bytes.
    """
    if not nbytes:
        return {}
    if not stream:
        raise Invalid(f"an array of {nbytes:,} bytes has a stream of none")
    return {
        "ratio": nbytes / stream,
        "compress_bytes_s": nbytes / compress,
        "decompress_bytes_s": nbytes / decompress,
        "workspace": workspace / nbytes,
        **errors,
    }
