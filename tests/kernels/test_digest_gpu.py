"""The digest on the device against the one of NumPy arrays."""

import numpy as np
import pytest

from saitan.blocks import Block, Digest

pytestmark = pytest.mark.gpu


def bits(random, shape, dtype):
    return np.frombuffer(random.bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype).reshape(shape)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.int32, np.float32, np.uint64, np.float64])
@pytest.mark.parametrize("shape", [(1,), (31,), (257,), (33, 65), (3, 5, 7), (4096 * 256 + 1,)])
@pytest.mark.parametrize("first", [0, 1, 2**33])
def test_equals_the_one_of_a_numpy_array(dtype, shape, first):
    from pycuda import gpuarray

    from saitan.cuda import device

    device()
    host = bits(np.random.default_rng(1), shape, dtype)
    ours, theirs = Digest(), Digest()
    ours(Block("x", first, gpuarray.to_gpu(host)))
    theirs(Block("x", first, host))
    assert ours == theirs and str(ours) == str(theirs)


def test_every_entry_and_its_place_count():
    from pycuda import gpuarray

    from saitan.cuda import device
    from saitan.cuda.digest import digest

    device()
    host = np.zeros(4096 * 256 + 300, np.uint32)
    right = digest(gpuarray.to_gpu(host), 0)
    assert digest(gpuarray.to_gpu(host), 1) != right
    for place in (0, 255, 256, 4096 * 256 - 1, 4096 * 256, len(host) - 1):
        changed = host.copy()
        changed[place] = 1
        assert digest(gpuarray.to_gpu(changed), 0) != right
    assert digest(gpuarray.to_gpu(host)[:-1], 0) != right
    assert digest(gpuarray.to_gpu(host)[:0], 0) == 0


def test_refuses_what_does_not_lie_in_a_row():
    from pycuda import gpuarray

    from saitan.cuda import device
    from saitan.cuda.digest import digest

    device()
    matrix = gpuarray.to_gpu(np.arange(12, dtype=np.float32).reshape(3, 4))
    assert digest(matrix[1:], 4) == digest(gpuarray.to_gpu(np.arange(4, 12, dtype=np.float32)), 4)
    for part in (matrix[:, :2], matrix.T):
        with pytest.raises(ValueError, match="contiguous"):
            digest(part, 0)
    with pytest.raises(ValueError, match="entries of 1, 2, 4 or 8 bytes, not complex128"):
        digest(gpuarray.zeros(3, np.complex128), 0)
