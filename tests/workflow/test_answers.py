import errno
import gc
import itertools
import json
import shutil
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numba import njit
from reports import write_coded
from samples import Held

from saitan.blocks import Block
from saitan.compression.format import MAGIC
from saitan.problem import Unavailable
from saitan.ranks import Ranks
from saitan.workflow import answer_writers
from saitan.workflow.answer_writers import AnswerWriter, SlabWriter, _without_rows, refuse_slabs, write_form
from saitan.workflow.answers import about_answer, kept_answer, read_answer, slab_name
from saitan.workflow.ceilings import Ceilings
from saitan.workflow.instances import write_queries, write_reference
from saitan.workflow.keep import keep
from saitan.workflow.report_facts import kept
from saitan.workflow.report_plan import PlannedAnswer
from saitan.workflow.step import Failure


def write(folder, array, steps, name="d", about=None, compressed=False):
    with AnswerWriter(folder, [name], about or {}, compressed) as sink:
        for low, high in steps:
            sink(Block(name, low, array[low:high]))
    return folder / f"{name}.parquet"


ARRAYS = hnp.arrays(
    st.sampled_from([np.uint32, np.int32, np.float32, np.float64, np.uint8, np.uint64, np.uint16]),
    hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=6),
)


@given(array=ARRAYS, data=st.data(), compressed=st.booleans())
def test_any_rows_come_back_bit_for_bit(tmp_path_factory, array, data, compressed):
    cuts = sorted(data.draw(st.sets(st.integers(1, len(array)), max_size=3)) | {len(array)})
    path = write(tmp_path_factory.mktemp("a"), array, list(zip([0, *cuts], cuts, strict=False)), compressed=compressed)
    assert read_answer(path).tobytes() == array.tobytes() and read_answer(path).dtype == array.dtype
    low = data.draw(st.integers(0, len(array)))
    high = data.draw(st.integers(low, len(array)))
    part = read_answer(path, slice(low, high))
    assert part.tobytes() == array[low:high].tobytes() and part.shape == array[low:high].shape


def test_any_rows_of_several_blocks(tmp_path):
    array = np.arange(24, dtype=np.uint32).reshape(12, 2)
    path = write(tmp_path, array, [(0, 1), (1, 4), (4, 9), (9, 12)])
    for low, high in itertools.combinations(range(13), 2):
        assert np.array_equal(read_answer(path, slice(low, high)), array[low:high])


def test_an_answer_says_what_it_is(tmp_path):
    path = write(tmp_path, np.zeros((3, 2), np.uint32), [(0, 2), (2, 3)], about={"query": 7})
    about = about_answer(path)
    assert about.pop("seconds") > 0
    assert about == {"query": 7, "shape": [3, 2], "dtype": "uint32", "written": "numbers"}
    assert pq.ParquetFile(path).num_row_groups == 2
    with pytest.raises(ValueError, match="step 1"):
        read_answer(path, slice(0, 3, 2))


def test_what_compiles_is_no_part_of_the_seconds(tmp_path, monkeypatch):
    array, compiling = np.arange(24, dtype=np.uint32).reshape(12, 2), []
    write(tmp_path, array, [(0, 12)], compressed=True)

    def compiled(value=None):
        start = time.perf_counter()
        njit(lambda x: x + 1)(1)
        compiling.append(time.perf_counter() - start)
        return value

    pack = answer_writers.pack
    monkeypatch.setattr(answer_writers, "pack", lambda array: pack(compiled(array)))
    told = about_answer(write(tmp_path, array, [(0, 6), (6, 12)], compressed=True))
    assert 0 < told["seconds"] < sum(compiling) / 2
    form = SimpleNamespace(open=lambda path, output: Held((1,), array.dtype))
    about = {"answer": {"problem": "apsp"}}
    write_form(tmp_path, "d", "own", form, about, lambda path: compiled(path.write_text("x")))
    assert 0 < about_answer(tmp_path / "d.parquet")["seconds"] < compiling[-1] / 2


def test_compressed_answers_are_smaller_and_say_where_they_are_damaged(tmp_path):
    array = np.cumsum(np.ones((50, 1000), np.uint32), axis=1, dtype=np.uint32)
    path = write(tmp_path, array, [(0, 20), (20, 50)], compressed=True)
    table = pq.read_table(path)
    assert table["rows"].to_pylist() == [20, 30] and pq.ParquetFile(path).num_row_groups == 2
    assert path.stat().st_size < array.nbytes / 15
    content = bytearray(path.read_bytes())
    content[content.index(MAGIC, content.index(MAGIC) + 1) + 200] ^= 1
    path.write_bytes(content)
    assert np.array_equal(read_answer(path, slice(0, 20)), array[:20])
    with pytest.raises(Failure, match=r"d.parquet: .*integrity.*; remove it and run"):
        read_answer(path)


