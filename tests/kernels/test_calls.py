"""What the one call of a problem says about wrong arguments, and its help about the variants."""

import re
import tracemalloc
from collections import Counter

import networkx
import numba
import numpy as np
import pandas
import pytest
import scipy.sparse

import saitan
from saitan import apsp, bfs, calls, compression, sssp, tropical
from saitan.calls import plain_array
from saitan.cuda import unusable
from saitan.generators import GENERATORS
from saitan.graph import Graph, GraphError
from saitan.graph_input import as_compiled
from saitan.problem import Unavailable

GRAPH = Graph.from_arcs(3, [0, 1], [1, 2], np.array([3, 4], np.uint32))
PAIR = np.ones((2, 2), np.float32)
NAMES = np.array(["fast", "min_plus"])
FRAME = pandas.DataFrame({"source": [0], "target": [1]})


class Lines:
    def __repr__(self):
        return "two\nlines"


LINES = Lines()
PATH = networkx.DiGraph([(0, 1, {"weight": PAIR[0]}), (1, 2, {"weight": PAIR[1]})])
PARTLY = networkx.DiGraph([(0, 1, {"weight": 3}), (1, LINES)])
FINITE = "must be greater than 0 and finite, not"
SOURCES = "sources must be a range of step 1 within [0, 3), not empty, not"


def test_an_array_that_is_read_only_is_compiled_for_no_more_than_its_like():
    own = np.arange(6, dtype=np.uint16).reshape(2, 3)
    given = own.copy()
    given.flags.writeable = False
    assert numba.typeof(given) != numba.typeof(own) == numba.typeof(as_compiled(given))
    assert np.shares_memory(as_compiled(given), given) and np.array_equal(as_compiled(given), own)
    assert as_compiled(own) is own and as_compiled(np.frombuffer(b"", np.uint8)).shape == (0,)


@pytest.mark.parametrize("source", [1.0, 1.5, np.float64(1), True, np.True_, "1", None, [1]])
def test_a_source_that_is_no_whole_number_is_refused(source):
    with pytest.raises(ValueError, match=r"^source must be the whole number of a vertex, not ") as refused:
        sssp.solve(GRAPH, source, backend="cpu")
    assert repr(source) in str(refused.value)


