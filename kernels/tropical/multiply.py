"""`tropical.matmul`: NumPy arrays and device arrays of any library, batched, of any strides."""

from __future__ import annotations

import numpy as np

from saitan.tropical.operands import check_out, checked_pair, checked_sums, result_shape
from saitan.tropical.semiring import check_operand, infinity, mirrored


def multiply(a, b, semiring: str, out, accumulate: bool, backend: str):
    """See saitan.tropical.matmul; backend is "cpu" or "cuda", for NumPy arrays."""
    on_device = [hasattr(x, "__cuda_array_interface__") for x in (a, b, *(() if out is None else (out,)))]
    if any(on_device) and not all(on_device):
        raise ValueError("some of a, b and out are on the device and some are not: bring them to one side")
    if accumulate and out is None:
        raise ValueError("accumulate needs the out to accumulate in")
    if on_device[0]:
        from saitan.tropical.cuda_multiply import multiply_on_device

        return multiply_on_device(a, b, semiring, out, accumulate)
    a, b = checked_pair(a, b, semiring)
    shape = result_shape(a, b)
    if out is not None:
        if not isinstance(out, np.ndarray):
            raise ValueError(f"out must be a NumPy array, not {type(out).__name__}")
        check_out(out, shape, a.dtype)
        if not out.flags.writeable:
            raise ValueError("out is read-only")
        if np.shares_memory(out, a) or np.shares_memory(out, b):
            raise ValueError("out shares memory with an operand: give it memory of its own")
        if accumulate:
            check_operand(out, "out", semiring)
    single = _on_device if backend == "cuda" else _on_cpu
    result = np.full(shape, infinity(a.dtype, semiring), a.dtype) if out is None else out
    batch = shape[:-2]
    whole_a, whole_b = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (a, b))
    for index in np.ndindex(batch):
        product = single(whole_a[index], whole_b[index], semiring)
        if accumulate:
            (np.minimum if semiring == "min_plus" else np.maximum)(result[index], product, out=result[index])
        else:
            result[index] = product
    return result


def _on_cpu(a: np.ndarray, b: np.ndarray, semiring: str) -> np.ndarray:
    from saitan.tropical.cpu import in_rows
    from saitan.tropical.cpu_fast import relax

    x, y = in_rows(a, semiring), in_rows(b, semiring)
    c = np.full((a.shape[0], b.shape[1]), infinity(a.dtype), a.dtype)
    relax(c, x, y, infinity(a.dtype))
    c = mirrored(c, semiring)
    checked_sums(c, a, b, semiring)
    return c


def _on_device(a: np.ndarray, b: np.ndarray, semiring: str) -> np.ndarray:
    from saitan.tropical.cuda_multiply import multiply_from_host

    return multiply_from_host(np.ascontiguousarray(a), np.ascontiguousarray(b), semiring)
