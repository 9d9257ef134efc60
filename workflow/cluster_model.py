"""Paper H's search on more processes than there are: measure points on ranks, then model the rest and draw it dashed.

    mpirun -n 2 python -m saitan.workflow.cluster_model measure --ranks 2 --scale 17 --out results/model
    mpirun -n 8 python -m saitan.workflow.cluster_model measure --ranks 8 --scale 19 --out results/model
    python -m saitan.workflow.cluster_model draw results/model

`measure` searches a Kronecker graph with the variant `cluster`, on the CPU with a core a rank, and writes
<backend>-<ranks>-<scale>.json: what every level took, and .npz: the levels of all vertices, of which `draw` counts what
was looked at and sent. It fits a model to all points of a backend (saitan.bfs.cluster_model), says how far it is from
each of them, and writes model.csv and model.svg: the nodes of the paper's Fig 9 (which prints no numbers; 2^23 vertices
each, processes as in its Table 2) on the CPU, 2^24 vertices a GPU on GPUs, beside what was published of as many.
Network: that of the ranks measured unless given. Points of more ranks than cores or GPUs are left out: the model knows
nothing of ranks that take turns.
"""

from __future__ import annotations

import argparse
import json
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numba import set_num_threads

from saitan import bfs, ranks
from saitan.bfs.cluster_count import Counted, count
from saitan.bfs.cluster_model import Model, enlarged
from saitan.bfs.partition import PROCESSES
from saitan.errors import Unavailable
from saitan.files import beside
from saitan.generators import GENERATORS
from saitan.problem import Parameter
from saitan.workflow.measure import crowded_by
from saitan.workflow.step import ERROR

SEED = 1
# Rounds of all roots; of each root's runs the one of median time counts, as other work on a machine lengthens some.
ROUNDS = 5
# Vertices of a node of the paper, and of a GPU; processes of the paper's 1 to 64 nodes.
NODE, GPU = 1 << 23, 1 << 24
NODES = {1: 2, 2: 8, 4: 8, 8: 32, 16: 32, 32: 128, 64: 128}
# First of Graph500's list of November 2025: NVIDIA and CoreWeave, 8,192 H100, 2.2e12 vertices, 410e12 TEPS.
PUBLISHED_GPUS, PUBLISHED_TEPS = 8192, 410e12