@pytest.mark.parametrize("source", [-1, 3, 2**40, np.int64(3), np.int8(-1)])
def test_a_source_outside_the_graph_is_refused(source):
    with pytest.raises(ValueError, match=rf"^source {int(source)} is not in \[0, 3\)$"):
        sssp.solve(GRAPH, source, backend="cpu")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: sssp.solve(GRAPH, 0, predecessors="no"), "predecessors must be True or False, not 'no'"),
        (lambda: apsp.compress(GRAPH, "none.coded", check=0), "check must be True or False, not 0"),
        (lambda: tropical.matmul(PAIR, PAIR, accumulate="yes"), "accumulate must be True or False, not 'yes'"),
        (lambda: apsp.slabs(GRAPH, None), "sink must be a function, not None"),
        (lambda: compression.compress(PAIR, progress=5), "progress must be a function, not 5"),
        (lambda: Graph.from_networkx(networkx.Graph), "a networkx graph is right, not type"),
        (lambda: GRAPH.with_metadata(directed="no"), "the metadata's directed must be True or False, not 'no'"),
        (lambda: apsp.solve(GRAPH, range(3, 3)), f"{SOURCES} range(3, 3)"),
        (lambda: apsp.solve(GRAPH, range), f"{SOURCES} type"),
        (
            lambda: saitan.read_graph("none", format=[]),
            "unknown format [] (there are: dimacs, pace, snap, matrix-market)",
        ),
        (lambda: sssp.solve(GRAPH, 0, backend=NAMES), f"unknown backend {NAMES!r} (there are: auto, cpu, cuda)"),
        (lambda: tropical.closure(PAIR, NAMES), f"unknown semiring {NAMES!r} (there are: min_plus, max_plus)"),
        (lambda: GRAPH.components(NAMES), f"unknown connection {NAMES!r} (there are: weak, strong)"),
        (
            lambda: Graph.from_networkx(PATH, ["w"]),
            "weight, the attribute that holds the weights, must be its name, not ['w']",
        ),
        (
            lambda: Graph.from_networkx(PATH, True),
            "weight, the attribute that holds the weights, must be its name, not True",
        ),
        (lambda: Graph.from_networkx(PATH), "weights must be one-dimensional, not of shape (2, 2)"),
        (lambda: Graph.from_pandas(FRAME, ["a"]), "source must be the name of one column, not ['a']"),
        (lambda: Graph.from_pandas(FRAME, weight=["a"]), "weight must be the name of one column, not ['a']"),
        (
            lambda: saitan.read_graph("none", np.zeros((2, 2))),
            "unknown format array([[0., 0.], (there are: dimacs, pace, snap, matrix-market)",
        ),
        (lambda: compression.compress(PAIR, bound=np.zeros((2, 2))), f"bound {FINITE} array([[0., 0.],"),
        (
            lambda: GENERATORS["ring"](vertices=np.zeros((2, 2)), seed=1),
            "generator ring: vertices must be a whole number, not array([[0., 0.],",
        ),
        (
            lambda: Graph.from_networkx(PARTLY),
            "the edge (1, two) has no 'weight', others have: give it to all or to none",
        ),
        (
            lambda: Graph.from_networkx(PATH, LINES),
            "no edge has two: the attribute that holds the weights is right",
        ),
        (lambda: Graph.from_pandas(FRAME, LINES), "the frame has no column two (it has: 'source', 'target')"),
        (
            lambda: Graph.from_pandas(FRAME.rename(columns={"target": LINES})),
            "the frame has no column 'target' (it has: 'source', two)",
        ),
        (
            lambda: Graph.from_pandas(pandas.concat([FRAME.rename(columns={"target": LINES})] * 2, axis=1), LINES),
            "the frame has several columns two",
        ),
        (
            lambda: Graph.from_networkx(networkx.Graph([(LINES, "two\nlines")])),
            "the names two and 'two\\nlines' are the same as texts: give both one type",
        ),
    ],
)
def test_what_a_call_is_given_is_what_it_says(call, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        call()


@pytest.mark.parametrize("bounds", [(True, 3), (0, True), (False,), (True, PAIR)])
def test_a_range_of_values_is_no_truth_value(bounds):
    stream = compression.compress(np.arange(5.0))
    with pytest.raises(TypeError, match=r"^a range of values is whole numbers, not .*$"):
        compression.decompress(stream, *bounds)


def test_a_graph_without_vertices_or_weights_has_no_answer():
    empty = Graph.from_arcs(0, [], [], np.empty(0, np.uint32))
    calls = (
        lambda graph: sssp.solve(graph, 0),
        lambda graph: sssp.prepare(graph, "fast", "cpu"),
        apsp.solve,
        apsp.reductions,
        lambda graph: apsp.slabs(graph, print),
        lambda graph: apsp.compress(graph, "none.coded"),
    )
    searches = (lambda graph: bfs.solve(graph, 0), lambda graph: bfs.solve_many(graph, [0]), bfs.closeness)
    for call in (*calls, *searches):
        with pytest.raises(Unavailable, match=r"^graph unnamed has no vertices$"):
            call(empty)
    for call in calls:
        with pytest.raises(Unavailable, match=r"^graph unnamed has no weights: give it some "):
            call(Graph.from_arcs(1, [], []))


@pytest.mark.parametrize("kind", [int, np.int8, np.uint64, np.int64])
def test_any_integer_is_a_source(kind):
    assert sssp.solve(GRAPH, kind(1), "conventional", "cpu").distances.tolist() == [2**32 - 1, 0, 4]


@pytest.mark.parametrize("many", [0, 1 << 20], ids=["summed", "compared"])
def test_a_graph_that_is_said_to_be_undirected_is(many, monkeypatch):
    monkeypatch.setattr("saitan.both_ways._MANY_ARCS", many)
    draw, found = np.random.default_rng(1), Counter()
    for _ in range(400):
        edges, turned, changed = draw.integers(0, 4), draw.choice([0, 0.9]), draw.choice([0, 0.3])
        arcs = [tuple(draw.integers(0, (3, 3, 2)).tolist()) for _ in range(edges)]
        arcs += [(v, u, w ^ int(draw.random() < changed)) for u, v, w in arcs if draw.random() < turned]
        tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
        graph = Graph.from_arcs(3, tails, heads, np.array(weights, np.float32), metadata={"directed": False})
        assert calls.checked_both_ways(graph.with_metadata(directed=True))
        for weighted in (True, False):
            counted = Counter(arcs if weighted else [arc[:2] for arc in arcs])
            symmetric = all(number == counted[v, u, *w] for (u, v, *w), number in counted.items())
            found[weighted, symmetric] += 1
            if symmetric:
                assert calls.checked_both_ways(graph, weighted) is graph
            else:
                with pytest.raises(ValueError, match=r"^graph unnamed is undirected by its metadata, but"):
                    calls.checked_both_ways(graph, weighted)
    assert min(found.values()) > 90 and len(found) == 4


def test_searches_of_a_graph_whose_edges_are_there_one_way_are_refused():
    """Levels would be wrong: bottom-up looks along a vertex's own arcs."""
    once = GRAPH.with_metadata(directed=False)
    searches = lambda: bfs.solve(once, 0), lambda: bfs.solve_many(once, [0]), lambda: bfs.closeness(once)
    for call in (*searches, lambda: sssp.queries(once, 1, 1)):
        with pytest.raises(ValueError, match="undirected by its metadata"):
            call()


def test_what_is_no_graph_is_told_how_to_become_one():
    from scipy.sparse import csr_array

    with pytest.raises(ValueError, match=r"not csr_array: call Graph\.from_scipy\(matrix\)$"):
        sssp.solve(csr_array((3, 3)), 0)
    with pytest.raises(ValueError, match=r"not DataFrame: call Graph\.from_pandas\(frame\)$"):
        sssp.solve(pandas.DataFrame(), 0)
    fake = type("DiGraph", (), {"__module__": "networkx.classes.digraph"})()
    with pytest.raises(ValueError, match=r"not DiGraph: call Graph\.from_networkx\(graph\)$"):
        sssp.solve(fake, 0)
    with pytest.raises(ValueError, match=r"not ndarray: make one by Graph\.from_arcs"):
        sssp.solve(np.zeros((3, 3)), 0)
    with pytest.raises(ValueError, match=r"not csr_array: call Graph\.from_scipy\(matrix\)$"):
        apsp.solve(csr_array((3, 3)))
    with pytest.raises(ValueError, match=r"not list: make one by Graph\.from_arcs"):
        bfs.solve([[1]], 0)
    for call in (
        *(lambda p=p: p.queries(csr_array((3, 3)), 1, 1) for p in (sssp, bfs)),
        *(lambda p=p: p.reference(csr_array((3, 3)), 1) for p in (sssp, bfs)),
        lambda: bfs.check_root(csr_array((3, 3)), 1),
    ):
        with pytest.raises(ValueError, match=r"not csr_array: call Graph\.from_scipy\(matrix\)$"):
            call()
    for call in (lambda: apsp.queries(GRAPH, 1, 1), lambda: apsp.reference(GRAPH, [0, 1])):
        with pytest.raises(ValueError, match=r"^an instance is expected, not Graph: call apsp\.instance\("):
            call()
    with pytest.raises(ValueError, match=r"^an instance is expected, not ndarray: call tropical\.instance\("):
        tropical.reference(PAIR, 1)


@pytest.mark.parametrize("target", [-1, 3, 1.0, True])
def test_a_path_ends_at_a_vertex(target):
    with pytest.raises(ValueError, match=r"^target "):
        sssp.path(np.array([-1, 0, 1], np.int32), target)


@pytest.mark.parametrize(
    ("variant", "parameters", "message"),
    [
        ("fast", {"delta": float("nan")}, "delta must be finite, not nan"),
        ("fast", {"delta": float("inf")}, "delta must be finite, not inf"),
        ("fast", {"delta": -1}, "delta must be greater than 0, not -1"),
        ("fast", {"delta": 0}, "delta must be greater than 0, not 0"),
        ("phast", {"core": 0}, "core must be at least 1, not 0"),
        ("phast", {"core": 2.5}, "core must be a whole number, not 2.5"),
        ("fast-many", {"sources": 0}, "sources must be at least 1, not 0"),
        ("adaptive", {"threshold_up": -1.0}, "threshold_up must be at least 0, not -1.0"),
        ("conventional", {"delta": 3}, "conventional has no parameter 'delta' (it has none)"),
    ],
)
@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_parameters_are_refused_alike_everywhere(variant, parameters, message, backend):
    with pytest.raises(ValueError) as refused:
        sssp.prepare(GRAPH, variant, backend, **parameters)
    assert str(refused.value) == message


@pytest.mark.skipif(unusable() is None, reason="there is a GPU")
def test_without_a_gpu_one_line_says_so():
    for variant in sssp.VARIANTS:
        if sssp.VARIANTS[variant].cuda and not sssp.VARIANTS[variant].missing():
            with pytest.raises(Unavailable, match=r"PyCUDA|driver|device"):
                sssp.solve(GRAPH, 0, variant, "cuda")
    with pytest.raises(Unavailable, match=r"PyCUDA|driver|device"):
        sssp.solve(GRAPH, 0, "fast-many")


def test_the_help_lists_every_variant_and_parameter():
    text = sssp.solve.__doc__
    for name, variant in sssp.VARIANTS.items():
        assert f"    {name} ({', '.join(variant.backends())}): {variant.summary}\n" in text
        for key, parameter in variant.parameters.items():
            default = "" if parameter.default is None else f", default {parameter.default}"
            assert f"        {key}: {parameter.type.__name__}{default}: {parameter.says}\n" in text


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (apsp.solve, "matrix"),
        (apsp.slabs, "slabs"),
        (apsp.compress, "slabs"),
        (apsp.reductions, "reductions"),
    ],
)
def test_the_help_of_a_part_of_apsp_lists_the_variants_that_give_it(call, answer):
    for name, variant in apsp.VARIANTS.items():
        fits = variant.unfit("cpu", {"answer": answer}) is None
        assert (f"    {name} ({', '.join(variant.backends())}): {variant.summary}\n" in call.__doc__) == fits