@pytest.mark.parametrize(
    "blocks",
    [
        [(0, np.zeros((2, 2), np.uint32)), (3, np.zeros((1, 2), np.uint32))],
        [(0, np.zeros((2, 2), np.uint32)), (1, np.zeros((1, 2), np.uint32))],
        [(1, np.zeros((2, 2), np.uint32))],
        [(0, np.zeros((2, 2), np.uint32)), (2, np.zeros((1, 3), np.uint32))],
        [(0, np.zeros((2, 2), np.uint32)), (2, np.zeros((1, 2), np.int32))],
    ],
)
def test_a_block_that_does_not_follow_leaves_nothing(tmp_path, blocks):
    says = r" does not follow .*: blocks in the order of the rows, all of one type and width, are right$"
    with pytest.raises(Failure, match=says), AnswerWriter(tmp_path, ["d"], {}) as sink:
        for first, array in blocks:
            sink(Block("d", first, array))
    assert list(tmp_path.iterdir()) == []


def test_an_error_or_a_missing_output_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError), AnswerWriter(tmp_path, ["d"], {}) as sink:
        sink(Block("d", 0, np.zeros(3)))
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    says = r"^keep: the answer has no e \(it has: d, other\)$"
    with pytest.raises(Failure, match=says), AnswerWriter(tmp_path, ["d", "e"], {}) as sink:
        sink(Block("d", 0, np.zeros(3)))
        sink(Block("other", 0, np.zeros(3)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full stands for a disk that is full")
@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("blocks", [[3], [200_000, 200_000], [3, 200_000]], ids=["end", "first", "later"])
def test_a_disk_that_fills_while_an_answer_is_kept_is_named_and_nothing_is_left(
    tmp_path, monkeypatch, blocks, compressed
):
    opened = Path.open

    def on_a_full_disk(path, mode="r", *how):
        return opened(Path("/dev/full") if mode == "wb" else path, mode, *how)

    monkeypatch.setattr(Path, "open", on_a_full_disk)
    values, first = np.random.default_rng(1), 0
    with pytest.raises(OSError) as full, AnswerWriter(tmp_path, ["d", "e"], {}, compressed) as sink:
        for rows in blocks:
            for name in ("d", "e"):
                sink(Block(name, first, values.random(rows)))
            first += rows
    assert full.value.errno == errno.ENOSPC
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("several", [False, True])
def test_what_a_variant_cannot_answer_is_kept_as_nothing_and_no_failure(several, tmp_path, monkeypatch, capsys):
    np.save(tmp_path / "field.npy", np.ones(9, np.float32))
    write_queries([0], tmp_path / "queries.json")
    write_reference(None, reference := tmp_path / "reference.npz")
    point = {"problem": "compression", "backend": "cpu", "graph": "field", "variant": "c1"}
    arguments = SimpleNamespace(
        settings=json.dumps(point | {"parameters": {}, "instance": {}, "identity": "now"}), graph=None, log=None
    )
    vars(arguments).update(array=tmp_path / "field.npy", queries=tmp_path / "queries.json", folder=tmp_path / "kept")
    vars(arguments).update(reference=reference, outputs=["values", "stream"], keep_as="raw")
    monkeypatch.setattr("saitan.workflow.keep.current", lambda: Ranks(size=2 if several else 1))
    monkeypatch.setattr("saitan.workflow.keep.provenance", lambda *_: {})
    with pytest.raises(Unavailable) if several else nullcontext():
        keep(arguments)
    if several:
        assert not (tmp_path / "kept").exists()
        return
    reason = "c1 compresses float64 only, not float32"
    assert capsys.readouterr().err == f"left out: {reason}\n"
    for output in ("values", "stream"):
        file = tmp_path / f"kept/{output}.parquet"
        with pytest.raises(Unavailable, match=f"values.parquet holds no answer: {reason}".replace("values", output)):
            read_answer(file)
        assert kept([PlannedAnswer(file=file, identity="now")], Ceilings()) == []


def test_a_foreign_file_is_no_answer(tmp_path):
    path: Path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"values": [1]}), path)
    with pytest.raises(Failure, match="not a kept answer"):
        read_answer(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(Failure, match=r"x\.parquet: cannot be read: .*; remove it and run again"):
        about_answer(path)


def test_an_answer_of_a_form_that_says_nothing_of_its_file_is_none(tmp_path):
    coded = write_coded(tmp_path / "d.parquet", identity="now")
    assert list(kept_answer(tmp_path / "d.parquet").files) == [tmp_path / "d.parquet", coded]
    about = about_answer(tmp_path / "d.parquet")
    del about["held"]
    _without_rows(tmp_path / "d.parquet", about)
    with pytest.raises(Failure, match="is damaged or not what"):
        kept_answer(tmp_path / "d.parquet")


SLABS = {0: 3, 3: 4, 7: 1}


def slabs(folder, array, about=None, starts=SLABS, compressed=False):
    writer = SlabWriter(folder, "d", about or {"query": 7}, compressed)
    for first, rows in starts.items():
        writer(Block("d", first, array[first : first + rows]))
        writer(Block("other", first, array[first : first + rows]))
    return writer


@pytest.mark.parametrize("compressed", [False, True])
def test_slabs_are_one_answer_once_they_are_joined(tmp_path, compressed):
    array = np.arange(16, dtype=np.uint32).reshape(8, 2)
    writer = slabs(tmp_path, array, compressed=compressed)
    path = tmp_path / "d.parquet"
    assert writer.finished(SLABS) == {0, 3, 7} and not path.exists()
    refuse_slabs(tmp_path, ["c", "d"])
    assert writer.finished(SLABS) == frozenset() and list(tmp_path.iterdir()) == []
    slabs(tmp_path, array, compressed=compressed)
    writer.join(SLABS, {"query": 7, "ranks": 2})
    assert about_answer(path) == {"query": 7, "ranks": 2, "shape": [8, 2], "dtype": "uint32", "slabs": [0, 3, 7]}
    assert [file.stem for file in kept_answer(path).files] == ["d", *map(slab_name, (0, 3, 7))]
    for low in range(9):
        for high in range(low, 9):
            part = read_answer(path, slice(low, high))
            assert part.dtype == np.uint32 and part.tolist() == array[low:high].tolist()
    with pytest.raises(ValueError, match="step 1"):
        read_answer(path, slice(0, 8, 2))
    slabs(tmp_path, array, about={"query": 7, "identity": "another"}, starts={3: 4})
    with pytest.raises(Failure, match=r"3\.parquet is damaged or not what .*d\.parquet was written with"):
        kept_answer(path)
    (tmp_path / f"d.slabs/{slab_name(3)}.parquet").unlink()
    assert read_answer(path, slice(0, 3)).tolist() == array[:3].tolist()
    with pytest.raises(Failure, match=r"3\.parquet is missing, a part of .*d\.parquet: remove that and run the same"):
        read_answer(path)
    with pytest.raises(Failure, match=r"3\.parquet is missing"):
        kept_answer(path)


def test_a_slab_in_the_place_of_another_is_seen(tmp_path):
    array = np.arange(14, dtype=np.uint32).reshape(7, 2)
    starts = {0: 3, 3: 3, 6: 1}
    writer = slabs(tmp_path, array, starts=starts)
    writer.join(starts, {"query": 7})
    assert (read_answer(tmp_path / "d.parquet") == array).all()
    shutil.copy(tmp_path / f"d.slabs/{slab_name(0)}.parquet", tmp_path / f"d.slabs/{slab_name(3)}.parquet")
    with pytest.raises(Failure, match=r"3\.parquet is damaged or not what "):
        kept_answer(tmp_path / "d.parquet")
    with pytest.raises(Failure, match=r"3\.parquet is damaged or not what "):
        read_answer(tmp_path / "d.parquet", slice(2, 5))
    assert writer.finished(starts) == {0, 6}


def test_slabs_of_another_answer_are_made_again(tmp_path):
    array = np.arange(16, dtype=np.uint32).reshape(8, 2)
    writer = slabs(tmp_path, array)
    place = tmp_path / "d.slabs"
    # Of another length, of another query, of no row of this answer, and no answer at all.
    slabs(tmp_path, array, starts={3: 2})
    slabs(tmp_path, array, about={"query": 8}, starts={7: 1})
    slabs(tmp_path, array, starts={5: 1})
    (place / "x.parquet").write_bytes(b"PAR1")
    (place / f"{slab_name(2)}.parquet").write_bytes(b"PAR1")
    # As it was named before.
    shutil.copy(place / f"{slab_name(0)}.parquet", place / "0.parquet")
    assert writer.finished(SLABS) == {0} and [*place.iterdir()] == [place / f"{slab_name(0)}.parquet"]
    slabs(tmp_path, array.astype(np.uint64), starts={3: 4})
    slabs(tmp_path, array, starts={7: 1})
    with pytest.raises(Failure, match=r"d\.slabs: slabs of different types"):
        writer.join(SLABS, {})
    assert not (tmp_path / "d.parquet").exists()
