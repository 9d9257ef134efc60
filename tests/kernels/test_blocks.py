"""Blocks of an answer: they come in any order, and their memory may be used again."""

import re

import numpy as np
import pytest

from saitan.blocks import Block, Blockwise, Rows, are_rows, chosen, joined
from saitan.errors import Misdeclared
from saitan.graph_input import shown
from saitan.problem import Checked, Invalid
from saitan.solver import Run, prepared

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


ONE = np.zeros((1, 2))


def test_a_row_that_there_is_not_is_named():
    with pytest.raises(ValueError, match=r"^x has 8 rows: there is none of number 8$"):
        list(chosen("x", WHOLE, np.array([0, 8])))
    assert are_rows(np.array([0, 7], np.uint64)) and are_rows(np.array([]))


class Gives(Blockwise):
    """A solver that gives a run and blocks which may be none."""

    def __init__(self, run, blocks):
        self._run, self._blocks = run, blocks

    def run(self, query, *sink):
        for take in sink:
            for block in self._blocks:
                take(block)
        return self._run

    def validate(self):
        return Checked("nothing", whole=False)

    def blocks(self, rows=None):
        return self._blocks

    def close(self):
        pass


@pytest.mark.parametrize(
    ("block", "says"),
    [
        (ONE, r"^a block of the answer is .*: a Block \(name, first, array\) is right$"),
        (("x", 0, ONE), r"^a block of the answer is \('x', 0, .*: a Block \(name, first, array\) is right$"),
        (Block(0, 0, ONE), r"^a block is of the output 0: its name is right$"),
        (Block("x", -1, ONE), r"^a block of x begins with row -1: a whole number of at least 0 is right$"),
        (Block("x", 1.0, ONE), r"^a block of x begins with row 1.0: "),
        (Block("x", True, ONE), r"^a block of x begins with row True: "),
        (Block("x", 0, [[1, 2]]), r"^a block of x is \[\[1, 2\]\]: a NumPy array is right, or one on the device$"),
        (Block("x", 0, np.ma.array(ONE)), r"^a block of x is masked_array.*: a NumPy array is right, or "),
        (Block("x", 0, np.float64(1)), r"^a block of x is np.float64\(1.0\): a NumPy array is right, or "),
        (Block("x", 0, np.array(1.0)), r"^a block of x is float64 \(\): rows of numbers are right$"),
        (Block("x", 0, np.array([None])), r"^a block of x is object \(1,\): rows of numbers are right$"),
        (Block("x", 0, np.array(["a"])), r"^a block of x is <U1 \(1,\): rows of numbers are right$"),
        (
            Block("x", 0, ONE.astype(">f8")),
            r"^a block of x is dtype\('>f8'\): numbers of 64 bits at most, of this mach",
        ),
        (Block("x", 0, ONE.astype(np.longdouble)), r"^a block of x is dtype\('float128'\): numbers of 64 bits at most"),
        (Block("x", 0, ONE.astype(complex)), r"^a block of x is complex128 \(1, 2\): rows of numbers are right$"),
    ],
)
def test_what_is_no_block_of_a_solver_is_one_line(block, says):
    solver, taken = prepared(Gives, lambda query: query, Run(1, 1), [block]), []
    with pytest.raises(Invalid, match=says):
        solver.run(0, taken.append)
    solver.run(0)
    for call in (lambda: list(solver.blocks()), solver.answer):
        with pytest.raises(Invalid, match=says):
            call()
    assert taken == []


@pytest.mark.parametrize("run", [None, (one for one in "ab"), (1.0, 1.0)], ids=["none", "generator", "pair"])
def test_a_run_that_is_none_is_one_line(run):
    solver = prepared(Gives, lambda query: query, run, [])
    with pytest.raises(Invalid, match=rf"^run gives {re.escape(shown(run))}: a Run is right$"):
        solver.run(0)
    with pytest.raises(ValueError, match=r"^the last run of this solver failed: there is no answer$"):
        solver.validate()


def test_a_check_that_gives_no_query_is_one_line():
    solver = prepared(Gives, lambda query: None, Run(1, 1), [])
    with pytest.raises(Misdeclared, match=r"^the check of query 8 gives None: the query as `run` takes it is right$"):
        solver.run(8)
    solver.run(None)


def test_a_solver_without_blocks_of_its_answer_is_one_line():
    solver = prepared(Gives, lambda query: query, Run(1, 1), None)
    solver.run(0)
    with pytest.raises(Invalid, match=r"^blocks gives None: an iterator of Blocks is right$"):
        solver.answer()
