import pandas as pd
import pytest
from reports import keys_and, point, quantity, table

from saitan.workflow.bests import bests
from saitan.workflow.points import NO_GRAPH
from saitan.workflow.ranking import rankings
from saitan.workflow.report_tables import layout


def test_variants_are_columns_and_quantities_groups_of_rows():
    laid_out = layout(table(), "sssp", [])
    assert laid_out.keys == ["graph", "backend"]
    assert [column.name for column in laid_out.columns] == [
        "conventional",
        "adaptive, threshold up 350",
        "adaptive, threshold up 9",
    ]
    assert [(group.head.name, group.head.unit) for group in laid_out.groups] == [("time", "ms"), ("phases", "")]
    assert keys_and(laid_out, "ours") == [
        ("map", "cpu", "1,070", "871", "3,000"),
        ("map", "cuda", "107", "87.10", "300"),
    ]
    assert keys_and(laid_out, "best") == [("map", "cpu", False, True, False), ("map", "cuda", False, True, False)]
    assert not any(cell.best for row in laid_out.groups[1].rows for cell in row.cells)


def test_a_sweep_has_points_as_rows_and_quantities_as_columns():
    rows = [
        point("fast", delta=delta, n=7) | quantity(name, unit, value * delta)
        for delta in (4, 16, 8)
        for name, unit, value in (("time", "s", 1e-4), ("prepare_s", "s", 1.0), ("relaxations", "", 1000))
    ]
    laid_out = layout(pd.DataFrame(rows), "sssp", ["n"])
    assert laid_out.keys == ["graph", "backend", "delta"] and laid_out.constants == ["variant = fast", "n = 7"]
    assert [(c.name, c.unit) for c in laid_out.columns] == [("time", "µs"), ("prepare", "s"), ("relaxations", "")]
    assert keys_and(laid_out, "ours") == [
        ("map", "cpu", "4", "400", "4", "4,000"),
        ("map", "cpu", "16", "1,600", "16", "16,000"),
        ("map", "cpu", "8", "800", "8", "8,000"),
    ]
    assert keys_and(laid_out, "best")[0] == ("map", "cpu", "4", True, False, False)


@pytest.mark.parametrize(("values", "across"), [(6, True), (7, False)])
def test_more_than_six_points_a_row_are_rows(values, across):
    rows = [point("fast", delta=delta) | quantity("time", "s", 1.0) for delta in range(1, values)]
    rows.append(point("slow", delta=None) | quantity("time", "s", 2.0))
    laid_out = layout(pd.DataFrame(rows), "sssp", [])
    assert (len(laid_out.columns) == values) == across and ("delta" in laid_out.keys) != across
    assert laid_out.rows == (1 if across else values)


def test_zeros_say_their_unit():
    rows = [
        point("a") | quantity(name, unit, 0.0) for name, unit in (("time", "s"), ("memory", "bytes"), ("phases", ""))
    ]
    laid_out = layout(pd.DataFrame(rows), "sssp", [])
    assert [column.unit for column in laid_out.columns] == ["", "", ""]
    assert keys_and(laid_out, "ours") == [("map", "cpu", "0 s", "0 B", "0")]


def test_graphs_are_rows_and_what_is_known_of_them_columns():
    rows = [
        {"graph": name} | quantity(q, "", v, paper=4) for name in ("b", "a") for q, v in (("vertices", 2), ("arcs", 3))
    ]
    laid_out = layout(pd.DataFrame(rows).assign(checked=""), None, [])
    assert laid_out.keys == ["graph"] and keys_and(laid_out, "ours") == [("b", "2", "3"), ("a", "2", "3")]
    assert keys_and(laid_out, "paper")[0] == ("b", "4", "4")
    assert keys_and(laid_out, "ratio")[0] == ("b", "0.500", "0.750")
    assert not any("Medians" in note for note in laid_out.notes)


@pytest.mark.parametrize(
    ("ours", "paper", "ratio", "said"),
    [(2.0, 4.0, None, True), (2.0, 0.0, None, False), (float("nan"), 4.0, None, False), (2.0, 4.0, 0.5, False)],
)
def test_another_size_is_named_only_where_it_is_why_a_ratio_is_missing(ours, paper, ratio, said):
    rows = [point("a") | quantity("time", "s", ours) | {"paper": paper, "over_paper": ratio}]
    rows.append(point("b") | quantity("time", "s", 1.0))
    columns = dict.fromkeys(("paper", "over_paper"), "Float64")
    notes = layout(pd.DataFrame(rows).astype(columns), "sssp", []).notes
    assert any("another size" in note for note in notes) == said


