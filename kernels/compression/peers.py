"""Other people's compressors behind the same call, each an optional package.

zfp has a fixed rate and no bound. The lossless ones get values that were shortened before (rounded to `keep_bits`, the
low bits zero), which is part of their time; they meet the same bound.
"""

from __future__ import annotations

import numpy as np

from saitan.compression.cpu import RoundTrip
from saitan.compression.cuda import RoundTrip as DeviceRoundTrip
from saitan.compression.data import Instance
from saitan.compression.shorten import mantissa_bits, shortened
from saitan.cuda.timing import Laps
from saitan.problem import Unavailable


class Host(RoundTrip):
    """A compressor that makes its own arrays: there is nothing to overwrite before a run."""

    def overwrite(self) -> None:
        self.values = np.empty(0, self.instance.dtype)


class Zfp(Host):
    """zfp at a fixed rate, the array taken as one-dimensional; one core, as fixed-rate decompression has no other."""

    def __init__(self, instance: Instance, *, rate: int = 16) -> None:
        if instance.dtype.kind != "f":
            raise Unavailable(f"zfpy compresses floats here, not {instance.dtype}")
        if not instance.count:
            raise Unavailable("zfpy compresses no array without values")
        super().__init__(instance, -1)
        if not np.isfinite(self.source).all():
            # It would spoil the values beside these too.
            raise Unavailable("zfpy compresses finite values alone")
        self.rate = rate

    def compress(self) -> None:
        import zfpy

        self.stream = np.frombuffer(zfpy.compress_numpy(self.source, rate=self.rate), np.uint8)

    def decompress(self) -> None:
        import zfpy

        self.values = zfpy.decompress_numpy(self.stream.tobytes())


class Bytes(Host):
    """A lossless compressor of bytes, behind shortening."""

    def __init__(self, instance: Instance, *, keep_bits: int = 52, level: int = 3) -> None:
        super().__init__(instance, min(keep_bits, mantissa_bits(instance.dtype)))
        self.level = level

    def compress(self) -> None:
        self.stream = np.frombuffer(self.pack(shortened(self.source, self.kept)), np.uint8)

    def decompress(self) -> None:
        self.values = np.frombuffer(self.unpack(self.stream), self.instance.dtype)

    def pack(self, values: np.ndarray) -> bytes:
        raise NotImplementedError

    def unpack(self, stream: np.ndarray) -> bytes:
        raise NotImplementedError


class Zstd(Bytes):
    """Zstandard, one core."""

    def pack(self, values: np.ndarray) -> bytes:
        import zstandard

        return zstandard.ZstdCompressor(level=self.level).compress(values.view(np.uint8))

    def unpack(self, stream: np.ndarray) -> bytes:
        import zstandard

        return zstandard.ZstdDecompressor().decompress(stream)


class Blosc2(Bytes):
    """Blosc2 with its shuffle filter; two-gigabyte buffers at most."""

    def pack(self, values: np.ndarray) -> bytes:
        import blosc2

        if values.nbytes > blosc2.MAX_BUFFERSIZE:
            raise Unavailable(f"blosc2 takes at most {blosc2.MAX_BUFFERSIZE:,} bytes, the array has {values.nbytes:,}")
        return blosc2.compress2(
            values,
            typesize=values.itemsize,
            clevel=self.level,
            codec=blosc2.Codec.ZSTD,
            filters=[blosc2.Filter.SHUFFLE],
        )

    def unpack(self, stream: np.ndarray) -> bytes:
        import blosc2

        return blosc2.decompress2(stream.tobytes())


class NvComp(DeviceRoundTrip):
    """nvCOMP by its Python interface; lossless.

    Timed between events on the default stream: what the codec allocates is part of the time. Written after the
    package's documentation.
    """

    def __init__(self, instance: Instance, *, algorithm: str = "Bitcomp") -> None:
        self.algorithm = algorithm
        super().__init__(instance, mantissa_bits(instance.dtype), 2 * instance.nbytes)

    def prepare(self) -> None:
        from nvidia import nvcomp

        self._codec = nvcomp.Codec(algorithm=self.algorithm, data_type=_KINDS[self.instance.dtype.name], cuda_stream=0)
        self._array = nvcomp.as_array(self.source.view(_KINDS[self.instance.dtype.name]))
        self._encoded = None
        # The codec waits for the device, which a gate would hold.
        self.laps = Laps(3)

    def compress(self) -> None:
        self._encoded = self._codec.encode(self._array)

    def decompress(self) -> None:
        import pycuda.driver as driver

        decoded = self._codec.decode(self._encoded)
        pointer = decoded.__cuda_array_interface__["data"][0]
        driver.memcpy_dtod_async(self.values.ptr, pointer, self.values.nbytes, None)

    def stream_bytes(self) -> int:
        return int(self._encoded.buffer_size)

    def stream(self) -> np.ndarray:
        return np.asarray(self._encoded.cpu()).view(np.uint8).reshape(-1)


# nvCOMP has no type for doubles: their bits are taken as integers of the width.
_KINDS = {"float64": "<u8", "float32": "<u4", "uint64": "<u8", "uint32": "<u4", "int32": "<i4", "uint16": "<u2"}
