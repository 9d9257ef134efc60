"""The code of saitan as one value, by which code that was compiled from it is known. Light: Numba is not loaded."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path


@functools.cache
def code_digest() -> str:
    """Of every Python source of the package `saitan`, subpackages included."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()