@pytest.mark.parametrize("dtype", [np.uint32, np.float32])
def test_every_variant_answers_in_the_same_type(dtype):
    graph = Graph.from_arcs(4, [0, 1, 0], [1, 2, 2], np.array([3, 4, 9]).astype(dtype))
    for name, variant in sssp.VARIANTS.items():
        if variant.cpu and not variant.missing() and not (name == "phast" and dtype == np.float32):
            distances = sssp.solve(graph, 0, name, "cpu").distances
            assert distances.dtype == dtype
            assert distances.tolist() == [0, 3, 7, sssp.unreachable(dtype)]


def test_a_predecessor_that_is_no_vertex_is_refused():
    with pytest.raises(ValueError, match=r"^predecessor 7 is not in \[0, 2\)$"):
        sssp.path(np.array([-1, 7]), 1)
    with pytest.raises(ValueError, match="call solve with predecessors=True"):
        sssp.path(None, 1)
    with pytest.raises(ValueError, match=r"^vertex 0 is its own predecessor, as a root is among bfs's parents"):
        sssp.path(bfs.solve(GRAPH, 0, backend="cpu").parents, 2)


@pytest.mark.parametrize("predecessors", [5, "ab", [[-1, 0]], [-1.0, 0.0], [-1, None]])
def test_predecessors_are_whole_numbers(predecessors):
    with pytest.raises(ValueError, match=r"^predecessors are whole numbers \[n\], not "):
        sssp.path(predecessors, 0)


