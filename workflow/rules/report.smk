# From raw samples to tables, figures and the report.


for name in plan.config.experiments:

    rule:
        name:
            name
        input:
            plan.files_of(name),


# What the steps after it are told, as files: the paths of many points are too long for an argument. No `script`: the one
# that Snakemake writes would answer Ctrl-C, while it is read, with a traceback that shows all of it.
rule outline:
    input:
        published=plan.source("config/published.yaml"),
    output:
        plan.outlines,
    log:
        f"{plan.run}/logs/outline.log",
    params:
        told=plan.steps_told,
        identity=digest(told),
    shell:
        "python -m saitan.workflow.write_plan --told {params.told:q} --log {log:q}"


rule tabulate:
    input:
        plan=f"{plan.run}/plan/{{experiment}}.json",
        samples=lambda wc: [point.samples for point in plan.points_of(wc.experiment)],
        graphs=lambda wc: [
            file for g in plan.graphs_of(wc.experiment) for file in plan.graph_files(g)
        ],
        published=plan.source("config/published.yaml"),
        ceilings=plan.source("config/ceilings.yaml"),
    output:
        table=f"{plan.run}/tables/{{experiment}}.parquet",
        csv=report(
            f"{plan.run}/tables/{{experiment}}.csv",
            caption="../captions/table.rst",
            category="{experiment}",
        ),
        figure=f"{plan.run}/tables/{{experiment}}.figure.parquet",
    log:
        f"{plan.run}/logs/tabulate/{{experiment}}.log",
    params:
        identity=lambda wc: plan.table_identity(wc.experiment),
    shell:
        "python -m saitan.workflow.tabulate --plan {input.plan:q} --log {log:q}"


rule draw:
    input:
        f"{plan.run}/tables/{{experiment}}.figure.parquet",
    output:
        svg=report(
            f"{plan.run}/figures/{{experiment}}.svg",
            caption="../captions/figure.rst",
            category="{experiment}",
        ),
        spec=f"{plan.run}/figures/{{experiment}}.json",
    log:
        f"{plan.run}/logs/draw/{{experiment}}.log",
    params:
        figure=lambda wc: plan.figure_settings(wc.experiment),
        identity=lambda wc: plan.table_identity(wc.experiment),
    shell:
        "python -m saitan.workflow.figures --experiment {wildcards.experiment} --figure {params.figure:q}"
        " --data {input:q} --svg {output.svg:q} --spec {output.spec:q} --log {log:q}"


rule vega:
    output:
        VEGA,
    log:
        f"{RESULTS}/logs/vega.log",
    params:
        code=steps_code(),
    shell:
        "python -m saitan.workflow.vega --output {output:q} --log {log:q}"


templates = [
    plan.source(f"workflow/report_template/{file}")
    for file in ("page.html", "page.css", "page.js", "index.html")
]
quoted = [plan.source(f"config/{name}.yaml") for name in ("peers", "ceilings")]


rule report:
    input:
        vega=[VEGA] if plan.draws else [],
        quoted=quoted,
        plan=f"{plan.run}/plan.json",
        shown=[file for name in plan.config.experiments for file in plan.shown_of(name)],
        resources=plan.resources,
        graphs=[file for graph in plan.graphs for file in plan.graph_files(graph)],
        answers=plan.kept,
        templates=templates,
    output:
        page=plan.report,
        listed=plan.listed,
        summary=plan.summary,
    log:
        f"{plan.run}/logs/report.log",
    params:
        # Another file may be older than the page. Of a function of the inputs, Snakemake keeps no record.
        shown=text_digest(filter(os.path.exists, [*quoted, *templates])),
        code=steps_code(),
        vega=lambda _: VEGA,
        index=INDEX,
    shell:
        "python -m saitan.workflow.report --plan {input.plan:q} --vega {params.vega:q} --peers {input.quoted[0]:q}"
        " --output {output.page:q} --index {params.index:q} --log {log:q} > {output.summary:q}"
