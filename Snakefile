# saitan: fetch or generate graphs, compile kernels, measure, tabulate, draw, report. Targets: all (the default),
# cubins, graphs, and every experiment of the configuration by its name.
import sys
from pathlib import Path

from snakemake.utils import min_version

from saitan.workflow.plan import PEERS, PUBLISHED, RESULTS, SUMMARY, VEGA, plan_from

min_version("9.6")

if not workflow.overwrite_configfiles:

    configfile: "config/config.yaml"


plan = plan_from(config)
# Steps run in the environment that Snakemake runs in, activated or not.
shell.prefix(f'export PATH="{Path(sys.executable).parent}:$PATH"; ')


wildcard_constraints:
    graph=r"[A-Za-z0-9._-]+",
    experiment=r"[A-Za-z0-9_]+",
    backend="cpu|cuda",
    variant=r"[A-Za-z0-9_-]+",
    problem=r"[a-z0-9_]+",
    arch=r"sm_\d+[af]?",
    stem=r"[A-Za-z0-9_]+",


rule all:
    default_target: True
    input:
        f"{RESULTS}/report.html",
        # Not written for a failed run, whose report must not pass for the end of it.
        SUMMARY,
        plan.cubins,


include: "workflow/rules/graphs.smk"
include: "workflow/rules/compile.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/report.smk"


onstart:
    plan.say_skipped()


onsuccess:
    plan.say_found(workflow.dag_settings.targets)


onerror:
    plan.report_what_exists()
