"""The digest of answers against its definition, in Python's integers."""

import sys
import threading

import numpy as np
import pytest

from saitan import host_digest
from saitan.blocks import Block, Digest

TOP = 2**64


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % TOP
    x = (x ^ x >> 27) * 0x94D049BB133111EB % TOP
    return x ^ x >> 31


def by_definition(array, place):
    bits = array.reshape(-1).view(f"u{array.itemsize}").tolist()
    return sum(mix((x + (place + i) * 0x9E3779B97F4A7C15) % TOP) for i, x in enumerate(bits)) % TOP


def drawn(shape, dtype):
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(np.random.default_rng(size).bytes(size), dtype).reshape(shape)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.int32, np.float32, np.uint64, np.float64])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_is_what_it_is_said_to_be(monkeypatch, dtype, threads):
    monkeypatch.setattr(host_digest, "get_num_threads", lambda: threads)
    for shape, first in (((1,), 0), ((31,), 7), ((3, 5, 7), 2**40), ((0, 4), 1), ((3, 65_537), 9)):
        array, found = drawn(shape, dtype), Digest()
        found(Block("x", first, array))
        place = first * int(np.prod(shape[1:]))
        assert found.sums == {"x": by_definition(array, place)} and found.entries == {"x": array.size}
        assert host_digest.digest(array, place) == by_definition(array, place)


def test_one_thread_does_where_parallel_loops_exclude_each_other(monkeypatch):
    array, found, alone = drawn((3, 65_537), np.uint32), Digest(), Digest()
    found(Block("x", 0, array))
    monkeypatch.setattr(host_digest.config, "THREADING_LAYER", "workqueue")
    assert not host_digest._together.__wrapped__()
    monkeypatch.undo()
    monkeypatch.delattr("numba.np.ufunc.omppool", raising=False)
    monkeypatch.setitem(sys.modules, "numba.np.ufunc.omppool", None)
    assert not host_digest._together.__wrapped__()
    monkeypatch.undo()
    monkeypatch.setattr(host_digest, "_together", lambda: False)
    monkeypatch.setattr(host_digest, "_shared_sum", None)
    alone(Block("x", 0, array))
    assert alone == found


def test_columns_are_taken_in_the_order_of_rows():
    array, found, turned = drawn((12, 5), np.uint32), Digest(), Digest()
    found(Block("x", 0, np.ascontiguousarray(array.T)))
    turned(Block("x", 0, array.T))
    assert found == turned


def test_blocks_in_any_order_from_several_threads():
    array, whole = drawn((1 << 12, 300), np.uint32), Digest()
    whole(Block("x", 0, array))
    parts = [Digest() for _ in range(4)]

    def take(part, low):
        for first in range(low + 512, low - 1, -512):
            part(Block("x", first, array[first : first + 512]))

    threads = [threading.Thread(target=take, args=(part, 1024 * k)) for k, part in enumerate(parts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Digest.of(parts) == whole
    assert whole.sums["x"] == by_definition(array, 0)


@pytest.mark.parametrize(("sums", "total"), [([TOP // 2, TOP // 2 - 1], TOP - 1), ([TOP // 2] * 3, TOP // 2)])
def test_sums_wrap_at_64_bits(sums, total):
    parts = [Digest() for _ in sums]
    for number, (part, each) in enumerate(zip(parts, sums, strict=True)):
        part.sums, part.entries = {"x": each}, {"x": number + 1}
    whole = Digest.of(parts)
    assert whole.sums == {"x": total} and whole.entries == {"x": len(sums) * (len(sums) + 1) // 2}


def test_answers_of_other_outputs_or_sizes_differ():
    def told(**changes):
        digest = Digest()
        digest.sums, digest.entries = {"x": 5}, {"x": 3}
        vars(digest).update(changes)
        return digest

    assert told() == told() and told() != 5
    assert told() != told(entries={"x": 4}) and told() != told(sums={"x": 6})
    assert told() != told(sums={"y": 5}, entries={"y": 3})
