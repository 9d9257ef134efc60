"""Atomic operations on NumPy arrays for parallel loops of Numba, which has none of its own on CPUs."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic


def _element(context, builder, array_type, array, index):
    made = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, made, [index], wraparound=False)


def _check(array, *integers) -> None:
    if not (isinstance(array, types.Array) and array.ndim == 1):
        raise TypingError("a one-dimensional array is expected")
    for value in integers:
        if not isinstance(value, types.Integer):
            raise TypingError("an integer is expected")


def _modified(operation, array, index, value, ordering="monotonic"):
    """Signature and code of LLVM's atomicrmw on an integer of an array."""
    _check(array, index, value)

    def generate(context, builder, signature, arguments):
        pointer = _element(context, builder, signature.args[0], *arguments[:2])
        new = context.cast(builder, arguments[2], signature.args[2], array.dtype)
        return builder.atomic_rmw(operation, pointer, new, ordering)

    return array.dtype(array, index, value), generate


@intrinsic
def atomic_min(typing_context, array, index, value):
    """Set array[index] to min(array[index], value); returns what stood there before.

    For unsigned integers and for floats that are non-negative, whose order is that of their bits.
    """
    _check(array, index)
    element = array.dtype

    def generate(context, builder, signature, arguments):
        pointer = _element(context, builder, signature.args[0], *arguments[:2])
        new = context.cast(builder, arguments[2], signature.args[2], element)
        if not isinstance(element, types.Float):
            return builder.atomic_rmw("umin", pointer, new, "monotonic")
        bits = ir.IntType(element.bitwidth)
        old = builder.atomic_rmw(
            "umin", builder.bitcast(pointer, bits.as_pointer()), builder.bitcast(new, bits), "monotonic"
        )
        return builder.bitcast(old, new.type)

    return element(array, index, value), generate


@intrinsic
def atomic_add(typing_context, array, index, value):
    """Add an integer to array[index]; returns what stood there before."""
    return _modified("add", array, index, value)


@intrinsic
def ordered_add(typing_context, array, index, value):
    """atomic_add that is ordered with all memory accesses before and after it, by which threads synchronise."""
    return _modified("add", array, index, value, "seq_cst")


@intrinsic
def ordered_load(typing_context, array, index):
    """array[index], read anew at every call; what another thread wrote before an ordered_add is seen afterwards."""
    _check(array, index)

    def generate(context, builder, signature, arguments):
        pointer = _element(context, builder, signature.args[0], *arguments)
        return builder.load_atomic(pointer, "seq_cst", array.dtype.bitwidth // 8)

    return array.dtype(array, index), generate


@intrinsic
def atomic_exchange(typing_context, array, index, value):
    """Store an integer at array[index]; returns what stood there before."""
    return _modified("xchg", array, index, value)


@intrinsic
def atomic_or(typing_context, array, index, value):
    """Set the bits of an integer in array[index]; returns what stood there before."""
    return _modified("or", array, index, value)
