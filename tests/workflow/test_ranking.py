import pandas as pd
import pytest
import yaml
from tiny import ROOT

from saitan.problem import names, problem
from saitan.workflow.quoted import Quoted, check_quoted, read_quoted
from saitan.workflow.ranking import rankings
from saitan.workflow.step import Failure

PEERS = ROOT / "config/peers.yaml"

QUOTED = Quoted.model_validate(
    {
        "machine": "one Example GPU",
        "measured": "2026-01-02",
        "solvers": {
            "Other": {
                "title": "Other 1.0, kernel time",
                "problem": "sssp",
                "backend": "cuda",
                "quantity": "time",
                "values": [{"graph": "map", "value": 0.004}, {"graph": "map", "n": 7, "value": 1.0}],
            },
            "Small": {
                "title": "Of another quantity",
                "problem": "sssp",
                "backend": "cuda",
                "quantity": "memory",
                "values": [{"graph": "map", "value": 0.003}],
            },
            "Product": {
                "title": "Product",
                "problem": "tropical",
                "backend": "cuda",
                "quantity": "tops",
                "values": [{"n": 1024, "dtype": "float32", "value": 17.0}],
            },
        },
    }
)


def table(*rows, quantity="time", unit="s", **columns):
    return pd.DataFrame(
        [
            {"graph": "map", "backend": backend, "variant": variant, "cores": 4, "delta": delta}
            | {"quantity": quantity, "unit": unit, "ours": ours, "settled": True, "disturbed": "", **columns}
            for backend, variant, delta, ours in rows
        ]
    )


def shown(ranking):
    return [(place.variant, round(place.factor, 3)) for place in ranking.places]


def test_a_variant_counts_at_its_best_and_peers_that_ran_are_peers():
    measured = table(("cpu", "fast", 1.0, 0.03), ("cpu", "fast", 2.0, 0.01), ("cpu", "scipy", None, 0.02))
    (ranking,) = rankings(measured, "sssp", [], ["scipy"], QUOTED)
    assert shown(ranking) == [("fast", 2.0), ("scipy", 1.0)]
    assert [place.peer for place in ranking.places] == [False, True]
    assert [place.parameters for place in ranking.places] == ["delta=2", ""]
    assert ranking.where == "map" and ranking.places[0].value == "10 ms" and ranking.sure


def test_quotes_stand_beside_a_gpu_only_and_say_where_they_come_from():
    measured = table(("cuda", "fast", None, 0.002), ("cpu", "scipy", None, 0.02))
    (ranking,) = rankings(measured, "sssp", [], ["scipy"], QUOTED)
    assert shown(ranking) == [("fast", 2.0), ("Other", 1.0), ("scipy", 0.2)]
    assert ranking.places[1].title == "Other 1.0, kernel time; measured on one Example GPU, 2026-01-02"
    (ranking,) = rankings(measured, "sssp", [], ["scipy"], None)
    assert shown(ranking) == [("fast", 10.0), ("scipy", 1.0)]
    assert rankings(table(("cpu", "fast", None, 0.002)), "sssp", [], [], QUOTED) == []


def test_rates_rank_the_other_way_round_and_every_parameter_must_be_the_same():
    columns = {"quantity": "tops", "unit": "TOP/s", "n": 1024, "dtype": "float32"}
    measured = table(("cuda", "fast", None, 25.5), **columns).assign(graph="no-graph")
    (ranking,) = rankings(measured, "tropical", ["n", "dtype"], [], QUOTED)
    assert shown(ranking) == [("fast", 1.5), ("Product", 1.0)] and ranking.where == "n 1,024, dtype float32"
    for other in ({"n": 512}, {"dtype": "int32"}):
        assert rankings(measured.assign(**other), "tropical", ["n", "dtype"], [], QUOTED) == []
    closure = measured.assign(task="closure")
    assert rankings(closure, "tropical", ["n", "dtype", "task"], [], QUOTED) == []


def test_quotes_are_shown_in_the_metrics_unit():
    columns = {"quantity": "tops", "unit": "TOP/s", "n": 1024, "dtype": "float32"}
    measured = table(("cuda", "fast", None, 25.5), **columns).assign(graph="no-graph")
    (ranking,) = rankings(measured, "tropical", ["n", "dtype"], [], QUOTED)
    assert [place.value for place in ranking.places] == ["25.50 TOP/s", "17 TOP/s"]


def test_where_one_number_had_not_settled_the_order_is_not_sure():
    rows = (("cpu", "fast", None, 0.223), ("cpu", "scipy", None, 0.0075))
    for said in ({"settled": False}, {"disturbed": "other load"}):
        measured = table(*rows)
        for name, value in said.items():
            measured[name] = [value, measured[name].iloc[1]]
        (ranking,) = rankings(measured, "sssp", [], ["scipy"], None)
        assert not ranking.sure
        assert [bool(place.doubt) for place in ranking.places] == [False, True]
        assert ranking.places[1].doubt in ("not settled", "other load")


