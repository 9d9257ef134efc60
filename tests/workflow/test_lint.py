import subprocess

import pytest

from saitan.workflow import lint

EXEMPT = """Lints for rule measure (line 24, workflow/rules/measure.smk):
    * Specify a conda environment or container for each rule.:
      This way, the used software for each specific step is documented, and the
      workflow can be executed on any machine.
      Also see:
      https://snakemake.readthedocs.io/en/latest/snakefiles/deployment.html

"""
OTHER = """Lints for snakefile workflow/rules/graphs.smk:
    * Absolute path "/data" in line 9:
      Do not define absolute paths inside of the workflow.
      Also see:
      https://snakemake.readthedocs.io/en/latest/snakefiles/configuration.html

Lints for rule measure (line 24, workflow/rules/measure.smk):
    * No log directive defined:
      Without a log directive, all output will be printed to the terminal.
    * Specify a conda environment or container for each rule.:
      This way, the used software for each specific step is documented.

"""
FOUND = [
    'snakefile workflow/rules/graphs.smk: Absolute path "/data" in line 9',
    "rule measure (line 24, workflow/rules/measure.smk): No log directive defined",
]


def test_one_rule_is_exempt_and_the_others_are_named_with_their_place():
    assert lint.findings("") == []
    assert lint.findings(EXEMPT) == []
    assert lint.findings(EXEMPT + OTHER) == FOUND


@pytest.mark.parametrize(
    ("returncode", "printed", "ends"),
    [
        (0, "Congratulations, your workflow is in a good condition!\n", None),
        (1, EXEMPT, None),
        (1, OTHER, "\n".join(FOUND)),
        # No lint at all: the linter did not get as far.
        (1, "SyntaxError in file Snakefile\n", "snakemake --lint failed:\nSyntaxError in file Snakefile\n"),
    ],
)
def test_whatever_else_is_found_fails(monkeypatch, returncode, printed, ends):
    done = subprocess.CompletedProcess([], returncode, stdout="", stderr=printed)
    monkeypatch.setattr(lint.subprocess, "run", lambda *_, **__: done)
    if ends is None:
        lint.main()
        return
    with pytest.raises(SystemExit) as caught:
        lint.main()
    assert caught.value.code == ends