@pytest.mark.parametrize("roots", [0, np.array(0), "01", {0}, None, np.ndarray, list, [[0], [1, 2]]])
def test_roots_that_have_no_length_are_refused(roots):
    with pytest.raises(ValueError, match=r"^roots must be a list or an array of vertices, not "):
        bfs.solve_many(GRAPH, roots, "cpu")


def test_a_connection_that_is_none_is_refused():
    with pytest.raises(GraphError, match=r"^unknown connection 'full' \(there are: weak, strong\)$"):
        GRAPH.components("full")


def test_a_backend_is_checked_where_there_is_nothing_to_do():
    with pytest.raises(ValueError, match="unknown backend 'gpu'"):
        tropical.closure(np.empty((0, 0), np.float32), backend="gpu")


def test_a_number_beyond_all_floats_is_not_finite():
    with pytest.raises(ValueError, match=r"^delta must fit in 64 bits, not in 1330$"):
        sssp.solve(GRAPH, 0, "fast", "cpu", delta=10**400)


def test_weights_that_a_file_has_and_float32_has_not_are_told(tmp_path):
    path = tmp_path / "small.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1e-50\n")
    with pytest.warns(UserWarning, match=r"small\.mtx: 1 weights are rounded to float32, by 1 of their value at most"):
        saitan.read_graph(path)


