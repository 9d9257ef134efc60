# Graphs: downloaded or generated, to CSR in two Parquet files.


rule graphs:
    input:
        [file for graph in plan.graphs for file in plan.graph_files(graph)],


rule fetch:
    input:
        lambda wc: plan.local_copies(wc.file),
    output:
        f"{RESULTS}/downloads/{{file}}",
    log:
        f"{RESULTS}/logs/fetch/{{file}}.log",
    wildcard_constraints:
        file=plan.any_of(plan.files),
    cache: True
    params:
        settings=lambda wc: plan.fetch_settings(wc.file),
        # Another file of the mirror's folder may be older than the copy.
        content=lambda wc: plan.content_of(wc.file),
    shell:
        "python -m saitan.workflow.graphs.fetch {params.settings} --output {output:q} --log {log:q}"


rule convert:
    input:
        lambda wc: plan.downloads_of(wc.graph),
    output:
        vertices=f"{RESULTS}/graphs/{{graph}}/vertices.parquet",
        edges=f"{RESULTS}/graphs/{{graph}}/edges.parquet",
    log:
        f"{RESULTS}/logs/convert/{{graph}}.log",
    wildcard_constraints:
        graph=plan.any_of(plan.downloaded),
    cache: True
    params:
        settings=lambda wc: plan.convert_settings(wc.graph),
        identity=lambda wc: plan.graph_identity(wc.graph),
        folder=f"{RESULTS}/graphs/{{graph}}",
    shell:
        "python -m saitan.workflow.graphs.convert {params.settings} --identity {params.identity}"
        " --output {params.folder:q} --log {log:q}"


rule generate:
    output:
        vertices=f"{RESULTS}/graphs/{{graph}}/vertices.parquet",
        edges=f"{RESULTS}/graphs/{{graph}}/edges.parquet",
    log:
        f"{RESULTS}/logs/generate/{{graph}}.log",
    wildcard_constraints:
        graph=plan.any_of(plan.generated),
    cache: True
    params:
        settings=lambda wc: plan.generate_settings(wc.graph),
        identity=lambda wc: plan.graph_identity(wc.graph),
        folder=f"{RESULTS}/graphs/{{graph}}",
    shell:
        "python -m saitan.workflow.graphs.generate {params.settings} --identity {params.identity}"
        " --output {params.folder:q} --log {log:q}"


# An array of the catalogue, unpacked.
rule array:
    input:
        lambda wc: plan.download_of_array(wc.array),
    output:
        f"{RESULTS}/arrays/{{array}}.npy",
    log:
        f"{RESULTS}/logs/array/{{array}}.log",
    wildcard_constraints:
        array=plan.any_of(plan.made_arrays),
    cache: True
    params:
        settings=lambda wc: plan.unpack_settings(wc.array),
        identity=lambda wc: plan.array_identity(wc.array),
    shell:
        "python -m saitan.workflow.arrays {params.settings} --input {input:q} --output {output:q} --log {log:q}"
