"""Are the decompressed values within their bound? All of them, on either backend (errors.py, errors.cu)."""

from __future__ import annotations

from saitan.compression.errors import Errors
from saitan.problem import Checked, Invalid


def judge(errors: Errors, kept: int, bound: float, mantissa: int, count: int, lossless: bool = False) -> Checked:
    """What was checked. kept, bound: as in `cpu_errors.compare`; mantissa: the type's bits (0 for integers).

    lossless: whether all values must be equal to the bit. Raises Invalid naming the place of the first wrong value.
    """
    exact = not bound and (kept == mantissa or mantissa == 0)
    limit = f"{bound:g}" if bound else f"2^-{kept + 1} of the value"
    off = f"off by more than {limit}, or are " if bound or kept >= 0 else ""
    if errors.wrong:
        how = "differ" if exact else f"are {off}special values that differ"
        raise Invalid(f"value {errors.first:,}: {errors.wrong:,} of {count:,} values {how}")
    if lossless and not exact:
        within = limit if bound or kept >= 0 else "no bound"
        raise Invalid(f"values are within {within}, and no parameter says so: one with `alike` is right for a loss")
    if bound:
        return Checked(f"every value, absolute error at most {bound:g}")
    if kept < 0:
        return Checked("every value, that it is finite where it was; a fixed rate has no bound")
    return Checked("every value, to the bit" if exact else f"every value, relative error at most 2^-{kept + 1}")
