import sys

import numpy as np
import pytest

from saitan.compression.__main__ import main


def call(monkeypatch, *arguments) -> None:
    monkeypatch.setattr(sys, "argv", ["compression", *map(str, arguments)])
    main()


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_files_come_back_byte_for_byte(tmp_path, monkeypatch, capsys, order):
    path = tmp_path / "a.npy"
    np.save(path, np.asarray(np.linspace(1, 2, 6000).reshape(3, 2000), order=order))
    before = path.read_bytes()
    call(monkeypatch, "pack", path)
    path.unlink()
    call(monkeypatch, "info", f"{path}.packed")
    call(monkeypatch, "unpack", f"{path}.packed")
    assert path.read_bytes() == before
    assert "6,000 values of float64, 52 mantissa bits kept, 3 chunks" in capsys.readouterr().out


def test_files_larger_than_a_part_come_back_within_a_bound(tmp_path, monkeypatch, capsys):
    from saitan.compression import __main__, cpu_fast

    monkeypatch.setattr(__main__, "PART", 5000)
    monkeypatch.setattr(cpu_fast, "STEP", 2)
    path = tmp_path / "a.npy"
    a = np.cumsum(np.random.default_rng(1).normal(size=(40, 1000)), axis=1)
    np.save(path, a)
    call(monkeypatch, "pack", path, "--bound", 0.01)
    path.unlink()
    call(monkeypatch, "info", f"{path}.packed")
    assert "absolute error at most 0.01" in capsys.readouterr().out
    call(monkeypatch, "unpack", f"{path}.packed")
    assert 0 < np.abs(np.load(path) - a).max() <= 0.01


def test_progress_is_shown_on_a_terminal(monkeypatch, capsys):
    from saitan.compression.__main__ import Progress

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Progress(10) as progress:
        progress(5)
        assert capsys.readouterr().err == "\r50 %"


def test_raw_files_come_back(tmp_path, monkeypatch):
    path = tmp_path / "a.u16"
    path.write_bytes(np.arange(5000, dtype=np.uint16).tobytes())
    before = path.read_bytes()
    call(monkeypatch, "pack", path, "--type", "uint16")
    assert (tmp_path / "a.u16.packed").stat().st_size < len(before) / 5
    path.unlink()
    call(monkeypatch, "unpack", f"{path}.packed")
    assert path.read_bytes() == before


def test_what_cannot_be_read_is_one_line_with_the_file(tmp_path, monkeypatch):
    raw, text, plain = tmp_path / "raw", tmp_path / "text.packed", tmp_path / "plain.npy"
    np.save(plain, np.ones(50))
    raw.write_bytes(b"12345")
    text.write_bytes(b"not a stream, but a text that is longer than a head")
    for arguments, message in (
        (("pack", raw), "raw: no .npy file: name the type"),
        (("pack", raw, "--type", "float32"), "raw: 5 bytes are no whole number of float32"),
        (("pack", tmp_path / "none"), "none: No such file or directory$"),
        (("unpack", raw), "raw: a name of the form NAME.packed is right"),
        (("unpack", text), "text.packed: the stream begins with b'not a st'"),
        (("info", text), "text.packed: the stream begins"),
        (("info", plain), r"plain\.npy: no stream follows its \.npy header: a file that `pack` wrote is right$"),
    ):
        with pytest.raises(SystemExit, match=message):
            call(monkeypatch, *arguments)
    # A header that is cut within its brackets, or says a shape that is none.
    broken = tmp_path / "broken.npy"
    np.save(broken, np.ones(50))
    whole = broken.read_bytes()
    for wrong in (
        whole.replace(b"(50,)", b"(50, "),
        whole.replace(b"(50,)", b"(-5,)"),
        whole[:40],
        whole[:6],
        whole[:200],
        whole.replace(b"(50,)", b"(50" + b"\0\xff" * 20),
    ):
        broken.write_bytes(wrong)
        with pytest.raises(SystemExit, match=r"broken\.npy: no \.npy file that NumPy reads: .{1,60}$"):
            call(monkeypatch, "pack", broken)
    # Python objects, which could run code when they are read.
    np.save(broken, np.array([1.0, None]))
    with pytest.raises(SystemExit, match=r"broken\.npy: no \.npy file that NumPy reads"):
        call(monkeypatch, "pack", broken)
    with pytest.raises(SystemExit, match=f"^{tmp_path}: Is a directory$"):
        call(monkeypatch, "pack", tmp_path)
    raw.write_bytes(bytes(16))
    call(monkeypatch, "pack", raw, "--type", "float64")
    with pytest.raises(SystemExit, match="is there already"):
        call(monkeypatch, "pack", raw, "--type", "float64")


