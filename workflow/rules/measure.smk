# Measuring: one job, one process, one file a point. A timed job takes all cores, so that nothing runs beside it.


rule queries:
    input:
        graph=lambda wc: plan.graph_files(wc.graph),
        solver=lambda wc: plan.reference_modules(wc.problem),
    output:
        queries=f"{RESULTS}/instances/{{problem}}/{{graph}}/{{instance}}/{{drawn}}-{{seed}}.queries.json",
        reference=f"{RESULTS}/instances/{{problem}}/{{graph}}/{{instance}}/{{drawn}}-{{seed}}.reference.npz",
    log:
        f"{RESULTS}/logs/queries/{{problem}}/{{graph}}/{{instance}}/{{drawn}}-{{seed}}.log",
    wildcard_constraints:
        drawn=r"\d+",
        seed=r"-?\d+",
    params:
        settings=lambda wc: plan.query_settings(wc),
        graph=lambda wc: plan.graph_option(wc.graph),
    shell:
        "python -m saitan.workflow.queries --settings {params.settings:q} {params.graph}"
        " --queries {output.queries:q} --reference {output.reference:q} --log {log:q}"


rule measure:
    input:
        graph=lambda wc: plan.graph_files(wc.graph),
        queries=lambda wc: plan.queries_of(plan.point(wc)),
        reference=lambda wc: plan.reference_of(plan.point(wc)),
        cubins=lambda wc: plan.cubins_of(plan.point(wc)),
        drivers=lambda wc: plan.drivers_of(plan.point(wc)),
    output:
        f"{RESULTS}/samples/{{experiment}}/{{backend}}/{{graph}}/{{variant}}/{{point}}.parquet",
    log:
        f"{RESULTS}/logs/measure/{{experiment}}/{{backend}}/{{graph}}/{{variant}}/{{point}}.log",
    # Before what is drawn of it, which then shares the cores.
    priority: 1
    threads: lambda wc: workflow.resource_settings.cores or 1
    resources:
        gpu=lambda wc: int(wc.backend == "cuda"),
    params:
        settings=lambda wc: plan.measure_settings(plan.point(wc)),
        graph=lambda wc: plan.graph_option(wc.graph),
        cubins=lambda wc: plan.cubin_folder(plan.point(wc)),
    shell:
        "SAITAN_CUBINS={params.cubins:q} python -m saitan.workflow.measure --settings {params.settings:q} {params.graph}"
        " --queries {input.queries:q} --reference {input.reference:q} --threads {threads}"
        " --output {output:q} --log {log:q}"
