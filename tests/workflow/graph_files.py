"""Contents of files, compressed as the end of a name says."""

import gzip
import lzma
from functools import partial

import pyarrow as pa

COMPRESS = {
    "": bytes,
    ".gz": partial(gzip.compress, mtime=0),  # a stream without the time, so that tests are named alike everywhere
    ".xz": lambda content: lzma.compress(content, preset=0),
    ".zst": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
}