def test_a_speed_up_stands_beside_what_it_compares_and_in_rows_of_its_own_where_it_is_printed():
    rows = [point("conventional") | quantity("time", "s", 3.0), point("fast") | quantity("time", "s", 1.5)]
    rows.append(point("fast") | quantity("speed-up over conventional", "", 2.0))
    laid_out = layout(pd.DataFrame(rows), "sssp", [])
    assert keys_and(laid_out, "factor") == [("map", "cpu", "", "2×")] and len(laid_out.groups) == 1
    assert "speed-ups over conventional, of medians of time;" in " ".join(laid_out.notes)
    # The problem is ranked by a rate that is not among the quantities: its star goes by the time too.
    laid_out = layout(pd.DataFrame(rows), "tropical", [])
    assert keys_and(laid_out, "factor") == [("map", "cpu", "", "2×")]
    assert "speed-ups over conventional, of medians of time;" in " ".join(laid_out.notes)
    means = [point(name) | quantity("mean time", "s", value) for name, value in (("conventional", 4.0), ("fast", 1.0))]
    means.append(point("fast") | quantity("speed-up of means over conventional", "", 4.0))
    notes = layout(pd.DataFrame([*rows, *means]), "sssp", []).notes
    assert "speed-ups over conventional, of medians of time (beside the mean time, of means);" in " ".join(notes)
    rows[-1] |= {"paper": 1.0, "over_paper": 2.0}
    laid_out = layout(pd.DataFrame(rows), "sssp", [])
    assert [group.head.name for group in laid_out.groups] == ["time", "speed-up over conventional"]
    # Of several points of the baseline the best one counts.
    ranks = [row | {"ranks": 1} for row in rows] + [rows[0] | {"ranks": 2}]
    for found, instance, at in ((ranks, [], " at its best point"), (ranks, ["ranks"], ""), (rows, [], "")):
        told = " ".join(layout(pd.DataFrame(found), "sssp", instance).notes)
        assert f" over conventional{at}, of medians of time;" in told
    cores = [ranks[0] | {"cores": 1}, *ranks]
    told = " ".join(layout(pd.DataFrame(cores), "sssp", []).notes)
    assert " over conventional at its best point with the same number of cores, of medians of time;" in told
    # Those of a GPU are no others.
    cores[0]["backend"] = "cuda"
    assert "number of cores" not in " ".join(layout(pd.DataFrame(cores), "sssp", []).notes)
    # Without the times that they would stand beside, they are a group alone.
    alone = [point("conventional") | quantity("memory", "bytes", 8), rows[-1] | {"paper": None, "over_paper": None}]
    assert "Speed-ups are over conventional, " in " ".join(layout(pd.DataFrame(alone), "sssp", []).notes)
    assert "Factors with × are speed-ups over conventional, " in " ".join(notes)


@pytest.mark.parametrize(
    ("problem", "rate", "unit", "head", "of"),
    [
        ("apsp", "entries_s", "entries/s", "entries a second, harmonic mean", "harmonic means of entries a second"),
        ("compression", "compress_bytes_s", "B/s", "compress bytes a second", "medians of compress bytes a second"),
        ("tropical", "tops", "TOP/s", "tops", "medians of tops"),
    ],
)
def test_heads_and_notes_name_a_rate_alike(problem, rate, unit, head, of):
    rows = [point(name) | quantity(rate, unit, value) for name, value in (("slow", 1.0), ("fast", 2.0))]
    rows.append(point("fast") | quantity("speed-up over slow", "", 2.0))
    laid_out = layout(pd.DataFrame(rows), problem, [])
    assert laid_out.groups[0].head.name == head
    said = " ".join(laid_out.notes)
    rows[-1] |= quantity("over slow", "", 2.0)
    over = f"Over another: how many times as good, by {of}, each at its best point; above 1 is better."
    assert over in layout(pd.DataFrame(rows), problem, []).notes and "Over another" not in said
    assert f"speed-ups over slow, of {of};" in said and f"★ best of its row by {of.partition(' of ')[2]}." in said


