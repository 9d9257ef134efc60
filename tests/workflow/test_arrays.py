import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from saitan.workflow.arrays import CATALOGUE, ENTRY, convert, load_arrays
from saitan.workflow.step import Failure

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "config" / "arrays.yaml"
DATA = Path(os.environ.get("SAITAN_DATA", ROOT.parent / "shared" / "data"))
VALUES = np.arange(12, dtype=np.float64).reshape(3, 4) / 7
RAW = VALUES.tobytes()
COMPRESS = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": lambda c: pa.compress(c, "zstd", asbytes=True),
}
FILE = {"title": "A", "file": "a.bin", "dtype": "float64"}


def npy(array):
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def test_the_catalogue_is_right_and_survives_json():
    entries = load_arrays(CONFIG)
    assert all(ENTRY.validate_json(entry.model_dump_json()) == entry for entry in entries.values())
    assert {"sz-testdouble", "alp-gov26", "alp-nyc29", "sperr-vorticity"} <= entries.keys()
    assert all(entry.sha256 for entry in entries.values())


def test_the_schema_is_that_of_the_models():
    written = json.loads((ROOT / "workflow" / "schemas" / "arrays.schema.json").read_text())
    assert written == CATALOGUE.json_schema(), "write it again: python -m saitan.workflow.arrays --schema"


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("shape", [None, (3, 4), (2, 3, 2), (12,)])
def test_raw_numbers_of_every_compression_and_shape(tmp_path, suffix, shape):
    path, output = tmp_path / f"a.bin{suffix}", tmp_path / "out" / "a.npy"
    path.write_bytes(COMPRESS[suffix](RAW))
    convert(ENTRY.validate_python({**FILE, "shape": shape, "sha256": hashlib.sha256(RAW).hexdigest()}), path, output)
    array = np.load(output)
    assert (array.dtype, array.shape) == (np.float64, shape or (12,))
    assert_array_equal(array.ravel(), VALUES.ravel())
    assert [place.name for place in output.parent.iterdir()] == ["a.npy"]


