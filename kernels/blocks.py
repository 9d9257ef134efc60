"""An answer in blocks of rows: how it goes from a solver to what checks, compares, digests or writes it.

A sink is called with one Block after another, in any order (of an answer that is kept: in that of its rows); the
array's memory may be reused when the call returns.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from saitan.errors import Invalid
from saitan.graph_input import shown


class Block(NamedTuple):
    """Some neighbouring rows of one output.

    name   of the output, as in the problem's OUTPUTS
    first  number of the first row
    array  [rows, ...]: a NumPy array, or one on the device (with __cuda_array_interface__)
    """

    name: str
    first: int
    array: Any


Sink = Callable[[Block], None]


def formed(block: Any, types: Mapping[str, tuple[np.dtype, ...]]) -> Block:
    """A block as a solver gives it. Raises Invalid for what is none, before compiled code or a file takes it.

    types: output -> the types that its blocks may have; any where it is not among them.
    """
    if not isinstance(block, Block):
        raise Invalid(f"a block of the answer is {shown(block)}: a Block (name, first, array) is right")
    name, first, array = block
    if not isinstance(name, str):
        raise Invalid(f"a block is of the output {shown(name)}: its name is right")
    if not isinstance(first, Integral) or isinstance(first, bool) or first < 0:
        raise Invalid(f"a block of {name} begins with row {shown(first)}: a whole number of at least 0 is right")
    if type(array) is not np.ndarray and not hasattr(array, "__cuda_array_interface__"):
        raise Invalid(f"a block of {name} is {shown(array)}: a NumPy array is right, or one on the device")
    if not array.ndim or array.dtype.kind not in "biuf":
        raise Invalid(f"a block of {name} is {array.dtype} {array.shape}: rows of numbers are right")
    if array.dtype.itemsize > 8 or not array.dtype.isnative:
        raise Invalid(
            f"a block of {name} is {array.dtype!r}: numbers of 64 bits at most, of this machine's order, are right"
        )
    if line := _mistyped(name, array, types.get(name, ())):
        raise Invalid(line)
    return block


def are_rows(numbers: np.ndarray) -> bool:
    """Whether they are numbers of rows, each once and ascending."""
    whole = numbers.ndim == 1 and (numbers.dtype.kind in "iu" or not len(numbers))
    return whole and bool((np.diff(numbers.astype(np.int64), prepend=-1) > 0).all())


def chosen(name: str, array: np.ndarray, rows: np.ndarray | None) -> Iterator[Block]:
    """Blocks of a host array that holds a whole output: one, or a block of a row for each of the given rows, ascending.

    Raises ValueError for a row that there is not.
    """
    if rows is None:
        yield Block(name, 0, array)
    else:
        check_rows(name, len(array), rows)
        yield from chosen_rows(name, rows, array[rows])


def check_rows(name: str, count: int, rows: np.ndarray) -> None:
    """Raise ValueError where an output of so many rows has not all of the given ones, ascending."""
    if len(rows) and rows[-1] >= count:
        raise ValueError(f"{name} has {count:,} rows: there is none of number {rows[-1]:,}")


def chosen_rows(name: str, rows: np.ndarray, values: np.ndarray) -> Iterator[Block]:
    """Blocks of single rows: values [len(rows), ...] are those with the given numbers."""
    for place, row in enumerate(rows):
        yield Block(name, int(row), values[place : place + 1])


def check_output(name: str, array: Any, shape: tuple[int | None, ...], *dtypes: np.typing.DTypeLike) -> None:
    """Raise Invalid for what `misshapen` tells of an output.

    For compiled checks, which would read past the end of an array that is too short.
    """
    if line := misshapen(name, array, shape, *dtypes):
        raise Invalid(line)


def misshapen(name: str, array: Any, shape: tuple[int | None, ...], *dtypes: np.typing.DTypeLike) -> str | None:
    """One line unless an output is a NumPy array of a shape (None: of any length there) and one of some types, or of
    any where none is given.
    """
    if type(array) is not np.ndarray:
        return f"{name} are {shown(array)}: a NumPy array is right"
    if array.ndim != len(shape) or any(right not in (None, got) for got, right in zip(array.shape, shape, strict=True)):
        right = ", ".join("any" if length is None else str(length) for length in shape)
        return f"{name} have the shape {array.shape}: ({right}{',' * (len(shape) == 1)}) is right"
    return _mistyped(name, array, dtypes)


def _mistyped(name: str, array: Any, dtypes: tuple[np.typing.DTypeLike, ...]) -> str | None:
    if dtypes and array.dtype not in dtypes:
        return f"{name} have the type {array.dtype}: {' or '.join(str(np.dtype(x)) for x in dtypes)} is right"
    return None


class Blockwise:
    """A solver whose `blocks` give its last answer."""

    def answer(self) -> dict[str, np.ndarray]:
        """The last answer as host arrays, by output."""
        return joined(self.blocks())


def check_given(solver: Any, checking: type, checked: Iterable[Block]) -> None:
    """Raise Invalid where a solver gives other blocks of its last answer than those that were checked.

    For `validate` of a class, `checking`, which a class with `blocks` of its own may inherit; the blocks of others are
    not looked at.
    """
    if inspect.unwrap(type(solver).blocks) is checking.blocks:
        return
    right, given = Digest.of_blocks(checked), Digest.of_blocks(solver.blocks())
    for name, total in right.sums.items():
        if (given.sums.get(name), given.entries.get(name)) != (total, right.entries[name]):
            other = "other" if name in given.sums else "no"
            raise Invalid(f"blocks gives {other} {name}: those that validate of {checking.__name__} checked are right")


def joined(blocks: Iterable[Block]) -> dict[str, np.ndarray]:
    """Output name -> the rows of all its blocks, in the order of their numbers, as one NumPy array."""
    parts: dict[str, list[tuple[int, np.ndarray]]] = {}
    for name, first, array in blocks:
        parts.setdefault(name, []).append((first, np.array(on_host(array))))
    ordered = {name: sorted(rows, key=lambda part: part[0]) for name, rows in parts.items()}
    return {
        name: rows[0][1] if len(rows) == 1 else np.concatenate([array for _, array in rows])
        for name, rows in ordered.items()
    }


def on_host(array: Any) -> np.ndarray:
    """A block's array as a NumPy array: itself, or a copy from the device."""
    return array if isinstance(array, np.ndarray) else array.get()


