"""Blocks of an answer: they come in any order, and their memory may be used again."""

import numpy as np
import pytest

from saitan.blocks import Block, Rows, chosen, joined

WHOLE = np.arange(24, dtype=np.int32).reshape(8, 3)


def handed_out(sink, sizes, order):
    """WHOLE in blocks of so many rows, in that order, all from the same memory."""
    memory, firsts = np.empty_like(WHOLE), np.cumsum([0, *sizes])
    for k in order:
        array = memory[: sizes[k]]
        array[:] = WHOLE[firsts[k] : firsts[k + 1]]
        sink(Block("x", int(firsts[k]), array))
        sink(Block("y", int(firsts[k]), array[:, 0]))
    memory.fill(77)


BLOCKS = pytest.mark.parametrize(
    ("sizes", "order"), [((8,), (0,)), ((3, 1, 4), (2, 0, 1)), ([1] * 8, (*range(7, -1, -1),))]
)


@BLOCKS
@pytest.mark.parametrize("rows", [None, [0], [7], [2, 3], [3, 4, 7], [0, 2, 4, 6]])
def test_chosen_rows_are_kept_whatever_the_blocks_are(sizes, order, rows):
    kept = Rows(None if rows is None else np.array(rows))
    handed_out(kept, sizes, order)
    right = WHOLE if rows is None else WHOLE[rows]
    answer = kept.answer()
    assert answer["x"].tolist() == right.tolist() and answer["y"].tolist() == right[:, 0].tolist()
    again = joined(chosen("x", WHOLE, None if rows is None else np.array(rows)))
    assert again["x"].tolist() == right.tolist()


@BLOCKS
def test_joined_blocks_are_copies_in_the_order_of_their_rows(sizes, order):
    blocks = []
    handed_out(lambda block: blocks.append(block._replace(array=block.array.copy())), sizes, order)

    def reused():
        for block in blocks:
            yield block
            block.array.fill(77)

    assert joined(reused())["x"].tolist() == WHOLE.tolist()
