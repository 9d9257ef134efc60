"""Numbers as people write them: "12.35 ms", "1.43 M vertices", "3.2 × 10⁻⁷", "n = 16,384"."""

from __future__ import annotations

import math
import re
from numbers import Integral, Real
from typing import Any

import numpy as np

from saitan.workflow.quantities import is_rate, is_scaled

_TIMES = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")]
_BYTES = [(float(1 << 30), "GiB"), (float(1 << 20), "MiB"), (1024.0, "KiB"), (1.0, "B")]
_PREFIXES = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")]
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
NONE = "–"


def steps_of(unit: str, *, decimal: bool = False) -> list[tuple[float, str]]:
    """Factors and the units that they make of a unit, the largest first: seconds as ms, bytes as MiB, rates as G...

    decimal: bytes as MB, for an axis, whose ticks are round in powers of ten
    """
    if unit == "s":
        return _TIMES
    if unit in ("B", "bytes"):
        if not decimal:
            return _BYTES
        unit = "B"
    if unit == "B" or (is_rate(unit) and not is_scaled(unit)):
        return [(factor, prefix + unit) for factor, prefix in _PREFIXES]
    if unit == "vertices":
        return [(factor, f"{prefix} {unit}".strip()) for factor, prefix in _PREFIXES]
    return [(1.0, "µs" if unit == "us" else unit)]


def scale_of(value: float, unit: str) -> tuple[float, str]:
    """A factor and the unit that make a number near `value` readable."""
    size, steps = abs(value), steps_of(unit)
    if not math.isfinite(size) or size == 0:
        return 1.0, "B" if unit == "bytes" else "µs" if unit == "us" else unit
    return next(((factor, name) for factor, name in steps if size >= factor), steps[-1])


def digits(value: float | None, significant: int = 4) -> str:
    """Significant digits; whole numbers in full, with commas; an en dash for what is missing."""
    if value is None or math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    # Scaling by a unit leaves a last bit or two behind.
    value = float(f"{value:.12g}")
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) < 1e-4 or abs(value) >= 1e15:
        mantissa, _, power = f"{value:.2e}".partition("e")
        return f"{mantissa} × 10{str(int(power)).translate(_RAISED)}"
    # Rounded first: 9.99996 has as many decimals as 10.
    value = float(f"{value:.{significant}g}") if abs(value) < 10**significant else value
    decimals = max(0, significant - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def readable(value: float | None, unit: str, significant: int = 4) -> str:
    """A number with its unit: "12.35 ms"."""
    if value is None or math.isnan(value):
        return NONE
    factor, name = scale_of(value, unit)
    return f"{digits(value / factor, significant)} {name}".rstrip()


def as_text(value: Any) -> str:
    """A key or parameter as a table shows it; an en dash for what is missing."""
    if value is None:
        return NONE
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if not isinstance(value, Real):
        return str(value)
    if isinstance(value, Integral) or (abs(value) < 1e15 and value == int(value)):
        return f"{int(value):,}"
    if math.isnan(value):
        return NONE
    # Two values of a sweep are two texts.
    short = f"{value:g}"
    return short if float(short) == value else str(float(value))


def typeset(text: str) -> str:
    """A title in one line, with units as print has them: 10^12 as 10¹², (us) as (µs).

    Vega-Lite puts titles into expressions in which a backslash would begin an escape: another character of its form.
    """
    text = " ".join(text.split()).replace("\\", "\N{REVERSE SOLIDUS OPERATOR}")
    text = re.sub(r"\b10\^(-?\d+)", lambda match: f"10{match[1].translate(_RAISED)}", text)
    return text.replace("(us)", "(µs)")
