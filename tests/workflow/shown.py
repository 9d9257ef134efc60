"""Views of samples and graphs, for tests."""

from saitan.workflow.ceilings import Ceilings
from saitan.workflow.config_model import Experiment
from saitan.workflow.views import VIEWS, Inputs

SUMMARY = {"title": "T", "problem": "sssp", "graphs": ["g", "h"]}


def experiment(**settings):
    return Experiment.model_validate({**SUMMARY, **settings})


def shown(view, settings, samples=(), graphs=(), ceilings=None):
    described = experiment(view=view, **settings)
    table, figure = VIEWS[view](described, Inputs(list(samples), list(graphs), ceilings or Ceilings()))
    return table, figure


def row(table, **keys):
    found = table
    for name, value in keys.items():
        found = found[found[name] == value]
    assert len(found) == 1, found
    return found.iloc[0]
