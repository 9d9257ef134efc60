"""What is compressed: arrays given, and state vectors of quantum circuits by closed forms, filled in by Numba
(cpu_data.py) and on a device (data.cu).

A state vector of q qubits has 2^q complex amplitudes, laid out as NumPy's complex128 and Qiskit have them: real and
imaginary part alternate. N = 2^q, j numbers the amplitudes:

    qft               exp(2 pi i s j / N) / sqrt(N): the Fourier transform of basis state s, by default odd, random
    phase-estimation  exp(i pi (f - d)) sin(pi f) / (N sin(pi d)) with d = (a - j + f) / N, of the phase (a + f) / N
                      whose a and f are random
    ghz               1 / sqrt(2) at the first and the last, 0 elsewhere
    random            normal components of variance 1 / 2N: the direction is uniform, the norm 1 up to 1 / sqrt(N)
    normal            standard normal numbers (no state)
    bits              uniformly random 64-bit patterns, NaNs among them (no state)

Random numbers come from splitmix64 of (seed, index), so that every value can be made by itself. The backends round
sines and logarithms differently in the last place: their arrays agree within a few units of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from saitan.compression.format import TYPES as _TYPES
from saitan.compression.format import chunk_row
from saitan.memory import check_room

KINDS = ("qft", "phase-estimation", "ghz", "random", "normal", "bits")
STATES = frozenset({"qft", "phase-estimation", "ghz", "random"})
TYPES = tuple(dtype.name for dtype in _TYPES)
_COMPLEX = ("complex64", "complex128")


@dataclass(frozen=True)
class Drawn:
    """What the seed decides about generated data, and all that a kernel needs to fill it in.

    kind        index in KINDS
    qubits, key 2^(qubits + 1) doubles; key of the random numbers
    whole       qft: the basis state; phase-estimation: a
    fraction    phase-estimation: f
    """

    kind: int
    qubits: int
    key: int
    whole: int
    fraction: float


@dataclass(eq=False)
class Instance:
    """The array of an experiment, flat.

    name        of its kind
    count       values (a complex number is two)
    dtype       of a value
    components  2 where real and imaginary parts alternate, otherwise 1
    drawn       how it is generated; None where the array is given
    row         values of a row of a given array, 0 where a chunk holds no two of them
    """

    name: str
    count: int
    dtype: np.dtype
    components: int
    drawn: Drawn | None = None
    row: int = 0
    _host: np.ndarray | None = field(default=None, repr=False)

    @property
    def nbytes(self) -> int:
        return self.count * self.dtype.itemsize

    def host(self) -> np.ndarray:
        """The array, [count]; a generated one cannot be written to. Raises Unavailable for want of memory."""
        if self._host is None:
            check_room(self.nbytes, f"an array of {self.count:,} values")
            self._host = np.empty(self.count, np.float64)
            from saitan.compression.cpu_data import fill

            fill(self._host, self.drawn)
            # Answers are checked by it.
            self._host.flags.writeable = False
        return self._host


def check_type(dtype: np.dtype) -> None:
    """Raise ValueError unless arrays of this type, in this byte order, can be compressed."""
    if dtype.name not in (*TYPES, *_COMPLEX):
        raise ValueError(f"an array of {dtype} cannot be compressed (these can: complex, {', '.join(TYPES)})")
    if not dtype.isnative:
        native = dtype.newbyteorder("=").str
        raise ValueError(f"an array of {dtype.str} is big-endian: array.astype({native!r}) can be compressed")


def make(
    values: np.ndarray | None,
    *,
    data: str = "qft",
    qubits: int = 16,
    seed: int = 1,
    basis: int | None = None,
    copies: int = 1,
    doubles: bool = False,
) -> Instance:
    """The instance of an experiment; `saitan.compression.INSTANCE` lists the parameters.

    Where values are given, copies and doubles are what is done with them, and the others mean nothing.
    Raises ValueError for a type that `check_type` refuses, Unavailable where memory has no room for a copy that is to
    be made; complex numbers are two floats each.
    """
    if values is not None:
        check_type(values.dtype)
        widened = doubles and values.dtype in (np.float32, np.complex64)
        if widened or copies > 1 or not values.flags.c_contiguous:
            check_room(values.nbytes * copies * (1 + widened), f"{copies:,} x an array of {values.size:,} values")
        if widened:
            values = values.astype(np.float64 if values.dtype == np.float32 else np.complex128)
        if copies > 1:
            values = np.atleast_1d(values)
            values = np.tile(values, (copies, *[1] * (values.ndim - 1)))
        components = 2 if values.dtype.kind == "c" else 1
        flat = np.ascontiguousarray(values).reshape(-1)
        if components == 2:
            flat = flat.view(f"f{flat.itemsize // 2}")
        row = chunk_row((*values.shape[:-1], values.shape[-1] * components) if values.ndim else ())
        return Instance("array", flat.size, flat.dtype, components, row=row, _host=flat)
    n = 2**qubits
    rng = np.random.default_rng(seed)
    key = int(rng.integers(2**63))
    whole = int(rng.integers(n))
    if data == "qft":
        whole = whole | 1 if basis is None else basis
    # Away from 0 and 1, where the amplitudes would be one and nothing.
    fraction = float(rng.uniform(0.1, 0.9))
    drawn = Drawn(KINDS.index(data), qubits, key, whole, fraction)
    return Instance(data, 2 * n, np.dtype(np.float64), 2 if data in STATES else 1, drawn)
