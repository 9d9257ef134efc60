# From raw samples to tables, figures and the report.


for name in plan.config.experiments:

    rule:
        name:
            name
        input:
            plan.shown_of(name),


rule tabulate:
    input:
        samples=lambda wc: [point.samples for point in plan.points_of(wc.experiment)],
        graphs=lambda wc: [
            file for g in plan.graphs_of(wc.experiment) for file in plan.graph_files(g)
        ],
        published=PUBLISHED,
        steps=["workflow/tabulate.py", "workflow/views.py", "workflow/published.py"],
    output:
        table=f"{RESULTS}/tables/{{experiment}}.parquet",
        csv=report(
            f"{RESULTS}/tables/{{experiment}}.csv",
            caption="../captions/table.rst",
            category="{experiment}",
        ),
        figure=f"{RESULTS}/tables/{{experiment}}.figure.parquet",
    log:
        f"{RESULTS}/logs/tabulate/{{experiment}}.log",
    params:
        settings=lambda wc: plan.config.experiments[wc.experiment].model_dump_json(),
        models=lambda wc: plan.models_of(wc.experiment),
        graphs=lambda wc: [plan.graph_folder(g) for g in plan.graphs_of(wc.experiment)],
    shell:
        "python -m saitan.workflow.tabulate --experiment {wildcards.experiment} --settings {params.settings:q}"
        " --published {input.published:q} --models {params.models:q} --samples {input.samples:q}"
        " --graphs {params.graphs:q} --table {output.table:q} --csv {output.csv:q} --figure {output.figure:q}"
        " --log {log:q}"


rule draw:
    input:
        data=f"{RESULTS}/tables/{{experiment}}.figure.parquet",
        steps=["workflow/figures.py", "workflow/vega.py"],
    output:
        svg=report(
            f"{RESULTS}/figures/{{experiment}}.svg",
            caption="../captions/figure.rst",
            category="{experiment}",
        ),
        spec=f"{RESULTS}/figures/{{experiment}}.json",
    log:
        f"{RESULTS}/logs/draw/{{experiment}}.log",
    params:
        figure=lambda wc: plan.figure_settings(wc.experiment),
    shell:
        "python -m saitan.workflow.figures --experiment {wildcards.experiment} --figure {params.figure:q}"
        " --data {input.data:q} --svg {output.svg:q} --spec {output.spec:q} --log {log:q}"


rule outline:
    input:
        published=PUBLISHED,
    output:
        f"{RESULTS}/plan.json",
    log:
        f"{RESULTS}/logs/outline.log",
    params:
        config=plan.settings(),
        # What of this machine decides what can run: another answer is another outline.
        skipped=[(left_out.what, left_out.reason) for left_out in plan.skipped],
    shell:
        "python -m saitan.workflow.outline --config {params.config:q} --output {output:q} --log {log:q}"


rule vega:
    input:
        "workflow/vega.py",
    output:
        VEGA,
    log:
        f"{RESULTS}/logs/vega.log",
    shell:
        "python -m saitan.workflow.vega --output {output:q} --log {log:q}"


rule report:
    input:
        vega=VEGA,
        peers=PEERS,
        plan=f"{RESULTS}/plan.json",
        shown=[file for name in plan.config.experiments for file in plan.shown_of(name)],
        resources=plan.resources,
        graphs=[file for graph in plan.graphs for file in plan.graph_files(graph)],
        step=[
            "workflow/report.py",
            "workflow/report_facts.py",
            "workflow/report_tables.py",
            "workflow/ranking.py",
        ],
        templates=collect(
            "workflow/report_template/{file}",
            file=["page.html", "page.css", "page.js"],
        ),
    output:
        page=f"{RESULTS}/report.html",
        summary=SUMMARY,
    log:
        f"{RESULTS}/logs/report.log",
    shell:
        "python -m saitan.workflow.report --plan {input.plan:q} --vega {input.vega:q} --peers {input.peers:q}"
        " --output {output.page:q} --log {log:q} > {output.summary:q}"
