"""Compression of doubles and other arrays on the GPU: paper C (Ino and others, lossy compression after FPC).

The ladder of the paper: FPC with a thread a chunk (`fpc`), then all values of a chunk at once (`c1`), writes that do
not collide (`c1c2`), the input's memory as work space (`c1c2c3`). The paper calls its extension of FPC lossy and does
not say what is dropped: `keep_bits`, the mantissa bits kept before coding, is our reading; 52 is lossless.

`fast` writes the project's own format (FORMAT.md) for floats and integers; `compress` and `decompress` are its calls.

Read the files in this order:

    variants.py      inputs, outputs, parameters, variants and metrics
    data.py          what is compressed; cpu_data.py and data.cu generate it
    ladder.py        the stream of the ladder
    cpu.py, cuda.py  the paper's variants: cpu_ladder.py, ladder.cu
    errors.py        how far values are from the array's: cpu_errors.py, errors.cu; validate.py
    FORMAT.md        the stream of `fast`; format.py: its head and table
    cpu_fast.py      `fast` on the CPU: cpu_encode.py, cpu_decode.py; of an absolute bound cpu_levels.py and
                     cpu_decode_levels.py
    cuda_fast.py     `fast` on the GPU: encode.cu, decode.cu; of an absolute bound encode_levels.cu, decode_levels.cu
    peers.py         other people's solvers, and for them shorten.py
    NOTES.md         what bounds each variant, measurements, what did not help
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from saitan.blocks import check_output
from saitan.calls import checked_count, checked_function, checked_inputs, checked_instance, described, plain_array
from saitan.compression.format import StreamError
from saitan.compression.variants import HEADLINE, INPUTS, INSTANCE, METRICS, OUTPUTS, TITLE, VARIANTS
from saitan.graph_input import shown
from saitan.problem import Run, Solver, Unavailable, altered, backend_for, check_parameters, known_variant
from saitan.solver import prepared, typed

if TYPE_CHECKING:
    from saitan.compression.data import Instance

__all__ = [
    "HEADLINE",
    "INPUTS",
    "INSTANCE",
    "METRICS",
    "OUTPUTS",
    "TITLE",
    "VARIANTS",
    "RoundTrip",
    "StreamError",
    "check_instance",
    "compress",
    "decompress",
    "differs",
    "instance",
    "prepare",
    "queries",
    "reference",
    "solve",
]


class RoundTrip(NamedTuple):
    """An array compressed and decompressed: the stream (uint8), the values (the array's shape and type), the Run."""

    stream: np.ndarray
    values: np.ndarray
    run: Run


def check_instance(data: str, /, **parameters: Any) -> dict[str, Any]:
    """All parameters of the array of an experiment. Raises ValueError, as problem.py says."""
    chosen = check_parameters("compression", parameters, INSTANCE, data)
    basis, qubits = chosen["basis"], chosen["qubits"]
    if basis is not None and chosen["data"] != "qft":
        raise ValueError(f"basis goes with data qft, not {chosen['data']}")
    if basis is not None and basis >= 2**qubits:
        raise ValueError(f"basis is {basis}, a state of {qubits} qubits is in [0, {2**qubits:,})")
    return chosen


def instance(inputs: Mapping[str, Any], **parameters: Any) -> Instance:
    """The array of an experiment, parameters as in INSTANCE.

    Raises ValueError for a parameter that is off, for masked entries, and for an array of another type than those that
    can be compressed, naming them. What is generated is filled in where a solver needs it, on a GPU without the host's
    memory.
    """
    from saitan.compression.data import make

    checked_inputs("compression", inputs, INPUTS)
    values = plain_array(inputs["values"], "values") if inputs else None
    return make(values, **check_instance("given" if inputs else "generated", **parameters))


def queries(instance: Instance, count: int, seed: int) -> list[int]:
    """There is one question, the round trip."""
    return [0]


def _only_query(query: int) -> int:
    if checked_count("query", query):
        raise ValueError(f"query {query} is not 0, which is the only one")
    return 0


def reference(instance: Instance, query: int) -> None:
    """Nothing: every validation compares all values with the array itself."""
    return None


def differs(reference: Any, answer: dict[str, np.ndarray]) -> None:
    """Nothing, as there is no reference."""
    return None


def prepare(instance: Instance, variant: str, backend: str, **parameters: Any) -> Solver:
    """The Solver of a variant on "cpu" or "cuda", with what it needs on the device. The only query is 0.

    It answers for the array as it is now: after a write into it another one is wanted.
    Raises ValueError for what `instance` did not make, a backend other than these two, and a variant or parameter that
    is unknown or off; Unavailable where it cannot run here or not on this array, integers with a parameter for floats,
    say.
    """
    from saitan.compression.data import Instance
    from saitan.compression.format import checked_bound, floats_only

    chosen = known_variant(VARIANTS, variant)
    checked_instance(instance, Instance, 'compression.instance({"values": array})')
    given = check_parameters(variant, parameters, chosen.parameters)
    loss = given.get("keep_bits", 52), given.get("bound")
    if reason := floats_only(instance.dtype, *loss):
        raise Unavailable(reason)
    checked_bound(instance.dtype, *loss)
    made = typed(prepared(chosen.load(backend, variant), _only_query, instance, **given), values=(instance.dtype,))
    made._lossless = not altered(chosen, given)
    return made


@described(VARIANTS)
def solve(array, variant: str = "fast", backend: str = "auto", **parameters: Any) -> RoundTrip:
    """One validated round trip of a NumPy array by any variant.

    array       of any shape, of a dtype that `compress` takes; the ladder (fpc to c1c2c3) takes doubles only
    variant     a name of those below
    backend     "cpu", "cuda", or "auto": the GPU where there is one and the variant has it
    parameters  of the variant, below

    Raises ValueError for a variant, parameter or backend that is unknown or off and for a dtype that nothing takes;
    Unavailable where the variant cannot run here or does not take the dtype; Invalid where a value comes back beyond
    its bound, or the variant writes into the array.
    """
    from saitan.compression.data import make
    from saitan.untouched import untouched

    array = plain_array(array, "array")
    backend = backend_for(known_variant(VARIANTS, variant), backend)
    instance = make(array)
    with untouched(instance, variant), closing(prepare(instance, variant, backend, **parameters)) as solver:
        run = solver.run(0)
        solver.validate()
        answer = solver.answer()
    stream, values = answer.get("stream"), answer.get("values")
    check_output("stream", stream, (None,), OUTPUTS["stream"].dtype)
    check_output("values", values, (instance.count,))
    return RoundTrip(stream, values.view(array.dtype).reshape(array.shape), run)


def compress(array, keep_bits: int | None = None, bound: float | None = None, progress=None):
    """The stream (FORMAT.md) of an array of floats of 32 or 64 bits, integers of 8 to 64, or complex numbers.

    array      a NumPy array gives a NumPy array of uint8 [bytes]; one on the device, which has __cuda_array_interface__
               and is contiguous, a PyCUDA GPUArray
    keep_bits  mantissa bits of floats that are kept, rounded to nearest: every relative error is at most
               2^-(keep_bits + 1), special values are exact; None for all, which is lossless, as integers always are
    bound      in place of keep_bits, the largest absolute error of floats; NaNs, infinities and -0 are exact
    progress   called with the number of values done, now and then; on the CPU only

    A stream holds the values in order without their shape. Complex numbers come back as pairs of floats.
    Raises ValueError for another dtype, a keep_bits or bound that is off, or both; Unavailable where a device is needed
    and there is none, or memory has no room.
    """
    from saitan.compression.data import check_type, make
    from saitan.compression.format import checked_bound

    if progress is not None:
        checked_function("progress", progress)
    if keep_bits is not None and bound is not None:
        raise ValueError("bound and keep_bits exclude each other")
    known = VARIANTS["fast"].parameters["keep_bits"]
    kept = known.default if keep_bits is None else keep_bits
    if reason := known.wrong(kept):
        raise ValueError(f"keep_bits {reason}")
    if not isinstance(array, np.ndarray) and hasattr(array, "__cuda_array_interface__"):
        from saitan.compression import cuda_fast

        check_type(np.dtype(array.__cuda_array_interface__["typestr"]))
        return cuda_fast.compress(array, kept, bound)
    from saitan.compression import cpu_fast

    instance = make(plain_array(array, "array"))
    bound = checked_bound(instance.dtype, kept, bound)
    return cpu_fast.compress(instance.host(), kept, instance.row, bound, instance.components == 2, progress=progress)


def decompress(stream, start: int = 0, stop: int | None = None):
    """Values start to stop - 1 of a stream (all by default), flat, of its dtype; only their chunks are read.

    stream: bytes or a NumPy array of uint8, which give a NumPy array; or an array of uint8 on the device, which gives a
    PyCUDA GPUArray. Raises StreamError (a ValueError) for what is no stream, is cut off or damaged, naming the chunk;
    ValueError for a range that the stream does not have, TypeError for one that is no whole numbers; Unavailable
    where memory has no room for the values.
    """
    if isinstance(start, bool) or isinstance(stop, bool):
        raise TypeError(f"a range of values is whole numbers, not {shown(start)} to {shown(stop)}")
    start, stop = index(start), None if stop is None else index(stop)
    if not isinstance(stream, np.ndarray) and hasattr(stream, "__cuda_array_interface__"):
        from saitan.compression import cuda_fast

        return cuda_fast.decompress(stream, start, stop)
    from saitan.compression import cpu_fast

    return cpu_fast.decompress(_stream_bytes(stream), start, stop)


def _stream_bytes(stream: Any) -> np.ndarray:
    """A stream on the host, uint8 [bytes]. Raises StreamError for what holds no bytes, ValueError for masked ones."""
    if isinstance(stream, np.ndarray):
        data = plain_array(stream, "stream")
    else:
        try:
            view = memoryview(stream)
        except TypeError:
            raise StreamError(f"a stream is bytes or a flat array of uint8, not {type(stream).__name__}") from None
        data = np.frombuffer(view, np.uint8) if view.c_contiguous else np.asarray(view)
    if data.dtype != np.uint8 or data.ndim != 1:
        raise StreamError(f"a stream is a flat array of uint8, not {data.dtype} {data.shape}")
    return data