def test_other_cores_are_other_places():
    measured = pd.concat([table(("cpu", "fast", None, 2.0)).assign(cores=1), table(("cpu", "fast", None, 1.0))])
    (ranking,) = rankings(pd.concat([measured, table(("cpu", "scipy", None, 4.0))]), "sssp", [], ["scipy"], None)
    assert [(place.variant, place.cores) for place in ranking.places] == [("fast", 4), ("fast", 1), ("scipy", 4)]


def test_rankings_are_in_the_order_of_the_table_and_of_what_has_no_value_too():
    rows = [("cpu", "slow", None, 3.0), ("cpu", "fast", None, 1.0), ("cpu", "scipy", None, 2.0)]
    graphs = [("small", None), ("big", 2), ("big", 1)]
    measured = [table(*rows).assign(graph=graph, tile=pd.Series([tile] * 3, dtype=object)) for graph, tile in graphs]
    found = rankings(pd.concat(measured), "sssp", ["tile"], ["scipy"], None)
    assert [ranking.where for ranking in found] == ["small", "big, tile 2", "big, tile 1"]
    # Cores are told where they differ.
    assert {(place.variant, place.cores) for place in found[0].places} == {(name, None) for _, name, _, _ in rows}
    # And equal ones, too, in the order of the table.
    equal = [("cpu", "b", None, 1.0), ("cpu", "scipy", None, 1.0), ("cpu", "a", None, 1.0)]
    (ranking,) = rankings(table(*equal), "sssp", [], ["scipy"], None)
    assert [place.variant for place in ranking.places] == ["b", "scipy", "a"]
    # Of graphs nothing is measured.
    assert rankings(table(*rows).drop(columns="variant"), None, [], [], None) == []


def test_a_lone_peer_is_no_ranking_but_two_are():
    lone = table(("cpu", "scipy", None, 1.0))
    assert rankings(lone, "sssp", [], ["scipy"], QUOTED) == []
    both = pd.concat([lone, table(("cpu", "networkit", None, 2.0))])
    (ranking,) = rankings(both, "sssp", [], ["scipy", "networkit"], QUOTED)
    assert shown(ranking) == [("scipy", 1.0), ("networkit", 0.5)]


def test_what_is_no_number_has_no_place():
    measured = table(("cpu", "slow", None, None), ("cpu", "scipy", None, 2.0))
    assert rankings(measured, "sssp", [], ["scipy"], None) == []


@pytest.mark.parametrize("less", [True, False])
def test_what_is_infinite_has_its_place(monkeypatch, less):
    monkeypatch.setattr("saitan.workflow.quantities.Headline.less", less)
    endless = float("inf")
    measured = table(("cpu", "endless", None, endless), ("cpu", "good", None, 2.0), ("cpu", "scipy", None, 4.0))
    (ranking,) = rankings(measured, "sssp", [], ["scipy"], None)
    found = [(place.place, place.variant, place.factor) for place in ranking.places]
    if less:
        assert found == [(1, "good", 2.0), (2, "scipy", 1.0), (3, "endless", 0.0)]
    else:
        assert found == [(1, "endless", endless), (2, "scipy", 1.0), (3, "good", 0.5)]
    measured = table(("cpu", "endless", None, endless), ("cpu", "scipy", None, endless))
    (ranking,) = rankings(measured, "sssp", [], ["scipy"], None)
    assert [(place.place, place.factor) for place in ranking.places] == [(1, None), (1, None)]


@pytest.mark.parametrize("less", [True, False])
def test_what_is_not_above_0_has_its_place_without_a_factor(monkeypatch, less):
    monkeypatch.setattr("saitan.workflow.quantities.Headline.less", less)
    measured = table(("cpu", "zero", None, 0.0), ("cpu", "good", None, 2.0), ("cpu", "scipy", None, 4.0))
    (ranking,) = rankings(measured, "sssp", [], ["scipy"], None)
    found = [(place.variant, place.factor) for place in ranking.places]
    wanted = [("zero", None), ("good", 2.0 if less else 0.5), ("scipy", 1.0)]
    assert found == (wanted if less else wanted[::-1])
    measured = table(("cpu", "below", None, -1.0), ("cpu", "fast", None, 2.0), ("cpu", "scipy", None, 0.0))
    (ranking,) = rankings(measured, "sssp", [], ["scipy"], None)
    found = [(place.variant, place.factor) for place in ranking.places]
    assert sorted(found) == [("below", None), ("fast", None), ("scipy", None)]
    assert [name for name, _ in found] == (["below", "scipy", "fast"] if less else ["fast", "scipy", "below"])


def test_equal_numbers_have_the_same_place():
    measured = table(
        *(("cpu", name, None, ours) for name, ours in (("b", 2.0), ("a", 1.0), ("scipy", 1.0), ("c", 3.0)))
    )
    (ranking,) = rankings(measured, "sssp", [], ["scipy"], None)
    assert sorted((place.place, place.variant) for place in ranking.places) == [
        (1, "a"),
        (1, "scipy"),
        (3, "b"),
        (4, "c"),
    ]