def measure(arguments: argparse.Namespace) -> None:
    """One point, on all ranks."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    joined = ranks.join(arguments.ranks) if arguments.ranks > 1 else ranks.current()
    if arguments.backend == "cpu":
        set_num_threads(1)
    graph = GENERATORS["kronecker"](scale=arguments.scale, seed=SEED)
    solver = bfs.prepare(graph, "cluster", arguments.backend)
    roots = bfs.queries(graph, arguments.roots, SEED)
    for root in roots:
        # What a direction's first level loads or compiles is no part of a search.
        solver.run(root)
    rounds = [[_search(solver, root) for root in roots] for _ in range(ROUNDS)]
    runs = (sorted(of_root, key=lambda run: run[0]["seconds"]) for of_root in zip(*rounds, strict=True))
    searches, levels = zip(*(of_root[ROUNDS // 2] for of_root in runs), strict=True)
    point = {"backend": arguments.backend, "ranks": joined.size, "scale": arguments.scale}
    about = {"told": solver.told, "crowded": crowded_by(arguments.backend, joined, 1)}
    if joined.leads:
        name = "-".join(str(value) for value in point.values())
        with beside(arguments.out / f"{name}.npz") as part, part.open("wb") as file:
            np.savez_compressed(file, levels=np.stack(levels).astype(np.int8))
        _write(arguments.out / f"{name}.json", json.dumps(point | about | {"searches": searches}))
    solver.close()


def _write(path: Path, text: str) -> None:
    with beside(path) as part:
        part.write_text(text, encoding="utf-8")


def _search(solver: Any, root: int) -> tuple[dict[str, Any], np.ndarray]:
    run = solver.run(root)
    solver.validate()
    found: dict[str, Any] = {"seconds": run.kernel, "edges": run.counters["edges"]}
    found |= {name: run.phases[name].tolist() for name in ("direction", "compute", "communication", "waiting")}
    return found, solver.answer()["levels"]


def _read(path: Path) -> dict[str, Any]:
    """A point, with the levels of its searches, int8 [searches, n]. Raises ValueError naming a file that is damaged."""
    file = path
    try:
        point = json.loads(path.read_text(encoding="utf-8"))
        file = path.with_suffix(".npz")
        point["levels"] = np.load(file)["levels"]
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{file} is damaged: copy or measure the point again ({error})") from None
    return point


def _counts(point: dict[str, Any], processes: int, told: bool = False) -> list[Counted]:
    """Of every search of a point. told: see saitan.bfs.cluster_count.count."""
    graph = GENERATORS["kronecker"](scale=point["scale"], seed=SEED)
    searches = zip(point["levels"].astype(np.int32), point["searches"], strict=True)
    return [count(graph, levels, search["direction"], processes, told) for levels, search in searches]


def modelled(points: list[dict[str, Any]], latency: float | None, rate: float | None) -> list[dict[str, Any]]:
    """Rows of the table, of one backend: every point measured and modelled, then those that are only modelled.

    Raises ValueError without a point whose ranks have a core or GPU each.
    """
    points = [point for point in points if not point["crowded"]]
    if not points:
        raise ValueError("no point has ranks with a core or GPU each, to which a model could be fitted")
    counts = [_counts(point, point["ranks"], point["told"]) for point in points]
    fitted = [
        (counted, search["seconds"], *(np.array(search[name]) for name in ("compute", "communication")))
        for own, point in zip(counts, points, strict=True)
        for counted, search in zip(own, point["searches"], strict=True)
    ]
    model, rows = Model.fitted(fitted), []
    for own, point in zip(counts, points, strict=True):
        about = {"backend": point["backend"], "processes": point["ranks"], "vertices": 1 << point["scale"]}
        rows.append(about | {"kind": "measured", "teps": _harmonic(point, [s["seconds"] for s in point["searches"]])})
        rows.append(about | {"kind": "modelled", "teps": _harmonic(point, [model.seconds(c) for c in own])})
    base = max(points, key=lambda point: point["scale"])
    model = replace(model, latency=model.latency if latency is None else latency, rate=rate or model.rate)
    backend, sizes = base["backend"], {}
    if backend == "cpu":
        sizes = {(processes, nodes): nodes * NODE for nodes, processes in NODES.items()}
    else:
        sizes = {(processes, processes): processes * GPU for processes in PROCESSES if processes >= 8}
    # GPUs tell one another of finds on one host alone.
    told = backend == "cpu"
    others = {processes: _counts(base, processes, told) for processes in dict.fromkeys(p for p, _ in sizes)}
    for (processes, nodes), vertices in sizes.items():
        times = vertices >> base["scale"]
        seconds = [model.seconds(enlarged(counted, times)) for counted in others[processes]]
        teps = _harmonic(base, seconds) * times
        about = {"backend": backend, "processes": processes, "nodes": nodes, "vertices": vertices}
        rows.append(about | {"kind": "modelled beyond", "teps": teps})
        if backend == "cuda":
            share = PUBLISHED_TEPS / PUBLISHED_GPUS
            rows.append(about | {"kind": "published, by GPU", "teps": share * processes})
    return rows


def _harmonic(point: dict[str, Any], seconds: list[float]) -> float:
    edges = [search["edges"] for search in point["searches"]]
    return len(edges) / sum(s / e for s, e in zip(seconds, edges, strict=True))


def draw(arguments: argparse.Namespace) -> None:
    """All points of a folder."""
    import altair as alt
    import pandas as pd

    points = [_read(path) for path in sorted(arguments.folder.glob("*.json"))]
    if not points:
        sys.exit(f"{ERROR}{arguments.folder} holds no points: `measure --out {arguments.folder}` writes them")
    for point in points:
        if point["crowded"]:
            print(f"{point['backend']} {point['ranks']} x, scale {point['scale']}: left out, {point['crowded']}")
    rows = []
    latency = None if arguments.latency_us is None else arguments.latency_us * 1e-6
    rate = None if arguments.rate_gb is None else arguments.rate_gb * 1e9
    for backend in sorted({point["backend"] for point in points}):
        rows += modelled([point for point in points if point["backend"] == backend], latency, rate)
    table = pd.DataFrame(rows)
    for _, pair in table[table["kind"].isin(["measured", "modelled"])].groupby(["backend", "processes", "vertices"]):
        measured, made = (pair.loc[pair["kind"] == kind, "teps"].iloc[0] for kind in ("measured", "modelled"))
        about = pair.iloc[0]
        where = f"{about.backend} {about.processes} x, {about.vertices:,} vertices"
        print(f"{where}: measured {measured:.3g}, modelled {made:.3g} TEPS, {made / measured - 1:+.0%}")
    _write(arguments.folder / "model.csv", table.to_csv(index=False))
    chart = alt.hconcat(*(_panel(alt, *of) for of in table.groupby("backend")))
    chart = chart.properties(title="Measured (points), modelled (dashed)")
    with beside(arguments.folder / "model.svg") as part:
        chart.save(part, format="svg")


def _panel(alt: Any, backend: str, table: Any) -> Any:
    """The chart of a backend."""
    titles = {"cpu": "Nodes; measured: processes", "cuda": "GPUs"}
    base = alt.Chart(table.assign(at=table["nodes"].fillna(table["processes"]))).encode(
        x=alt.X("at:Q", scale=alt.Scale(type="log", base=2), title=titles[backend]),
        y=alt.Y("teps:Q", scale=alt.Scale(type="log"), title="TEPS"),
    )
    lines = base.transform_filter("datum.kind == 'modelled beyond'").mark_line(strokeDash=[6, 4], point=True)
    marks = base.transform_filter("datum.kind == 'measured'").mark_point(filled=True, size=60)
    layers = [lines, marks]
    if backend == "cuda":
        share = f"published: {PUBLISHED_TEPS / PUBLISHED_GPUS / 1e9:.0f} GTEPS a GPU on {PUBLISHED_GPUS:,} H100"
        published = base.transform_filter("datum.kind == 'published, by GPU'")
        layers.append(published.mark_line(color="gray"))
        last = published.transform_filter(f"datum.at == {PUBLISHED_GPUS}")
        layers.append(last.mark_point(color="gray", filled=True, shape="diamond", size=80))
        layers.append(last.mark_text(color="gray", align="right", dx=-8, text=share))
    return alt.layer(*layers).properties(width=400, height=320)


def _checked(parameter: Parameter) -> Callable[[str], Any]:
    """What argparse reads a number by."""

    def number(text: str) -> Any:
        value = parameter.type(text)
        if reason := parameter.wrong(value):
            raise argparse.ArgumentTypeError(reason)
        return value

    return number


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m saitan.workflow.cluster_model", description="Paper H's search on more processes than there are."
    )
    commands = parser.add_subparsers(required=True)
    point = commands.add_parser("measure", help="one point, started by the launcher on its ranks")
    count = _checked(Parameter(int, None, "", least=1))
    point.add_argument("--ranks", type=count, required=True)
    point.add_argument("--scale", type=count, required=True, help="of the Kronecker graph")
    point.add_argument("--roots", type=count, default=16)
    point.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    point.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    point.set_defaults(do=measure)
    drawing = commands.add_parser("draw", help="model and chart of the points of a folder")
    drawing.add_argument("folder", type=Path, metavar="FOLDER")
    drawing.add_argument(
        "--latency-us",
        type=_checked(Parameter(float, None, "", least=0)),
        help="of a collective, a doubling of the processes; beyond what was measured",
    )
    drawing.add_argument(
        "--rate-gb",
        type=_checked(Parameter(float, None, "", above=0)),
        help="GB a second that a process sends, beyond what was measured",
    )
    drawing.set_defaults(do=draw)
    arguments = parser.parse_args()
    try:
        arguments.do(arguments)
    except (Unavailable, ValueError, OSError) as error:
        said = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
        print(f"{ERROR}{said}", file=sys.stderr)
        ranks.current().abort()
        sys.exit(1)


if __name__ == "__main__":
    main()
