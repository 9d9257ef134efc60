"""Damaged files of each kind are refused by name; files without checksums are read."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damaged import damage

from saitan.blocks import Block
from saitan.generators import GENERATORS
from saitan.workflow.answer_writers import AnswerWriter
from saitan.workflow.answers import read_answer
from saitan.workflow.graphs.parquet import read_graph, write_graph
from saitan.workflow.measure import write_samples
from saitan.workflow.parquet_files import described, read_rows
from saitan.workflow.step import Failure
from saitan.workflow.tabulate import _write

SAYS = r"x\.parquet: cannot be read: .*integrity.*; remove it and run again"
NUMBERS = np.arange(2000, dtype=np.uint32)


def answer(path):
    with AnswerWriter(path.parent, ["x"], {}) as sink:
        sink(Block("x", 0, NUMBERS))


WRITERS = pytest.mark.parametrize(
    ("write", "read"),
    [
        (lambda path: write_samples([{"seconds": float(value)} for value in NUMBERS], {}, path), read_rows),
        (lambda path: _write(pd.DataFrame({"a": NUMBERS}), path, {}), read_rows),
        (answer, read_answer),
    ],
    ids=["samples", "table", "answer"],
)


@WRITERS
def test_a_damaged_byte_is_refused(tmp_path, write, read):
    write(tmp_path / "x.parquet")
    read(tmp_path / "x.parquet")
    damage(tmp_path / "x.parquet")
    with pytest.raises(Failure, match=SAYS):
        read(tmp_path / "x.parquet")


@WRITERS
def test_a_folder_whose_name_is_not_utf_8(tmp_path, write, read):
    (folder := tmp_path / os.fsdecode(b"l\xfcx")).mkdir()
    write(folder / "x.parquet")
    assert len(read(folder / "x.parquet")) == len(NUMBERS)
    write_graph(grid := GENERATORS["grid"](width=9, height=8, weight_low=1, weight_high=99, seed=1), folder / "g")
    assert np.array_equal(read_graph(folder / "g").weights, grid.weights)


def test_a_file_without_checksums_is_read(tmp_path):
    pq.write_table(pa.table({"a": NUMBERS}), tmp_path / "x.parquet")
    assert np.array_equal(read_rows(tmp_path / "x.parquet", ["a"])["a"], NUMBERS)


def test_a_file_that_is_not_there_is_not_to_be_removed(tmp_path):
    with pytest.raises(Failure, match=r"x\.parquet: cannot be read: [^;]*$"):
        read_rows(tmp_path / "x.parquet")


def test_damaged_words_at_the_end_of_a_file_are_one_line(tmp_path):
    table = pa.table({"a": NUMBERS}).replace_schema_metadata({b"saitan": b"{not JSON"})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(Failure, match=r"x\.parquet: not written by this workflow; remove it and run again"):
        described(tmp_path / "x.parquet")
