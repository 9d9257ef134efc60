# CUDA kernels: one .cu and one architecture to one cubin, what ptxas says of it beside it.


rule cubins:
    input:
        plan.cubins,


rule compile:
    input:
        source=plan.source("kernels/{problem}/{stem}.cu"),
        headers=lambda wc: plan.headers_of(wc.problem, wc.stem),
        builder=plan.source("kernels/cuda/build.py"),
    output:
        cubin=f"{RESULTS}/cubins/{{arch}}/{{problem}}/{{stem}}.cubin",
        resources=f"{RESULTS}/cubins/{{arch}}/{{problem}}/{{stem}}.resources.json",
    log:
        f"{RESULTS}/logs/compile/{{arch}}/{{problem}}/{{stem}}.log",
    cache: True
    params:
        identity=lambda wc: plan.cubin_identity(wc.problem, wc.stem),
    shell:
        "python -m saitan.workflow.compile --source {input.source:q} --arch {wildcards.arch}"
        " --identity {params.identity} --output {output.cubin:q} --resources {output.resources:q} --log {log:q}"