def test_truth_values_of_numpy_are_as_good(tmp_path):
    for check in (np.True_, np.False_):
        apsp.compress(GRAPH, tmp_path / "a.coded", check=check, backend="cpu")
        assert apsp.open(tmp_path / "a.coded").about["checked"] is bool(check)
        assert GRAPH.with_metadata(directed=check).metadata["directed"] is bool(check)


@pytest.mark.parametrize("variant", [["fast"], None, 7, "fats", NAMES])
def test_a_variant_that_there_is_not_is_refused_alike_everywhere(variant):
    values = np.ones((2, 2), np.float32)
    for call in (
        lambda: sssp.solve(GRAPH, 0, variant),
        lambda: apsp.solve(GRAPH, variant=variant),
        lambda: apsp.compress(GRAPH, "nowhere", variant),
        lambda: bfs.solve(GRAPH, 0, variant),
        lambda: bfs.closeness(GRAPH, variant),
        lambda: tropical.solve(values, values, variant=variant),
        lambda: compression.solve(values, variant),
        *(
            lambda problem=problem: problem.prepare(None, variant, "cpu")
            for problem in (sssp, apsp, bfs, tropical, compression)
        ),
    ):
        with pytest.raises(ValueError, match=rf"^unknown variant {re.escape(repr(variant))} \(there are: "):
            call()


def test_a_variant_that_a_backend_lacks_is_named():
    with pytest.raises(Unavailable, match=r"^cpu-gpu has no cpu implementation \(there is one for: cuda\)$"):
        bfs.solve(GRAPH, 0, "cpu-gpu", "cpu")
    with pytest.raises(Unavailable, match=r"^scipy has no cuda implementation \(there is one for: cpu\)$"):
        sssp.solve(GRAPH, 0, "scipy", "cuda")
    with pytest.raises(Unavailable, match=r"^scipy takes answer matrix only, not slabs$"):
        apsp.slabs(GRAPH, print, variant="scipy", backend="cpu")


def test_parameters_of_compression_are_refused_as_everywhere():
    with pytest.raises(ValueError, match=r"^fast has no parameter 'kept' \(it has: "):
        compression.solve(np.ones(3), kept=3)