@given(
    st.sampled_from(["float32", "float64", "int8", "int64", "uint16", "uint32"]),
    st.binary(min_size=8, max_size=64),
    st.integers(1, 7),
)
def test_every_bit_pattern_is_kept(tmp_path_factory, dtype, content, chunk):
    folder = tmp_path_factory.mktemp("bits")
    content = content[: len(content) // 8 * 8]
    (folder / "a.bin").write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("saitan.workflow.graphs.streams._CHUNK", chunk)
        convert(ENTRY.validate_python({**FILE, "dtype": dtype}), folder / "a.bin", folder / "a.npy")
    array = np.load(folder / "a.npy")
    assert array.dtype == dtype
    assert array.tobytes() == content


def test_npy_files(tmp_path):
    (tmp_path / "a.npy.gz").write_bytes(gzip.compress(npy(VALUES)))
    entry = ENTRY.validate_python({**FILE, "format": "npy", "shape": [3, 4]})
    convert(entry, tmp_path / "a.npy.gz", tmp_path / "out.npy")
    assert_array_equal(np.load(tmp_path / "out.npy"), VALUES)
    shaped = [ENTRY.validate_python({**FILE, "format": "npy", "shape": shape}) for shape in (None, (3, 4), (12,))]
    assert [entry.is_in(tmp_path / "out.npy", None) for entry in shaped] == [True, True, False]


@pytest.mark.parametrize(
    ("changes", "content", "message"),
    [
        ({}, RAW[:-1], "95 bytes are no whole number of float64, at least one: truncated?"),
        ({}, b"", "0 bytes are no whole number of float64, at least one: truncated?"),
        ({}, npy(VALUES), "the file is a NumPy array: `format: npy` is right"),
        ({}, gzip.compress(RAW, mtime=0), "the file is compressed, .gz: a name that ends in .gz is right"),
        ({}, lzma.compress(RAW), "the file is compressed, .xz: a name that ends in .xz is right"),
        ({}, bz2.compress(RAW), "the file is compressed by bzip2: plain, .gz, .xz or .zst is right"),
        ({}, b"PK\x03\x04" + RAW[4:], "the file is a zip archive: plain, .gz, .xz or .zst is right"),
        ({"shape": [3, 5]}, RAW, "12 numbers do not fill the shape (3, 5), which takes 15"),
        ({"shape": [11]}, RAW, "12 numbers do not fill the shape (11,), which takes 11"),
        (
            {"sha256": "0" * 64},
            RAW,
            f"its decompressed content has the SHA-256 {hashlib.sha256(RAW).hexdigest()}, but 0",
        ),
        ({"format": "npy", "sha256": "0" * 64}, npy(VALUES), "its decompressed content has the SHA-256 "),
        ({"format": "npy"}, RAW, "not a .npy file: `format: raw` is right for numbers one behind the other"),
        ({"format": "npy"}, b"", "not a .npy file: `format: raw` is right for numbers one behind the other"),
        ({"format": "npy"}, npy(VALUES)[:-1], "cut short: its header announces more than its 223 bytes"),
        ({"format": "npy"}, npy(VALUES)[:90], "not a .npy file of numbers: EOF: "),
        (
            {"format": "npy"},
            b"PK\x03\x04" + RAW,
            "an archive, as of numpy.savez: numpy.save of one of its arrays is right",
        ),
        ({"format": "npy"}, npy(np.array([None])), "not a .npy file of numbers: "),
        (
            {"format": "npy"},
            npy(VALUES.astype(np.float32)),
            "it holds <f4: float64 in little-endian order is right, as its entry says",
        ),
        ({"format": "npy"}, npy(VALUES.astype(">f8")), "it holds >f8: float64 in little-endian order is right"),
        ({"format": "npy", "shape": [4, 3]}, npy(VALUES), "its shape is (3, 4): (4, 3) is right, as its entry says"),
        (
            {"format": "npy"},
            npy(np.empty((0, 3))),
            "its shape is (0, 3): one dimension or more, and at least one number",
        ),
        ({"format": "npy"}, npy(np.empty(0)), "its shape is (0,): one dimension or more, and at least one number"),
        ({"format": "npy"}, npy(np.float64(3)), "its shape is (): one dimension or more, and at least one number"),
        ({"format": "npy"}, npy(np.asfortranarray(VALUES)), "its first index runs fastest: "),
    ],
)
def test_a_file_that_is_not_what_its_entry_says_is_named(tmp_path, changes, content, message):
    path, output = tmp_path / "a.bin", tmp_path / "out" / "a.npy"
    path.write_bytes(content)
    with pytest.raises(Failure) as failure:
        convert(ENTRY.validate_python({**FILE, **changes}), path, output)
    assert str(failure.value).startswith(f"{path}: {message}")
    assert "\n" not in str(failure.value)
    assert list(output.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:\n  title: A\n  file: a\n  dtype: float128\n", "line 4: a.dtype: input should be 'float32'"),
        ("a:\n  title: A\n  file: a\n  dtype: float64\n  shape: []\n", "line 5: a.shape: "),
        (
            "a:\n  title: A\n  file: a\n  dtype: float64\n  shape: 5000\n",
            "line 5: a.shape: input should be a valid list, not 5",
        ),
        (
            "a:\n  title: A\n  file: a\n  dtype: float64\n  shape: [2, 0]\n",
            "line 5: a.shape.1: input should be greater",
        ),
        ("a:\n  title: A\n  dtype: float64\n", "line 1: a: a url or a file is needed"),
        (
            "a:\n  title: A\n  file: ../a\n  dtype: int8\n",
            "line 3: a.file: '../a' is not the name of a file: ASCII letters, digits",
        ),
        ("a:\n  title: A\n  file: a\n  dtype: int8\n  colour: 1\n", "line 5: a.colour: unknown key"),
        ("b:\n  title: A\na/b: {}\n", "line "),
        ("no-graph: {title: A, file: a, dtype: int8}\n", "line 1: no-graph stands in paths where"),
        (
            "a: {title: A, file: x, dtype: int8}\nb: {title: A, file: x, dtype: int8, url: http://h/x}\n",
            "a and b both name the file x, but differ in url or sha256: give one of them another name under `file`",
        ),
    ],
)
def test_wrong_entries_are_named_with_their_line(tmp_path, text, message):
    path = tmp_path / "arrays.yaml"
    path.write_text(text)
    with pytest.raises(Failure) as failure:
        load_arrays(path)
    assert str(failure.value).startswith(f"{path}: {message}")
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_a_truncated_file_of_numbers_has_no_lines(tmp_path, suffix):
    values = np.random.default_rng(7).integers(0, 200, 100_000)
    path = tmp_path / f"a.bin{suffix}"
    whole = COMPRESS[suffix](values.tobytes())
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Failure, match=f"^{re.escape(str(path))}: the {suffix[1:]} stream is truncated or damaged"):
        convert(ENTRY.validate_python({**FILE, "dtype": "int64", "shape": None}), path, tmp_path / "a.npy")


def test_as_a_command(tmp_path):
    path, output, log = tmp_path / "a.bin.xz", tmp_path / "a.npy", tmp_path / "a.log"
    path.write_bytes(lzma.compress(RAW))
    entry = ENTRY.validate_python(FILE).model_dump_json()
    command = [sys.executable, "-m", "saitan.workflow.arrays", "--entry", entry, "--input", path, "--output", output]
    done = subprocess.run([*command, "--log", log], capture_output=True, text=True)
    assert (done.returncode, done.stderr, log.read_text()) == (0, "", "began\ndone\n")
    assert_array_equal(np.load(output), VALUES.ravel())
    path.write_bytes(lzma.compress(RAW)[:-9])
    done = subprocess.run([*command, "--log", log], capture_output=True, text=True)
    assert (done.returncode, log.read_text()) == (1, f"began\n{done.stderr}")
    assert done.stderr.startswith(f"error: {path}: the xz stream is truncated or damaged")
    assert done.stderr.endswith(" (it is fetched again once this copy is removed)\n")


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("sz-testdouble", 7.44e-10, 1.50000015),
        ("alp-gov26", -461332, 31000000),
        ("alp-nyc29", -74.2444, -73.7063),
        ("sperr-vorticity", -5.16e-4, 8.35e-4),
    ],
)
def test_the_fields_there_are(tmp_path, name, low, high):
    entry = load_arrays(CONFIG)[name]
    if not (DATA / entry.filename).exists():
        pytest.skip(f"{entry.filename} is not in {DATA} (SAITAN_DATA names the folder)")
    convert(entry, DATA / entry.filename, tmp_path / "a.npy")
    array = np.load(tmp_path / "a.npy")
    np.testing.assert_allclose([array.min(), array.max()], [low, high], rtol=2e-3)