@pytest.mark.parametrize(
    ("problem", "rate", "value", "said"),
    [("apsp", "entries_s", 2.0, True), ("apsp", "entries_s", 3.0, False), ("tropical", "tops", 2.0, False)],
)
def test_a_harmonic_mean_out_of_its_quartiles_is_explained(problem, rate, value, said):
    quartiles = {"q1": 3.0, "q3": 5.0}
    rows = [point(name) | quantity(rate, "1/s", one) | quartiles for name, one in (("slow", value), ("fast", 4.0))]
    notes = layout(pd.DataFrame(rows), problem, []).notes
    assert any("harmonic mean below its quartiles" in note for note in notes) == said


def test_the_column_of_arrays_is_called_data():
    rows = [point(variant) | quantity("time", "s", 1.0) for variant in ("fpc", "fast")]
    assert layout(pd.DataFrame(rows), None, [], "data").keys == ["data", "backend"]


@pytest.mark.parametrize(
    ("samples", "said"),
    [((8, 8), "of 8 samples a point"), ((4, 1000), "of 4 to 1,000 samples"), ((1, 1), "of 1 sample a")],
)
def test_how_many_samples_a_median_is_of(samples, said):
    rows = [point(v) | quantity("time", "s", 1.0, samples=n) for v, n in zip("ab", samples, strict=True)]
    assert said in layout(pd.DataFrame(rows), "sssp", []).notes[0]


def test_cores_are_shown_where_they_differ_and_never_share_a_star():
    rows = [
        point(variant, cores=cores) | quantity("time", "s", value)
        for cores, variant, value in ((1, "a", 4.0), (1, "b", 3.0), (2, "a", 1.0), (2, "b", 2.0))
    ]
    laid_out = layout(pd.DataFrame(rows), "sssp", [])
    assert laid_out.keys == ["graph", "backend", "cores"]
    assert keys_and(laid_out, "best") == [("map", "cpu", "1", False, True), ("map", "cpu", "2", True, False)]
    assert "cores" not in layout(pd.DataFrame(rows[:2]), "sssp", []).keys
    assert [best.where for best in bests(pd.DataFrame(rows), "sssp", [])] == ["map cores=1", "map cores=2"]


@pytest.mark.parametrize("said", [{"settled": False}, {"disturbed": "other load"}])
@pytest.mark.parametrize("slow", [1.0, 9.0])
def test_no_star_beside_a_number_that_had_not_settled(said, slow):
    """Neither for it nor for another one: the other could be the slower of the two when all is quiet."""
    rows = [point("a") | quantity("time", "s", slow, **said), point("b") | quantity("time", "s", 2.0)]
    found = layout(pd.DataFrame(rows), "sssp", [])
    assert keys_and(found, "best") == [("map", "cpu", False, False)]
    assert [bool(cell.doubt) for cell in found.groups[0].rows[0].cells] == [True, False]
    assert any(note.startswith("†") for note in found.notes) and not any("★" in note for note in found.notes)
    (best,) = bests(pd.DataFrame(rows), "sssp", [])
    assert not best.sure and bool(best.doubt) == (slow < 2)
    why = "not settled" if "settled" in said else "disturbed"
    assert str(best) == (f"a 1 s ({why})" if slow < 2 else "b 2 s (others not settled or disturbed)")
    (alone,) = bests(pd.DataFrame(rows[1:]), "sssp", [])
    assert str(alone) == "b 2 s" and not alone.sure
    # Nobody is the best alone.
    assert keys_and(layout(pd.DataFrame(rows[1:]), "sssp", []), "best") == [("map", "cpu", False)]


def test_what_validation_covered_is_said_by_variant_where_it_differs():
    rows = [
        point("a") | quantity("time", "s", 1.0, checked="every entry"),
        point("b", "cuda") | quantity("time", "s", 1.0, checked="256 entries (a sample)"),
    ]
    notes = layout(pd.DataFrame(rows), "sssp", []).notes
    assert "Checked in every timed answer of a on the CPU: every entry." in notes
    assert "Checked in every timed answer of b on the GPU: 256 entries (a sample)." in notes


