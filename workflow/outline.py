"""What the steps after measuring are told of a run: experiments, points, graphs, what is left out and why."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from saitan.workflow.arrays import array_file
from saitan.workflow.config_model import Experiment, Measure
from saitan.workflow.graphs.catalogue import Downloaded
from saitan.workflow.numbers import as_text
from saitan.workflow.plan import VEGA, Plan
from saitan.workflow.points import RESULTS, Point
from saitan.workflow.published import read_published
from saitan.workflow.report_plan import (
    LeftOut,
    PlannedAnswer,
    PlannedArray,
    PlannedExperiment,
    PlannedFigure,
    PlannedGraph,
    PlannedPoint,
    PlannedStep,
    ReportPlan,
    TablePlan,
)
from saitan.workflow.sources import origin_of


def outline(plan: Plan, only: Collection[str] | None = None) -> ReportPlan:
    """The report's view of a plan, or of some of its experiments.

    Experiments of which nothing can run here are left to `skipped`.
    """
    published = read_published(Path(plan.source("config/published.yaml"))).experiments
    wanted = {name: e for name, e in plan.config.experiments.items() if only is None or name in only}
    return ReportPlan(
        name=plan.config.name,
        results=Path(RESULTS),
        title=plan.config.title,
        experiments=[
            PlannedExperiment(
                name=name,
                title=experiment.title,
                text=experiment.text,
                quantities=experiment.quantities if experiment.view in ("summary", "rivals") else [],
                compared=experiment.baseline if experiment.view == "rivals" else None,
                sampling=_sampling(experiment, plan.measure_of(name)) if experiment.variants else "",
                columns=_columns(experiment),
                phases=experiment.traced,
                problem=experiment.problem,
                variants=list(experiment.variants),
                instance=list(experiment.instance),
                origin=published[name].origin if name in published else None,
                printed=name in published and bool(published[name].quantities or published[name].points),
                launcher=next(filter(None, map(plan.launcher_of, plan.points_of(name))), None),
                identity=plan.table_identity(name),
                table=Path(f"{plan.run}/tables/{name}.parquet"),
                figure=PlannedFigure(
                    svg=Path(f"{plan.run}/figures/{name}.svg"), spec=Path(f"{plan.run}/figures/{name}.json")
                )
                if experiment.figure
                else None,
            )
            for name, experiment in wanted.items()
            if plan.shown_of(name)
        ],
        points=[_planned(point) for point in plan.points if point.experiment in wanted],
        steps=list(_steps(plan)) if only is None else [],
        skipped=[LeftOut(what=s.what, reason=s.reason) for s in plan.skipped],
        resources=[Path(path) for path in plan.resources],
        graphs=[
            PlannedGraph(
                name=graph,
                title=plan.entries[graph].title,
                folder=Path(plan.graph_folder(graph)),
                identity=plan.graph_identity(graph),
                synthetic=entry.synthetic if isinstance(entry := plan.entries[graph], Downloaded) else "generated",
            )
            for graph in plan.graphs
        ],
        arrays=[
            PlannedArray(
                name=name,
                title=(array := plan.arrays[name]).title,
                dtype=array.dtype,
                file=Path(array_file(name)),
                origin=origin_of(array.address),
                synthetic=array.synthetic,
            )
            for name in plan.arrays_used
        ],
        answers=[PlannedAnswer(file=Path(f), identity=identity) for f, identity in plan.kept_identities.items()],
        ceilings=Path(plan.source("config/ceilings.yaml")),
    )


def _columns(experiment: Experiment) -> list[str]:
    drawn = [column for _, column in experiment.figure.columns] if experiment.figure else []
    return [*([experiment.column] if experiment.traced else []), *drawn]


def _sampling(experiment: Experiment, measure: Measure) -> str:
    """What a point is asked, and for how long."""
    count = experiment.queries
    asked = "One query" if count == 1 else f"Up to {count:,} queries"
    known, budget = f"{100 * measure.spread:.4g}", as_text(measure.budget_s)
    return (
        f"{asked}, drawn by seed {experiment.seed}, in rounds until the median is known within {known} %, {budget} s"
        f" have passed, or {measure.max_rounds:,} rounds are done."
    )


def table_plan(plan: Plan, name: str) -> TablePlan:
    """What `workflow.tabulate` is told about an experiment."""
    return TablePlan(
        experiment=name,
        settings=plan.config.experiments[name],
        identity=plan.table_identity(name),
        models=plan.models_of(name),
        points=[_planned(point) for point in plan.points_of(name)],
        graphs=[Path(plan.graph_folder(graph)) for graph in plan.graphs_of(name)],
        published=Path(plan.source("config/published.yaml")),
        ceilings=Path(plan.source("config/ceilings.yaml")),
        table=Path(f"{plan.run}/tables/{name}.parquet"),
        csv=Path(f"{plan.run}/tables/{name}.csv"),
        figure=Path(f"{plan.run}/tables/{name}.figure.parquet"),
    )


def outline_files(plan: Plan) -> dict[str, str]:
    """Path -> content of the files that tell the steps of a run what to do."""
    told = [outline(plan), *(table_plan(plan, name) for name in plan.config.experiments)]
    return {file: one.model_dump_json(indent=1) for file, one in zip(plan.outlines, told, strict=True)}


def _planned(point: Point) -> PlannedPoint:
    return PlannedPoint(name=point.name, samples=Path(point.samples), log=Path(point.log), identity=point.identity)


def _steps(plan: Plan) -> Iterator[PlannedStep]:
    def step(what: str, output: str, log: str, *serves: str) -> PlannedStep:
        log = Path(f"{RESULTS}/logs/{log}.log")
        return PlannedStep(what=what, output=Path(output), log=log, serves=[Path(file) for file in serves])

    def last(what: str, output: str, log: str) -> PlannedStep:
        return PlannedStep(what=what, output=Path(output), log=Path(log), last=True)

    made_of = [(file, plan.graph_files(graph)[0]) for graph in plan.graphs for file in plan.downloads_of(graph)]
    made_of += [(plan.download_of_array(array), array_file(array)) for array in plan.arrays_used]
    for file in dict.fromkeys(file for file, _ in made_of):
        name = Path(file).name
        yield step(f"fetch {name}", file, f"fetch/{name}", *(made for of, made in made_of if of == file))
    for graph in plan.graphs:
        kind = "generate" if graph in plan.generated else "convert"
        yield step(f"{kind} {graph}", plan.graph_files(graph)[0], f"{kind}/{graph}")
    for array in plan.arrays_used:
        read_by = [point.samples for point in plan.points if point.graph == array]
        read_by += [answer for answer, point in plan.kept_points if point.graph == array]
        yield step(f"unpack {array}", array_file(array), f"array/{array}", *read_by)
    for cubin in plan.needed_cubins:
        where = str(Path(cubin).relative_to(f"{RESULTS}/cubins").with_suffix(""))
        yield step(f"compile {where}", cubin, f"compile/{where}")
    asking: dict[str, list[Point]] = {}
    for point in plan.points:
        asking.setdefault(plan.queries_of(point), []).append(point)
    for queries, points in asking.items():
        where = queries.removeprefix(f"{RESULTS}/instances/").removesuffix(".queries.json")
        readers = ", ".join(dict.fromkeys(point.experiment for point in points))
        serves = [point.samples for point in points]
        yield step(f"queries of {where} for {readers}", queries, f"queries/{where}", *serves)
    for answer in plan.kept:
        where = answer.removeprefix(f"{RESULTS}/answers/").removesuffix(".parquet")
        yield step(f"keep {where}", answer, f"keep/{where}")
    for name in plan.config.experiments:
        files = plan.shown_of(name)
        for rule, output in (
            ("tabulate", f"{plan.run}/tables/{name}.parquet"),
            ("draw", f"{plan.run}/figures/{name}.svg"),
        ):
            if output in files:
                yield last(f"{rule} {name}", output, f"{plan.run}/logs/{rule}/{name}.log")
    yield last("outline", f"{plan.run}/plan.json", f"{plan.run}/logs/outline.log")
    if plan.draws:
        yield last("vega", VEGA, f"{RESULTS}/logs/vega.log")
