"""What tropical declares: inputs, outputs, parameters, variants, metrics, as kernels/problem.py describes them."""

from __future__ import annotations

from saitan.problem import Input, Metric, Output, Parameter, Variant

TITLE = "Tropical matrix product"

INPUTS = {"graph": Input("graph", "whose weights are the matrix; random matrices without one", optional=True)}

OUTPUTS = {"c": Output("[m, n], the product")}

HEADLINE = "tops"

_REUSE = {"reuse": Parameter(bool, False, "keep the tables of tiles from one product to the next")}
_GRAINS = ("tile", "warp", "element", "tile+warp", "tile+element", "warp+element", "tile+warp+element")


def _skipping(grain: str) -> dict[str, Parameter]:
    return {"grain": Parameter(str, grain, "what is skipped as a whole", _GRAINS), **_REUSE}


VARIANTS = {
    "untiled": Variant(
        "an entry of C a thread, operands from device memory",
        cpu="saitan.tropical.cpu:Untiled",
        cuda="saitan.tropical.cuda:Untiled",
        cubins=("tiled", "validate"),
    ),
    "tiled": Variant(
        "tiles of 32 x 32 staged in shared memory, nothing skipped",
        cpu="saitan.tropical.cpu:Tiled",
        cuda="saitan.tropical.cuda:Tiled",
        cubins=("tiled", "validate"),
    ),
    "skip-infinity": Variant(
        "tiled, skipping what an infinite factor absorbs",
        cpu="saitan.tropical.cpu:SkipInfinity",
        cuda="saitan.tropical.cuda:SkipInfinity",
        cubins=("tiled", "validate"),
        parameters=_skipping("tile"),
    ),
    "skip-both": Variant(
        "skip-infinity, and nothing more for an entry that has reached zero",
        cpu="saitan.tropical.cpu:SkipBoth",
        cuda="saitan.tropical.cuda:SkipBoth",
        cubins=("tiled", "validate"),
        parameters={
            **_skipping("tile+element"),
            "neutral": Parameter(bool, False, "a tile that is the identity is a copy of the other factor"),
        },
    ),
    "fast": Variant(
        "register-tiled, three-input minima, operands packed and their infinite tiles skipped",
        cpu="saitan.tropical.cpu_fast:Fast",
        cuda="saitan.tropical.cuda_fast:Fast",
        cubins=("fast", "small", "validate"),
        parameters=_REUSE,
        architecture="sm_80",
    ),
    "dense": Variant(
        "fast, infinite tiles computed like any others",
        cpu="saitan.tropical.cpu_fast:Dense",
        cuda="saitan.tropical.cuda_fast:Dense",
        cubins=("fast", "small", "validate"),
        parameters=_REUSE,
        architecture="sm_80",
    ),
    "numpy": Variant("NumPy's broadcast sum and minimum.reduce", cpu="saitan.tropical.peers:NumPy"),
}

INSTANCE = {
    "n": Parameter(int, 1024, "rows and columns; with a graph, of the leading block of its weight matrix", least=1),
    "infinite": Parameter(float, 0.0, "share of infinite entries", data="generated", least=0, most=1),
    "zero": Parameter(float, 0.0, "share of zero entries among the rest", data="generated", least=0, most=1),
    "by": Parameter(str, "tile", "what is infinite or zero as a whole", ("tile", "element"), "generated"),
    "tile": Parameter(int, None, "edge of those tiles, 128 by default", data="generated", least=1),
    "dtype": Parameter(str, "float32", "of the entries", ("float32", "int32", "uint16")),
    "semiring": Parameter(
        str,
        "min_plus",
        "the one to multiply over; max_plus negates weights and random entries",
        ("min_plus", "max_plus"),
    ),
    "seed": Parameter(int, 1, "of the random entries", data="generated", least=0),
    "order": Parameter(str, "bfs", "of a graph's vertices", ("bfs", "file"), "given"),
}

METRICS = {
    "tops": Metric("2 m k n operations over the kernel time, whether skipped or not", "TOP/s", better="more"),
    "prepass_s": Metric("the pre-pass within the kernel time (0 where it is reused or there is none)", "s"),
    "tiles_infinite": Metric("share of the tiles of both matrices that are all infinite"),
    "tiles_skipped": Metric("share of the tile products that an infinite tile saves"),
}