@pytest.mark.parametrize(
    "dtype",
    [
        *("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"),
        *("f2", "f4", "f8", "c8", "c16", "M8[ns]", "m8[s]"),
    ],
)
def test_every_common_type_of_npy_file_comes_back(tmp_path, monkeypatch, dtype):
    path = tmp_path / "a.npy"
    np.save(path, (np.arange(5000) % 90).reshape(50, 100).astype(dtype))
    before = path.read_bytes()
    call(monkeypatch, "pack", path)
    path.unlink()
    call(monkeypatch, "unpack", f"{path}.packed")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("array", "options", "message"),
    [
        (np.arange(9.0, dtype=">f8"), (), "its values of >f8 are big-endian: those of <f8 can be packed"),
        (np.array(["a"]), (), "an array of <U1 cannot be compressed"),
        (np.ones(3, np.longdouble), (), "an array of float128 cannot be compressed"),
        (np.ones(3, [("x", "f8")]), (), "cannot be compressed"),
        (np.ones(3, np.float16), ("--keep-bits", 3), "values of float16 are kept to the bit"),
        (np.ones(3, bool), ("--bound", 0.5), "values of bool are kept to the bit"),
        (np.ones(3), ("--bound", 0.5, "--keep-bits", 52), "bound and keep_bits exclude each other"),
    ],
)
def test_other_types_are_one_line_that_says_what_is_taken(tmp_path, monkeypatch, array, options, message):
    path = tmp_path / "a.npy"
    np.save(path, array)
    with pytest.raises(SystemExit, match=message):
        call(monkeypatch, "pack", path, *options)


def unpacked(path, content, monkeypatch):
    """The bytes that a packed file with this content gives; None where it is refused in one line."""
    packed = path.with_name(f"{path.name}.packed")
    packed.write_bytes(content)
    path.unlink(missing_ok=True)
    try:
        call(monkeypatch, "unpack", packed)
    except SystemExit as refused:
        assert str(refused).startswith(f"{packed}: ") and "\n" not in str(refused)
        return None
    return path.read_bytes()


def changed(content, bit):
    other = bytearray(content)
    other[bit // 8] ^= 1 << bit % 8
    return other


@pytest.mark.parametrize("kind", ["f8", "u4", "c16", "f2"])
def test_a_header_that_is_not_its_streams_is_refused(tmp_path, monkeypatch, kind):
    path = tmp_path / "a.npy"
    array = np.ones((20, 30), kind)
    np.save(path, array)
    before = path.read_bytes()
    call(monkeypatch, "pack", path)
    packed = (tmp_path / "a.npy.packed").read_bytes()
    assert unpacked(path, packed, monkeypatch) == before
    begin = packed.index(b"saitanC4")
    assert begin - 4 == len(before) - array.nbytes
    # One bit of every byte; a checksum sees all alike.
    for byte in range(begin):
        wrong = changed(packed, 8 * byte + byte % 8)
        assert unpacked(path, wrong, monkeypatch) is None, byte
        with pytest.raises(SystemExit):
            call(monkeypatch, "info", f"{path}.packed")
    # Of earlier versions, without a checksum: every bit of type and shape.
    earlier = packed[: begin - 4] + packed[begin:]
    assert unpacked(path, earlier, monkeypatch) == before
    for place in (earlier.index(b"'descr': '") + 10, earlier.index(b"'shape': (") + 10):
        for bit in range(8 * place, 8 * (place + 6)):
            if unpacked(path, changed(earlier, bit), monkeypatch) is not None:
                found = np.load(path)
                assert (found.dtype, found.shape) == (array.dtype, array.shape) and np.array_equal(found, array)


def test_what_follows_an_array_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "two.npy"
    with path.open("wb") as file:
        np.save(file, np.arange(10.0))
        np.save(file, np.arange(20.0))
    with pytest.raises(SystemExit, match=r"two.npy: 288 bytes follow the array"):
        call(monkeypatch, "pack", path)
    assert not (tmp_path / "two.npy.packed").exists()


def test_a_type_that_is_not_that_of_the_file_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.npy"
    np.save(path, np.arange(3))
    with pytest.raises(
        SystemExit, match=r"a\.npy: a \.npy file of int64: --type float32 is of files that do not say it"
    ):
        call(monkeypatch, "pack", path, "--type", "float32")