def test_what_validation_covered_of_points_of_one_variant_is_said_by_its_parameters():
    rows = [
        point("a", keep_bits=bits) | quantity("time", "s", 1.0, checked=f"within 2^-{bits}") for bits in (8, 20)
    ] + [point("b") | quantity("time", "s", 1.0, checked="every entry")]
    notes = [note for note in layout(pd.DataFrame(rows), "sssp", []).notes if note.startswith("Checked")]
    assert notes == [
        "Checked in every timed answer of a on the CPU (keep_bits=8): within 2^-8.",
        "Checked in every timed answer of a on the CPU (keep_bits=20): within 2^-20.",
        "Checked in every timed answer of b on the CPU: every entry.",
    ]


def test_what_validation_covered_of_a_variant_on_graphs_is_said_by_their_names():
    rows = [
        point("a", graph=graph, task=task) | quantity("time", "s", 1.0, checked=says)
        for graph, task, says in (("big", 1, "256 vertices (a sample)"), ("small", 1, "80 vertices"), ("big", 2, "all"))
    ]
    notes = [note for note in layout(pd.DataFrame(rows), "sssp", []).notes if note.startswith("Checked")]
    assert notes == [
        "Checked in every timed answer of a on the CPU (task=1) for big: 256 vertices (a sample).",
        "Checked in every timed answer of a on the CPU (task=2): all.",
        "Checked in every timed answer of a on the CPU (task=1) for small: 80 vertices.",
    ]
    # Arrays of one problem's instance are of no graph.
    several = pd.DataFrame(rows).assign(graph=None)
    assert sum("(task=1): " in note for note in layout(several, "sssp", []).notes) == 2


def test_what_was_checked_of_a_variant_is_said_by_one_parameter_or_the_graph_where_that_is_enough():
    def said(*points):
        rows = [one | quantity("time", "s", 1.0, checked=says) for one, says in points]
        notes = layout(pd.DataFrame(rows), "sssp", []).notes
        return [note.removeprefix("Checked in every timed answer of ") for note in notes if note.startswith("Checked")]

    swept = [(qubits, seed, bits) for qubits in (10, 12) for seed in (1, 2) for bits in (20, 40, None)]
    assert said(
        *((point("a", qubits=q, seed=s, keep_bits=bits), f"{bits} bits") for q, s, bits in swept),
        (point("b", qubits=10, seed=1), "20 bits"),
    ) == [
        "a on the CPU (keep_bits=20), b on the CPU: 20 bits.",
        "a on the CPU (keep_bits=40): 40 bits.",
        "a on the CPU: None bits.",
    ]
    assert said(*((point("a", graph=graph, task=task), graph) for graph in ("big", "small") for task in (1, True))) == [
        "a on the CPU for big: big.",
        "a on the CPU for small: small.",
    ]
    # Neither is enough alone.
    assert said(*((point("a", n=n, k=k), f"{n * k}") for n in (1, 2) for k in (1, 2))) == [
        "a on the CPU (n=1, k=1): 1.",
        "a on the CPU (n=1, k=2), a on the CPU (n=2, k=1): 2.",
        "a on the CPU (n=2, k=2): 4.",
    ]


def test_the_best_is_found_for_each_value_of_the_problems_own_parameters():
    rows = [
        point(variant, size=size) | quantity("time", "s", value)
        for variant, size, value in (("tiled", 1, 2.0), ("fast", 1, 1.0), ("tiled", 2, 3.0), ("fast", 2, 4.0))
    ]
    assert [best.variant for best in bests(pd.DataFrame(rows), "sssp", ["size"])] == ["fast", "tiled"]
    assert [best.variant for best in bests(pd.DataFrame(rows), "sssp", [])] == ["fast"]
    assert [best.where for best in bests(pd.DataFrame(rows), "sssp", ["size"])] == ["map size=1", "map size=2"]
    rows += [point(variant, size=None) | quantity("time", "s", value) for variant, value in (("a", 6.0), ("b", 5.0))]
    assert [best.variant for best in bests(pd.DataFrame(rows), "sssp", ["size"])] == ["fast", "tiled", "b"]


