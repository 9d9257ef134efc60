# Measuring: one job, one process, one file a point. A timed job takes all cores, so that nothing runs beside it.


rule queries:
    input:
        lambda wc: plan.inputs_of(plan.query_point(wc)),
    output:
        queries=f"{RESULTS}/instances/{{problem}}/{{data}}/{{instance}}/{{drawn}}-{{seed}}.queries.json",
        reference=f"{RESULTS}/instances/{{problem}}/{{data}}/{{instance}}/{{drawn}}-{{seed}}.reference.npz",
    log:
        f"{RESULTS}/logs/queries/{{problem}}/{{data}}/{{instance}}/{{drawn}}-{{seed}}.log",
    params:
        settings=lambda wc: plan.query_settings(wc),
        data=lambda wc: plan.input_option(plan.query_point(wc)),
        identity=lambda wc: plan.queries_identity(plan.query_point(wc)),
    shell:
        "python -m saitan.workflow.queries --settings {params.settings:q} {params.data} --identity {params.identity}"
        " --queries {output.queries:q} --reference {output.reference:q} --log {log:q}"


rule measure:
    input:
        data=lambda wc: plan.inputs_of(plan.point(wc)),
        queries=lambda wc: plan.queries_of(plan.point(wc)),
        reference=lambda wc: plan.reference_of(plan.point(wc)),
        cubins=lambda wc: plan.cubins_of(plan.point(wc)),
    output:
        f"{plan.run}/samples/{{experiment}}/{{backend}}/{{graph}}/{{variant}}/{{point}}.parquet",
    log:
        f"{plan.run}/logs/measure/{{experiment}}/{{backend}}/{{graph}}/{{variant}}/{{point}}.log",
    # Before what is drawn of it, which then shares the cores.
    priority: 1
    threads: lambda wc: plan.machine.cores
    resources:
        # Of a point with ranks: a GPU each, what starts them, and how many.
        gpu=lambda wc: plan.gpus_of(plan.point(wc)),
        mpi=lambda wc: plan.launcher_of(plan.point(wc)),
        tasks=lambda wc: plan.point(wc).ranks,
        cpus_per_task=lambda wc: plan.cores_of(plan.point(wc)),
    params:
        # With the identity of the point: its code and, on the CPU, its cores.
        settings=lambda wc: plan.measure_settings(plan.point(wc)),
        data=lambda wc: plan.input_option(plan.point(wc)),
        cubins=f"{RESULTS}/cubins",
        launch=lambda wc, resources: plan.launch(plan.point(wc), resources),
        ranks=lambda wc: plan.rank_options(plan.point(wc)),
        together=lambda wc: plan.together_option(plan.point(wc)),
    shell:
        "SAITAN_CUBINS={params.cubins} {params.launch} python -m saitan.workflow.measure --settings {params.settings:q}"
        " {params.data} --queries {input.queries:q} --reference {input.reference:q} --cores {threads} {params.ranks}"
        " {params.together} --output {output:q} --log {log:q}"


# An answer that another experiment reads, or that the user wants: run once, untimed, checked, written block by block.
rule keep:
    input:
        data=lambda wc: plan.inputs_of(plan.kept_point(wc)),
        queries=lambda wc: plan.queries_of(plan.kept_point(wc)),
        reference=lambda wc: plan.reference_of(plan.kept_point(wc)),
        cubins=lambda wc: plan.cubins_of(plan.kept_point(wc)),
    output:
        f"{RESULTS}/answers/{{problem}}/{{backend}}/{{graph}}/{{variant}}/{{point}}/{{drawn}}-{{seed}}/{{form}}/{{output}}.parquet",
    log:
        f"{RESULTS}/logs/keep/{{problem}}/{{backend}}/{{graph}}/{{variant}}/{{point}}/{{drawn}}-{{seed}}/{{form}}/{{output}}.log",
    threads: lambda wc: plan.machine.cores
    resources:
        gpu=lambda wc: plan.gpus_of(plan.kept_point(wc)),
        mpi=lambda wc: plan.launcher_of(plan.kept_point(wc)),
        tasks=lambda wc: plan.kept_point(wc).ranks,
        cpus_per_task=lambda wc: plan.cores_of(plan.kept_point(wc)),
    params:
        # With the answer's identity.
        settings=lambda wc: plan.keep_settings(wc),
        data=lambda wc: plan.input_option(plan.kept_point(wc)),
        cubins=f"{RESULTS}/cubins",
        folder=subpath(output[0], parent=True),
        launch=lambda wc, resources: plan.launch(plan.kept_point(wc), resources),
        ranks=lambda wc: plan.rank_options(plan.kept_point(wc)),
    shell:
        "SAITAN_CUBINS={params.cubins} {params.launch} python -m saitan.workflow.keep --settings {params.settings:q}"
        " {params.data} --queries {input.queries:q} --reference {input.reference:q} --cores {threads} {params.ranks}"
        " --folder {params.folder:q} --outputs {wildcards.output:q} --keep-as {wildcards.form} --log {log:q}"
