# saitan: fetch or generate graphs, compile kernels, measure, tabulate, draw, report. Targets: all (the default),
# cubins, graphs, and every experiment of the configuration by its name.
import atexit
import os
import shlex
import sys
from pathlib import Path

from saitan.workflow.environment import check_environment

root = Path(workflow.basedir)
# The modules below need the packages that this looks for.
if workflow.is_main_process:
    check_environment(root)

from saitan.workflow import interrupts, slurm, terminal
from saitan.workflow.command_line import (
    check_default,
    check_targets,
    check_triggers,
    cores_meant,
    jobs_here,
)
from saitan.workflow.modules import steps_code, text_digest
from saitan.workflow.outdated import check_packed, make_again
from saitan.workflow.outline import outline_files
from saitan.workflow.plan import INDEX, VEGA
from saitan.workflow.planned_code import PACKAGES, digests, digests_of
from saitan.workflow.planning import plan_from
from saitan.workflow.points import RESULTS, digest
from saitan.workflow.step import PLANNED
from saitan.workflow.terminal import Ending

sys.excepthook = interrupts.stopped_early
if workflow.is_main_process:
    interrupts.answer_once()
    interrupts.stop_with_the_terminal()
    check_triggers(sys.argv[1:])

if not workflow.overwrite_configfiles:
    check_default(root / "config/config.yaml")

    configfile: root / "config/config.yaml"


code = digests()
plan = plan_from(
    config,
    root=root,
    configfiles=workflow.configfiles,
    cores=cores_meant(workflow.resource_settings.cores, sys.argv[1:]),
    here="cores" in config and jobs_here(sys.argv[1:]),
)
code |= digests_of(
    plan.source(f"config/{name}.yaml") for name in ("published", "ceilings", "peers")
)
code |= digests_of(plan.own_files)
if plan.own_packages:
    code |= {PACKAGES: repr(plan.own_packages)}
told = outline_files(plan)
ending = Ending(plan)
# Steps run in the environment that Snakemake runs in, activated or not, and take no folder of the working directory for
# the package. The mirror is no parameter of a rule: without it, what it gave is not fetched again.
shell.prefix(
    f'export PATH="{Path(sys.executable).parent}:$PATH" PYTHONSAFEPATH=1'
    f" {PLANNED}={plan.planned_code} {plan.mirror_setting}; "
    # Snakemake takes what stands in braces for a name of its own.
    + interrupts.quiet_python().replace("{", "{{").replace("}", "}}")
)
# Snakemake writes this path into shell commands of its own without quotes.
sys.executable = shlex.quote(sys.executable)


wildcard_constraints:
    graph=r"[A-Za-z0-9._-]+",
    data=r"[A-Za-z0-9._-]+",
    experiment=plan.any_of(list(plan.config.experiments)),
    backend="cpu|cuda",
    variant=r"[A-Za-z0-9_-]+",
    problem=r"[a-z0-9_]+",
    point=r"[^/]+",
    instance=r"[^/]+",
    drawn=r"\d+",
    seed=r"\d+",
    form=r"[A-Za-z0-9_-]+",
    output=r"[a-z0-9_]+",
    arch=r"sm_\d+[af]?",
    stem=r"[A-Za-z0-9_]+",


rule all:
    default_target: True
    input:
        plan.report,
        plan.listed,
        # Not written for a failed run, whose report must not pass for the end of it.
        plan.summary,
        plan.needed_cubins,
        # Named here too: whoever removes one wants it anew.
        [file for graph in plan.graphs for file in plan.graph_files(graph)],
        plan.kept,
        [file for name in plan.config.experiments for file in plan.files_of(name)],


include: "workflow/rules/graphs.smk"
include: "workflow/rules/compile.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/report.smk"


terminal.show(plan, workflow)
if workflow.is_main_process:
    named = dict.fromkeys(["all", *plan.config.experiments])
    named |= {rule.name: rule.has_wildcards() for rule in workflow.rules}
    targets = [name for name, for_many in named.items() if not for_many]
    check_targets(sys.argv[1:], targets, list(named))
    terminal.keep_report(plan)
    check_packed(plan, sys.argv[1:])
    as_they_were = make_again(plan)
    atexit.register(as_they_were.close)


# Not by a rule: a job that depends on another one's output, though it be ancient, is not asked for changes of its own
# when that one runs.
onstart:
    as_they_were.pop_all()
    interrupts.end_by_sigterm()
    plan.write_begun(code, told)
    for line in slurm.said_of(plan, workflow):
        print(line, file=sys.stderr, flush=True)


onsuccess:
    chosen = workflow.dag_settings
    if workflow.touch:
        ending.touched()
    else:
        ending.succeeded(chosen.targets, chosen.until, chosen.omit_from)


onerror:
    ending.failed()