def test_a_graph_says_what_it_lacks():
    with pytest.raises(GraphError, match=r"^graph unnamed has no weights$"):
        _ = Graph.from_arcs(2, [0], [1]).mean_weight
    for metadata in ([1], "name", 3):
        with pytest.raises(GraphError, match=r"^metadata must be a dictionary, not "):
            Graph.from_arcs(2, [0], [1], metadata=metadata)
        with pytest.raises(GraphError, match=r"^metadata must be a dictionary, not "):
            Graph([0, 0], [], metadata=metadata)
    told = {"name": "mine"}
    graph = Graph.from_arcs(2, [0], [1], metadata=told)
    told["name"] = "changed"
    assert graph.name == "mine"


def test_a_mask_that_masks_nothing_is_no_obstacle():
    assert plain_array(np.ma.masked_array([1, 2]), "x").tolist() == [1, 2]
    for sparse in (scipy.sparse.eye(3), scipy.sparse.csr_array((2, 2))):
        with pytest.raises(ValueError, match=r"^array is a sparse matrix: give its data, or matrix\.toarray\(\)$"):
            compression.compress(sparse)
    with pytest.raises(ValueError, match=r"^x: 1 entries are masked"):
        plain_array(np.ma.masked_array([1, 2], mask=[False, True]), "x")


@pytest.mark.parametrize("values", [[1, 2, True], (1.5, 2, np.False_), [[1, 2], [True, 4]], [[1j, 2], [np.True_, 3]]])
def test_a_truth_value_beside_numbers_is_no_number(values):
    with pytest.raises(ValueError, match=r"^x: entry 2 is a truth value beside numbers$"):
        plain_array(values, "x")
    assert plain_array([True, False], "x").dtype == bool


def test_rows_that_are_arrays_are_not_taken_apart():
    """An object for every entry would take more memory than a large matrix."""
    rows = [np.ones(10**6), np.zeros(10**6)]
    tracemalloc.start()
    assert plain_array(rows, "x").shape == (2, 10**6)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 10**6
    with pytest.raises(ValueError, match=r"^x: entry 2 is a truth value beside numbers$"):
        plain_array([np.ones(2), np.array([True, False])], "x")


CHANGES = {
    r"arc 1: target 2147483647 is not in \[0, 3\)": ("targets", 1, 2**31 - 1),
    r"arc 0: target -1 is not in \[0, 3\)": ("targets", 0, -1),
    r"offsets\[2\] is 2, less than offsets\[1\], 1152921504606846976": ("offsets", 1, 2**60),
    r"offsets end with 9: the number of arcs, 2, is right": ("offsets", 3, 9),
    r"arc 1: the weight is nan: a finite number": ("weights", 1, np.nan),
    r"arc 1: the weight is -1\.0: a finite number": ("weights", 1, -1),
}


@pytest.mark.parametrize("message", CHANGES)
def test_arrays_that_were_written_to_are_refused_before_compiled_code_sees_them(message, tmp_path):
    """The process would end: the arrays are the caller's own."""
    name, place, value = CHANGES[message]
    graph = Graph(np.array([0, 1, 2, 2]), np.array([1, 2], np.int32), np.array([5, 6], np.float32))
    solvers = [(p, v) for p in (sssp, apsp, bfs) for v, known in p.VARIANTS.items() if known.cpu]
    calls = [
        *(lambda p=p, v=v: p.prepare(graph, v, "cpu") for p, v in solvers if p is not apsp and v in ("fast", "phast")),
        *(
            lambda p=p, v=v: p.solve(graph, *[0] * (p is not apsp), variant=v, backend="cpu")
            for p, v in solvers
            if p is not bfs or v in ("fast", "phast", "hybrid")
        ),
        lambda: apsp.reductions(graph, backend="cpu"),
        lambda: apsp.slabs(graph, print, backend="cpu"),
        lambda: apsp.compress(graph, tmp_path / "a.coded", backend="cpu"),
        lambda: bfs.solve_many(graph, [0], "cpu"),
        lambda: bfs.closeness(graph, backend="cpu"),
        graph.transposed,
        graph.is_symmetric,
        lambda: graph.components("weak"),
        lambda: graph.components("strong"),
    ]
    prepared = apsp.instance({"graph": graph})
    calls += [
        lambda: apsp.prepare(prepared, "fast", "cpu"),
        lambda: apsp.reference(prepared, [0, 3]),
        *(lambda p=p: p.queries(graph, 1, 1) for p in (sssp, bfs)),
        *(lambda p=p: p.reference(graph, 0) for p in (sssp, bfs)),
        lambda: bfs.check_root(graph, 0),
        lambda: bfs.queries(bfs.instance({"graph": graph}, task="many"), 1, 1),
        lambda: bfs.reference(bfs.instance({"graph": graph}, task="closeness"), 0),
    ]
    getattr(graph, name)[place] = value
    for call in calls:
        with pytest.raises(GraphError, match=f"^{message}"):
            call()