def test_no_ranking_without_a_peer_or_without_times():
    assert rankings(table(("cuda", "fast", None, 1.0), ("cuda", "slow", None, 2.0)), "other", [], [], QUOTED) == []
    assert rankings(table(("cpu", "scipy", None, None)), "sssp", [], ["scipy"], QUOTED) == []
    assert rankings(pd.DataFrame(), "sssp", [], [], QUOTED) == []


def test_the_quoted_numbers_are_of_problems_graphs_and_quantities_that_there_are():
    quoted, graphs = read_quoted(PEERS), yaml.safe_load(PEERS.with_name("graphs.yaml").read_text())
    check_quoted(PEERS, quoted)
    named = {getattr(entry, "graph", None) for solver in quoted.solvers.values() for entry in solver.values}
    assert named - {None} <= graphs.keys()


@pytest.mark.parametrize(
    ("changes", "entry", "says"),
    [
        ({"problem": "ssp"}, {}, "line 6: solvers.s.problem: unknown problem 'ssp'; did you mean 'sssp'?"),
        ({"quantity": "tme"}, {}, "line 8: solvers.s.quantity: unknown quantity 'tme'; did you mean 'time'?"),
        ({}, {"grph": "map"}, "line 13: solvers.s.values.1: unknown key 'grph'; did you mean 'graph'?"),
        ({}, {"threshold_up": 3}, "line 13: solvers.s.values.1: unknown key 'threshold_up'"),
        (
            {"problem": "compression", "quantity": "ratio"},
            {"keep_bit": 3},
            "line 13: solvers.s.values.1: unknown key 'keep_bit'; did you mean",
        ),
        ({"problem": "compression", "quantity": "ratio"}, {"keep_bits": 3, "qubits": 4}, None),
    ],
)
def test_a_quoted_name_that_no_ranking_has_is_one_line(tmp_path, changes, entry, says):
    solver = {"title": "T", "problem": "sssp", "backend": "cuda", "quantity": "time", **changes}
    solver["values"] = [{"graph": "map", "value": 1}, {"value": 1, **entry}]
    path = tmp_path / "peers.yaml"
    content = {"machine": "M", "measured": "2026-01-02", "solvers": {"s": solver}}
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    if says is None:
        return check_quoted(path, read_quoted(path))
    with pytest.raises(Failure) as caught:
        check_quoted(path, read_quoted(path))
    assert str(caught.value).startswith(f"{path}: {says}") and "\n" not in str(caught.value)


def test_quoted_numbers_without_a_point_are_numbers():
    solver = {"title": "T", "problem": "compression", "backend": "cuda", "quantity": "ratio"}
    solver["values"] = [{"bound": "5e-4", "value": "1e3"}]
    quoted = Quoted.model_validate({"machine": "M", "measured": "2026-01-02", "solvers": {"s": solver}})
    assert quoted.solvers["s"].values[0].model_dump() == {"value": 1000.0, "bound": 0.0005}


def test_solvers_of_others_are_those_of_the_module_peers():
    foreign = {v for name in names() for v, variant in problem(name).VARIANTS.items() if variant.foreign}
    assert {"scipy", "networkit", "cugraph", "numpy"} <= foreign
    assert not foreign & {"fast", "conventional", "tiled", "phast"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "machine: a\nmeasured: 2026-13-01\nsolvers: {}\n",
            "line 2: a date or number that cannot be read: month must be in 1..12",
        ),
        ("machine: a\nmeasured: soon\nsolvers: {}\n", "line 2: measured: "),
        ("machine: a\nmeasured: 20261121\nsolvers: {}\n", "line 2: measured: a day is right, such as 2026-11-21"),
        ("machine: ' '\nmeasured: 2026-01-01\nsolvers: {}\n", "line 1: machine: ' ' is not a title"),
        (
            "machine: a\nmeasured: 2026-01-01\nsolvers:\n  s: {title: t, problem: sssp, backend: cpu, quantity: time,\n"
            "    values: [{value: yes}]}\n",
            "line 5: solvers.s.values.0.value: a number is right, not true",
        ),
        ("machine: a\nmeasured: 2026-01-01\nsolvers: {}\nmore: 1\n", "line 4: more: unknown key"),
        (
            "machine: a\nmeasured: 2026-01-01\nsolvers:\n  s: {title: t, problem: sssp, backend: cpu, quantity: time,\n"
            "    values: [{value: .inf}]}\n",
            "line 5: solvers.s.values.0.value: input should be a finite number, not Infinity",
        ),
        (
            "machine: a\nmeasured: 2026-01-01\nsolvers:\n  s: {title: t, problem: sssp, backend: cpu, quantity: time,\n"
            "    values: [{value: 0}]}\n",
            "line 5: solvers.s.values.0.value: input should be greater than 0, not 0",
        ),
        ("machine: [\n", "line 2: "),
    ],
)
def test_a_mistake_is_one_line_with_the_key_or_line(tmp_path, text, wanted):
    (tmp_path / "peers.yaml").write_text(text)
    with pytest.raises(Failure) as caught:
        read_quoted(tmp_path / "peers.yaml")
    assert str(caught.value).startswith(f"{tmp_path / 'peers.yaml'}: {wanted}") and "\n" not in str(caught.value)
