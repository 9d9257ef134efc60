"""By how much two right closures of floats may differ: each variant adds up a path in an order of its own."""

from __future__ import annotations

# Half a unit in the last place of float32: the relative error of a rounded sum is at most this.
UNIT = 2.0**-24


def rounded(additions: float) -> float:
    """The most by which `additions` rounded additions of float32, one after the other, change a sum, as a share of it.

    Terms have one sign, so each addition changes the sum by a factor within 1 +- u, u = UNIT, and r of them by one
    within 1 +- r u / (1 - r u) (Higham, Accuracy and Stability of Numerical Algorithms, Lemma 3.1).
    """
    return additions * UNIT / (1 - additions * UNIT)


def closing_additions(n: int) -> int:
    """The most rounded additions, one after the other, behind an entry of a closure of n vertices, by any variant.

    Blocked Floyd-Warshall takes one for every vertex that a path may go through, and two more for every block of at
    least 64 vertices, of which there are two sizes. Squaring takes one a squaring, SciPy (in float64) one in all.
    """
    return n + 4 * -(-n // 64)
