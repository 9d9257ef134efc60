"""Points whose parameters alter the answer are compared with those of the same answer alone."""

import pandas as pd
import pytest
from reports import keys_and, point, quantity
from samples import seconds
from shown import row, shown

from saitan.problem import altered, names, problem
from saitan.workflow.bests import bests
from saitan.workflow.quoted import Quoted
from saitan.workflow.ranking import rankings
from saitan.workflow.report_tables import layout

# Bytes a second: more is better.
RATES = {
    ("fpc", 52): 5.0,
    ("c1", 52): 4.0,
    ("fpc", 20): 7.0,
    ("c1", 20): 9.0,
    ("nvcomp", None): 3.0,
    ("zfpy", None): 99.0,
}


def rows(rates):
    return [
        point(variant, keep_bits=bits) | quantity("compress_bytes_s", "B/s", rate)
        for (variant, bits), rate in rates.items()
    ]


@pytest.mark.parametrize(
    ("variant", "given", "wanted"),
    [
        ("fpc", {}, {}),
        ("fpc", {"keep_bits": 52}, {}),
        ("fpc", {"keep_bits": 20, "qubits": 3, "bound": None}, {"keep_bits": 20}),
        ("fast", {"keep_bits": None, "bound": 0.5}, {"bound": 0.5}),
        ("zstd", {"level": 9}, {}),
        ("zfpy", {}, {"rate": 16}),
        ("nvcomp", {"algorithm": "LZ4"}, {}),
    ],
)
def test_what_alters_an_answer_of_compression(variant, given, wanted):
    assert altered(problem("compression").VARIANTS[variant], given) == wanted


def test_answers_of_shortest_paths_are_all_the_same_but_for_parents_of_many_searches():
    found = {
        (name, variant, parameter)
        for name in set(names()) - {"compression"}
        for variant, declared in problem(name).VARIANTS.items()
        for parameter, said in declared.parameters.items()
        if said.alike is not None
    }
    assert found == {("bfs", "fast-many", "parents")}


def test_the_best_is_that_of_each_answer():
    found = bests(pd.DataFrame(rows(RATES)), "compression", [])
    assert [(best.variant, best.where, best.parameters, best.contenders) for best in found] == [
        ("fpc", "map keep_bits=52", "", 3),
        ("c1", "map keep_bits=20", "", 2),
        ("zfpy", "map rate=16", "", 1),
    ]
    # All of one answer: the parameter is the point's.
    (best,) = bests(pd.DataFrame(rows({key: rate for key, rate in RATES.items() if key[1] == 20})), "compression", [])
    assert (best.where, str(best)) == ("map", "c1 (keep_bits=20) 9 B/s")


def test_stars_and_notes_are_of_the_same_answer():
    laid_out = layout(pd.DataFrame(rows(RATES)), "compression", [])
    ((*_, fpc, c1, fpc20, c1_20, nvcomp, zfpy),) = keys_and(laid_out, "best")
    assert (fpc, c1, fpc20, c1_20, nvcomp, zfpy) == (True, False, False, True, False, False)
    (note,) = [note for note in laid_out.notes if note.startswith("★")]
    assert "with the same keep bits and rate" in note


def test_speed_ups_are_over_the_baseline_of_the_same_answer(write_point):
    paths = [
        write_point(
            f"{variant}{bits}",
            variant,
            seconds(1.0, compress_bytes_s=[rate]),
            problem="compression",
            parameters={"keep_bits": bits} if bits else None,
        )
        for (variant, bits), rate in RATES.items()
    ]
    settings = {
        "problem": "compression",
        "graphs": [],
        "variants": {"fpc": {"keep_bits": [52, 20]}, "c1": {"keep_bits": [52, 20]}, "nvcomp": {}, "zfpy": {}},
        "quantities": ["compress_bytes_s"],
        "baseline": "fpc",
    }
    table, _ = shown("summary", settings, paths)
    ahead = table[table["quantity"] == "speed-up over fpc"]
    assert {(r.variant, r.keep_bits if r.variant == "c1" else None): r.ours for r in ahead.itertuples()} == {
        ("c1", 52): 0.8,
        ("c1", 20): 9 / 7,
        ("nvcomp", None): 0.6,
    }
    table, figure = shown("rivals", settings, paths)
    over = table[table["quantity"] == "over the best of the others"]
    assert dict(zip(over["keep_bits"], over["ours"], strict=True)) == {20: 7 / 9, 52: 1.25}
    assert figure["ratio"].tolist() == [7 / 9, 1.25]
    assert row(table, quantity="over nvcomp").ours == 5 / 3


def test_other_peoples_solvers_are_ranked_by_the_same_answer():
    quoted = Quoted.model_validate(
        {
            "machine": "one Example GPU",
            "measured": "2026-01-02",
            "solvers": {
                name: {"title": name, "problem": "compression", "backend": "cuda", "quantity": "compress_bytes_s"}
                | {"values": [{"graph": "map", "value": 1.0, **answer}]}
                for name, answer in {"Lossless": {}, "Short": {"keep_bits": 20}, "Fixed": {"rate": 8}}.items()
            },
        }
    )
    table = pd.DataFrame(
        [
            point(variant, "cuda", keep_bits=bits) | quantity("compress_bytes_s", "B/s", rate)
            for (variant, bits), rate in RATES.items()
        ]
    )
    found = rankings(table, "compression", [], ["nvcomp", "zfpy"], quoted)
    assert {ranking.quantity for ranking in found} == {"compress bytes a second"}
    assert {ranking.where: [place.variant for place in ranking.places] for ranking in found} == {
        "map, keep_bits 52": ["fpc", "c1", "nvcomp", "Lossless"],
        "map, keep_bits 20": ["c1", "fpc", "Short"],
    }
    # What all of a ranking have stands at its head.
    assert {place.parameters for ranking in found for place in ranking.places} == {""}