def test_an_experiment_without_graphs_names_its_instances_instead():
    rows = [
        point(variant, "cuda", NO_GRAPH, n=16384, by=by) | quantity("tops", "TOP/s", rate)
        for variant, by, rate in (
            ("fast", "tile", 5),
            ("dense", "tile", 4),
            ("fast", "element", 1),
            ("dense", "element", 2),
        )
    ]
    found = pd.DataFrame(rows)
    assert [best.where for best in bests(found, "tropical", ["n", "by"])] == [
        "n=16,384, by=tile",
        "n=16,384, by=element",
    ]
    # Of a rate more is better.
    assert [best.variant for best in bests(found, "tropical", ["n", "by"])] == ["fast", "dense"]
    laid_out = layout(found, "tropical", ["n", "by"])
    assert laid_out.keys == ["backend", "by"] and laid_out.constants == ["n = 16,384"]
    assert keys_and(laid_out, "best") == [("cuda", "tile", True, False), ("cuda", "element", False, True)]


def test_equal_numbers_are_all_the_best():
    rows = [
        point(variant, delta=delta) | quantity("time", "s", value)
        for variant, delta, value in (("c", None, 3.0), ("a", 7, 2.0), ("b", None, 2.0))
    ]
    (best,) = bests(pd.DataFrame(rows), "sssp", [])
    assert str(best) == "a (delta=7) and b 2 s" and best.sure
    assert keys_and(layout(pd.DataFrame(rows), "sssp", []), "best") == [("map", "cpu", False, True, True)]


def test_what_is_no_number_is_never_the_best_and_what_is_infinite_may_be():
    rows = [point(v) | quantity("time", "s", t) for v, t in (("a", float("inf")), ("b", float("nan")), ("c", 3.0))]
    (best,) = bests(pd.DataFrame(rows), "sssp", [])
    assert best.variant == "c" and best.contenders == 2
    laid_out = layout(pd.DataFrame(rows), "sssp", [])
    assert keys_and(laid_out, "ours") == [("map", "cpu", "∞", "–", "3")]
    # Of a rate more is better.
    rates = [
        point(v, "cpu", NO_GRAPH, n=2) | quantity("tops", "TOP/s", r) for v, r in (("a", float("inf")), ("b", 3.0))
    ]
    (best,) = bests(pd.DataFrame(rates), "tropical", ["n"])
    assert str(best) == "a ∞ TOP/s" and best.sure


def test_values_below_the_least_unit_have_it():
    rows = [point("a") | quantity("time", "s", 2.5e-10)]
    laid_out = layout(pd.DataFrame(rows), "sssp", [])
    assert laid_out.columns[0].unit == "ns" and keys_and(laid_out, "ours") == [("map", "cpu", "0.2500")]


def test_values_of_very_different_size_have_a_unit_each():
    rows = [point("a", graph=g) | quantity("time", "s", t) for g, t in (("small", 1e-6), ("large", 10.0))]
    laid_out = layout(pd.DataFrame(rows), "sssp", [])
    assert laid_out.columns[0].unit == "" and keys_and(laid_out, "ours") == [
        ("small", "cpu", "1 µs"),
        ("large", "cpu", "10 s"),
    ]


def test_the_answer_that_nothing_alters_is_told_where_others_are():
    points = (("fast", 20, 1.0), ("c1", 20, 2.0), ("fast", 52, 3.0), ("c1", 52, 4.0), ("fpc", None, 2.5))
    rows = [point(variant, keep_bits=bits) | quantity("time", "s", value) for variant, bits, value in points]
    told = [(best.where, best.variant) for best in bests(pd.DataFrame(rows), "compression", [])]
    assert told == [("map keep_bits=20", "fast"), ("map keep_bits=52", "fpc")]
    # A parameter that alters by its default is no column where it is never given.
    default = [*rows, point("zfpy", keep_bits=None) | quantity("time", "s", 9.0)]
    wheres = [best.where for best in bests(pd.DataFrame(default), "compression", [])]
    assert wheres == ["map keep_bits=20", "map keep_bits=52", "map rate=16"]
    assert [one.where for one in rankings(pd.DataFrame(default), "compression", [], ["c1"], None)][1] == (
        "map, keep_bits 52"
    )
    # Of one answer alone nothing is told.
    assert [best.where for best in bests(pd.DataFrame(rows[2:]), "compression", [])] == ["map"]
    assert [best.where for best in bests(pd.DataFrame(rows[:2]), "compression", [])] == ["map"]
    headings = [one.where for one in rankings(pd.DataFrame(rows), "compression", [], ["c1"], None)]
    assert headings == ["map, keep_bits 20", "map, keep_bits 52"]
