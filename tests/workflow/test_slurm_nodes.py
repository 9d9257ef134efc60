"""What a run says of Slurm's nodes when it starts, by a sinfo of the test's."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from plans import WITHOUT, plan

from saitan.workflow.slurm import said_of

WIDE = replace(WITHOUT, cores=16)


def workflow(executor):
    return SimpleNamespace(executor_plugin=executor and SimpleNamespace(name=executor))


@pytest.fixture
def nodes(tmp_path, monkeypatch):
    """A sinfo that prints some text, alone on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def put(text):
        (tmp_path / "sinfo").write_text(f"#!/bin/sh\nprintf '{text}'\n")
        (tmp_path / "sinfo").chmod(0o755)

    return put


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (r"4\n8\n4\n", "ask 16 cores .* largest node that sinfo names has 8:"),
        (r"4\n16\n", None),
        ("", None),
        ("'; exit 1; '", None),  # no daemon answers
    ],
)
def test_jobs_that_fit_no_node_are_named(nodes, text, said):
    nodes(text)
    lines = said_of(plan(machine=WIDE), workflow("slurm"))
    assert len(lines) == (said is not None)
    assert all(re.search(said, line) for line in lines)


def test_nothing_is_said_elsewhere(nodes):
    made = plan(machine=WIDE)
    assert said_of(made, workflow("slurm")) == []
    nodes(r"4\n")
    assert said_of(made, workflow("local")) == said_of(made, workflow(None)) == []