@pytest.mark.parametrize("problem", [sssp, bfs, apsp, tropical, compression])
@pytest.mark.parametrize("given", [GRAPH, np.arange(3.0), None])
def test_inputs_of_an_instance_are_given_by_name(problem, given):
    names = " or ".join(f"{{{name!r}: ...}}" for name in problem.INPUTS)
    says = f"inputs by name are right, {names}, not {type(given).__name__}"
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        problem.instance(given)


def test_what_was_derived_from_a_graph_before_it_was_written_to_is_derived_anew():
    graph = Graph(np.array([0, 0, 2, 2]), np.array([1, 2], np.int32), np.array([5, 6], np.uint32))
    assert graph.degrees.tolist() == [0, 2, 0] and graph.sources.tolist() == [1, 1]
    assert bfs.queries(graph, 9, 1) == [1]
    graph.offsets[1] = 2
    graph.offsets[2] = 2
    assert bfs.queries(graph, 9, 1) == [0]
    for variant in ("fast", "phast", "networkit", "scipy"):
        if not sssp.VARIANTS[variant].missing():
            assert sssp.solve(graph, 0, variant, "cpu").distances.tolist() == [0, 5, 6], variant
    assert bfs.solve(graph, 0, "fast", "cpu").levels.tolist() == [0, 1, 1]
    assert bfs.solve_many(graph, [0], "cpu").levels.tolist() == [[0, 1, 1]]


@pytest.mark.parametrize(
    "solve", [lambda: sssp.solve(GRAPH, 0), lambda: bfs.solve(GRAPH, 0), lambda: bfs.solve_many(GRAPH, [0])]
)
def test_results_are_the_same_only_where_they_are_one(solve):
    """Not by their arrays, of which == makes no truth value."""
    one, other = solve(), solve()
    assert one != other
    assert one in {one}
    assert one not in [other]


def test_an_interrupt_is_heeded_between_some_rows_and_the_next(monkeypatch):
    rng = np.random.default_rng(1)
    graph = Graph.from_arcs(300, rng.integers(0, 300, 900), rng.integers(0, 300, 900), rng.integers(1, 9, 900))
    matrix = rng.random((200, 100), np.float32)
    expected = apsp.solve(graph, backend="cpu"), tropical.matmul(matrix, matrix.T, backend="cpu")

    def sevens(count, least, stop=np.inf):
        for first in range(0, count, 7):
            if first >= stop:
                raise KeyboardInterrupt
            yield slice(first, min(first + 7, count))

    for module in ("apsp", "tropical"):
        monkeypatch.setattr(f"saitan.{module}.cpu_fast.in_turn", sevens)
    np.testing.assert_array_equal(apsp.solve(graph, backend="cpu"), expected[0])
    np.testing.assert_array_equal(tropical.matmul(matrix, matrix.T, backend="cpu"), expected[1])
    for module in ("apsp", "tropical"):
        monkeypatch.setattr(f"saitan.{module}.cpu_fast.in_turn", lambda count, least: sevens(count, least, 70))
    for call in (lambda: apsp.solve(graph, backend="cpu"), lambda: tropical.matmul(matrix, matrix.T, backend="cpu")):
        with pytest.raises(KeyboardInterrupt):
            call()
