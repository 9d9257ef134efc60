"""Write down what a run consists of, for the report: experiments, points, graphs, what is left out and why."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from saitan.workflow.files import beside
from saitan.workflow.graphs.catalogue import Downloaded
from saitan.workflow.plan import PUBLISHED, RESULTS, Plan, plan_from
from saitan.workflow.published import read_published
from saitan.workflow.report_plan import (
    LeftOut,
    PlannedExperiment,
    PlannedFigure,
    PlannedGraph,
    PlannedPoint,
    PlannedStep,
    ReportPlan,
)
from saitan.workflow.step import run_step


def outline(plan: Plan) -> ReportPlan:
    """The report's view of a plan. Experiments of which nothing can run here are left to `skipped`."""
    published = read_published(PUBLISHED).experiments
    return ReportPlan(
        title=plan.config.title,
        experiments=[
            PlannedExperiment(
                name=name,
                title=experiment.title,
                text=experiment.text,
                problem=experiment.problem,
                variants=list(experiment.variants),
                instance=list(experiment.instance),
                origin=published[name].origin if name in published else None,
                table=Path(f"{RESULTS}/tables/{name}.parquet"),
                figure=PlannedFigure(
                    svg=Path(f"{RESULTS}/figures/{name}.svg"), spec=Path(f"{RESULTS}/figures/{name}.json")
                )
                if experiment.figure
                else None,
            )
            for name, experiment in plan.config.experiments.items()
            if plan.shown_of(name)
        ],
        points=[PlannedPoint(name=p.name, samples=Path(p.samples), log=Path(p.log)) for p in plan.points],
        steps=list(_steps(plan)),
        skipped=[LeftOut(what=s.what, reason=s.reason) for s in dict.fromkeys(plan.skipped)],
        resources=[Path(path) for path in plan.resources],
        graphs=[
            PlannedGraph(
                name=graph,
                title=plan.entries[graph].title,
                folder=Path(plan.graph_folder(graph)),
                synthetic=entry.synthetic if isinstance(entry := plan.entries[graph], Downloaded) else None,
            )
            for graph in plan.graphs
        ],
    )


def _steps(plan: Plan):
    for graph in plan.graphs:
        for file in plan.downloads_of(graph):
            name = Path(file).name
            yield PlannedStep(what=f"fetch {name}", output=Path(file), log=Path(f"{RESULTS}/logs/fetch/{name}.log"))
        kind = "convert" if graph in plan.downloaded else "generate"
        log = Path(f"{RESULTS}/logs/{kind}/{graph}.log")
        yield PlannedStep(what=f"{kind} {graph}", output=Path(plan.graph_files(graph)[0]), log=log)
    for cubin in plan.cubins:
        where = Path(cubin).relative_to(f"{RESULTS}/cubins").with_suffix("")
        yield PlannedStep(what=f"compile {where}", output=Path(cubin), log=Path(f"{RESULTS}/logs/compile/{where}.log"))


def write_outline(arguments: argparse.Namespace) -> None:
    with beside(arguments.output) as path:
        path.write_text(outline(plan_from(json.loads(arguments.config))).model_dump_json(indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", required=True, help="the run's configuration as JSON")
    parser.add_argument("--output", type=Path, required=True, help=".json to write")
    run_step(write_outline, parser)


if __name__ == "__main__":
    main()