def both(*sinks: Sink) -> Sink:
    """A sink that hands every block to each of several."""

    def take(block: Block) -> None:
        for sink in sinks:
            sink(block)

    return take


class Rows:
    """A sink that copies chosen rows (ascending numbers; None: all) to the host; `answer` gives them by output."""

    def __init__(self, rows: np.ndarray | None = None) -> None:
        self._rows = rows
        self._kept: list[Block] = []

    def __call__(self, block: Block) -> None:
        name, first, array = block
        if self._rows is None:
            self._kept.append(Block(name, first, np.array(on_host(array))))
            return
        low, high = np.searchsorted(self._rows, [first, first + len(array)])
        for row in self._rows[low:high]:
            place = int(row) - first
            self._kept.append(Block(name, int(row), np.array(on_host(array[place : place + 1]))))

    @property
    def names(self) -> list[str]:
        """The outputs that it has rows of."""
        return list(dict.fromkeys(block.name for block in self._kept))

    def answer(self) -> dict[str, np.ndarray]:
        return joined(self._kept)

    def misplaced(self) -> str | None:
        """Which rows blocks of all of them leave out, or have twice, in one line; None where there are none."""
        ends: dict[str, int] = {}
        for name, first, array in sorted(self._kept, key=lambda block: block.first):
            if (end := ends.get(name, 0)) != first:
                rows = f"rows {end:,} to {first - 1:,} are missing" if first > end else f"row {first:,} comes twice"
                return f"blocks of {name}: {rows}"
            ends[name] = first + len(array)
        return None

    @classmethod
    def of(cls, parts: Iterable[Rows]) -> Rows:
        """What several sinks took of one answer."""
        whole = cls()
        whole._kept = [block for part in parts for block in part._kept]
        return whole


class Digest:
    """A sink that adds up a 64-bit hash of every entry with its place; equal answers have equal digests.

    The sum does not depend on the order or the size of the blocks. An entry's hash is the number `place` of splitmix64
    from the seed `bits` on: mix(bits + place * 0x9E3779B97F4A7C15), where `place` is its number in the whole output
    counted row by row, `bits` its bit pattern, zero-extended, and mix the finaliser. Sums wrap at 2^64. Floats that
    compare equal but differ in bits (0 and -0) differ.
    """

    def __init__(self) -> None:
        self.sums: dict[str, int] = {}
        self.entries: dict[str, int] = {}

    def __call__(self, block: Block) -> None:
        name, first, array = block
        width = int(np.prod(array.shape[1:], dtype=np.int64))
        if isinstance(array, np.ndarray):
            from saitan.host_digest import digest

            total = digest(array, first * width)
        else:
            from saitan.cuda.digest import digest

            total = digest(array, first * width)
        self.sums[name] = (self.sums.get(name, 0) + total) % 2**64
        self.entries[name] = self.entries.get(name, 0) + int(array.size)

    @classmethod
    def of_blocks(cls, blocks: Iterable[Block]) -> Digest:
        digest = cls()
        for block in blocks:
            digest(block)
        return digest

    @classmethod
    def of(cls, parts: Iterable[Digest]) -> Digest:
        """The digest of an answer of which several sinks each took a part."""
        whole = cls()
        for part in parts:
            for name, total in part.sums.items():
                whole.sums[name] = (whole.sums.get(name, 0) + total) % 2**64
                whole.entries[name] = whole.entries.get(name, 0) + part.entries[name]
        return whole

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Digest) and (self.sums, self.entries) == (other.sums, other.entries)

    def __str__(self) -> str:
        return ", ".join(f"{name} {total:016x} of {self.entries[name]:,}" for name, total in self.sums.items())
