"""Bits of a word, for Numba."""

from __future__ import annotations

from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic


@intrinsic
def lowest_bit(typing_context, word):
    """The number of the lowest bit that is set in an unsigned word that is not 0, of the word's type."""
    if not (isinstance(word, types.Integer) and not word.signed):
        raise TypingError("an unsigned word is expected")

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return word(word), generate
