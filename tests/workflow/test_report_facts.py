import numpy as np
import pytest
from reports import shown, text_of
from samples import seconds, write_samples

from saitan.blocks import Block
from saitan.graph import Graph
from saitan.workflow.answer_writers import AnswerWriter, SlabWriter, write_unavailable
from saitan.workflow.answers import about_answer, slab_name
from saitan.workflow.ceilings import Ceilings
from saitan.workflow.graphs.parquet import write_graph
from saitan.workflow.report_facts import Kept, graph_row, kept, machines
from saitan.workflow.report_plan import PlannedAnswer, PlannedGraph


def planned(file, identity="now"):
    return PlannedAnswer(file=file, identity=identity)


def test_kept_answers_say_what_compressing_them_saves(tmp_path):
    array = np.arange(100_000, dtype=np.uint32)
    places = {how: tmp_path / f"results/answers/bfs/cpu/map/fast/default/2-1/{how}" for how in ("raw", "compressed")}
    for how, folder in places.items():
        with AnswerWriter(folder, ["d"], {"identity": "now"}, how == "compressed") as sink:
            sink(Block("d", 0, array))
    write_unavailable(places["raw"], ["none"], {"identity": "now"}, "no root")
    raw, compressed, *others = kept(
        [
            planned(places["raw"] / "d.parquet"),
            planned(places["compressed"] / "d.parquet"),
            planned(places["compressed"] / "d.parquet", "another"),
            planned(tmp_path / "none"),
            planned(places["raw"] / "none.parquet"),
        ],
        Ceilings(),
    )
    assert not others and raw.how == "numbers" and compressed.how == "streams"
    assert raw.name == "bfs/cpu/map/fast/default/2-1/raw/d"
    assert raw.nbytes == compressed.nbytes == array.nbytes and compressed.shape == [100_000]
    assert compressed.ratio > 14 and compressed.seconds > 0
    assert raw.saved is compressed.saved is compressed.saved_seconds is None


def test_answers_compressed_on_a_gpu_say_what_did_not_cross(tmp_path):
    array = np.zeros(100_000, np.uint32)
    ceilings = Ceilings({"card": {"bytes_to_host": {"rate": 2e5, "says": "over PCIe"}}})
    paths = []
    for gpu, how in (("card", "raw"), ("card", "compressed"), ("other", "compressed")):
        paths.append(tmp_path / "results/answers" / f"{gpu}-{how}" / "d.parquet")
        with AnswerWriter(
            paths[-1].parent, ["d"], {"identity": "now", "provenance": {"gpu": gpu}}, how == "compressed"
        ) as sink:
            sink(Block("d", 0, array))
    raw, compressed, other = kept(map(planned, paths), ceilings)
    assert raw.saved is other.saved is None
    assert compressed.saved == 400_000 - compressed.written > 0
    assert compressed.saved_seconds == compressed.saved / 2e5


def test_what_crossed_from_a_gpu_is_shown_where_something_did(plan, monkeypatch):
    crossed = Kept("bfs/cpu/a", "streams", "uint32", [8], 400, 100, 0.5, link=600.0)
    numbers = Kept("bfs/cpu/b", "numbers", "uint32", [8], 400, 200, None)
    monkeypatch.setattr("saitan.workflow.report.kept", lambda *_: [crossed, numbers])
    text = text_of(shown(plan))
    assert "seconds to write bytes saved on PCIe seconds saved on PCIe bfs/cpu/a" in text
    assert "uint32 8 400 100 4 0.5 300 0.5 bfs/cpu/b numbers uint32 8 400 200 2 – – – " in text
    monkeypatch.setattr("saitan.workflow.report.kept", lambda *_: [numbers])
    assert "seconds to write bfs/cpu/b numbers uint32 8 400 200 2 – Kernels" in text_of(shown(plan))


def test_a_kept_answer_in_slabs_is_all_its_files(tmp_path):
    folder, array = tmp_path / "results/answers", np.arange(60_000, dtype=np.uint32).reshape(6, 10_000)
    writer = SlabWriter(folder, "d", {"identity": "now"})
    for first in (0, 4):
        writer(Block("d", first, array[first : first + 4]))
    writer.join({0: 4, 4: 2}, {"identity": "now"})
    (found,) = kept([planned(folder / "d.parquet")], Ceilings())
    files = [folder / "d.parquet", *(folder / f"d.slabs/{slab_name(first)}.parquet" for first in (0, 4))]
    assert found.written == sum(file.stat().st_size for file in files) and found.nbytes == array.nbytes
    assert found.shape == [6, 10_000] and found.how == "numbers" and found.ratio == array.nbytes / found.written
    assert found.seconds == sum(about_answer(file)["seconds"] for file in files[1:])


def test_arrays_are_shown_with_what_is_told_of_them(plan, tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 4), np.float32))
    told = {"title": "<A> of mine", "dtype": "float32", "origin": "from the file a.raw"}
    plan["arrays"] = [
        {"name": "a", "file": str(tmp_path / "a.npy"), "synthetic": "drawn by me", **told},
        {"name": "b", "file": str(tmp_path / "b.npy"), **told},
    ]
    text = text_of(shown(plan))
    assert "a &lt;A&gt; of mine float32 3 × 4 synthetic drawn by me from the file a.raw" in text
    assert "b &lt;A&gt; of mine float32 real from the file a.raw" in text
    # That of a run that failed may be of an older configuration.
    assert "float32 synthetic" in text_of(shown(plan, partial=True))


def test_generated_graphs_are_called_synthetic(plan, tmp_path):
    def row_of(name, partial=False, **told):
        told = {"identity": "now", "synthetic": None} | told
        return graph_row(PlannedGraph(name=name, title=name, folder=tmp_path / name, **told), partial=partial)

    del plan["graphs"][0]["synthetic"]
    text = text_of(shown(plan))
    assert "synthetic generated" in text and "real" not in text[text.index("Graphs graph") : text.index("Not there")]
    write_graph(Graph(np.array([0, 1]), np.array([0], np.int32), np.array([5], np.uint32)), tmp_path / "net")
    row = row_of("net")
    assert (row.synthetic, row.origin, row.vertices) == (None, "downloaded", 1)
    for origin, says in (("http://host/a.gr", "downloaded"), ("a.gr", "from the file a.gr")):
        graph = Graph(np.array([0, 1]), np.array([0], np.int32), None, metadata={"origin": origin})
        write_graph(graph, tmp_path / "file")
        assert row_of("file").origin == says
    # What the catalogue says of its origin says more.
    assert row_of("net", origin="drawn by hand").origin == "drawn by hand"
    assert row_of("map").synthetic == "generated"
    drawn = Graph(np.array([0, 1]), np.array([0], np.int32), None, metadata={"generator": "ring", "seed": 7})
    write_graph(drawn.with_metadata(parameters={"vertices": 1, "odd": True}), tmp_path / "drawn")
    row = row_of("drawn")
    assert row.origin == "generated: ring(vertices=1, odd=True), seed 7"
    done = {"drop_loops": True, "weights": {"low": 100, "high": 2000, "seed": 3}, "largest_component": "strong"}
    write_graph(drawn.with_metadata(options=done | {"relabel": "bfs", "symmetrise": True}), tmp_path / "made")
    told = "loops dropped; arcs both ways; weights drawn from 100 to 2,000, seed 3; its largest strong component"
    assert row_of("made").origin == f"generated: ring(), seed 7; {told}; vertices in the order of bfs"
    write_graph(
        Graph(np.array([0, 0]), np.array([], np.int32), None, metadata={"options": {"merge_parallel": True}}),
        tmp_path / "merged",
    )
    assert row_of("merged").origin == "downloaded; parallel arcs merged"
    rounded = {"inexact": {"count": 1234, "relative": 5.96e-8}, "options": {"largest_component": "weak"}}
    write_graph(drawn.with_metadata(**rounded), tmp_path / "rounded")
    told = "generated: ring(), seed 7; 1,234 weights are rounded to float32, by 6e-08 of their value at most"
    assert row_of("rounded").origin == f"{told}; its largest weak component"
    arcs = Graph(np.array([0, 2, 2, 4]), np.array([1, 2, 0, 1], np.int32), None)
    write_graph(arcs, tmp_path / "arcs")
    row = row_of("arcs")
    assert (row.vertices, row.arcs, row.weight, row.directed) == (3, 4, None, None)
    assert row_of("gone").origin == "not there"
    write_graph(arcs, tmp_path / "arcs", "now")
    assert row_of("arcs", partial=True).vertices == row_of("arcs", identity="another").vertices == 3
    outdated = row_of("arcs", partial=True, identity="another")
    assert (outdated.vertices, outdated.origin) == (None, "out of date")


def test_a_machine_names_every_combination_of_software_once(tmp_path):
    paths = [
        write_samples(tmp_path / f"{n}.parquet", seconds(1.0), provenance={"commit": commit, "dirty": dirty})
        for n, (commit, dirty) in enumerate([("a", False), ("b", False), ("a", False), ("a", True)])
    ]
    (machine,) = machines(paths)
    assert [(one["commit"], one["dirty"]) for one in machine.software] == [("a", False), ("b", False), ("a", True)]
    assert (machine.points, machine.samples) == (4, 4)


def test_machines_tell_cpu_from_gpu(tmp_path):
    late = {"measured_at": "2026-01-03T00:00:00+00:00"}
    paths = [
        write_samples(tmp_path / "0.parquet", seconds(1.0, 2.0), backend="cuda"),
        write_samples(tmp_path / "1.parquet", seconds(1.0, 2.0)),
        write_samples(tmp_path / "2.parquet", seconds(1.0, 2.0), provenance=late),
        write_samples(tmp_path / "3.parquet", seconds(1.0), cores=1),
    ]
    # Whichever file is read first; the same software is said once.
    one, other = (
        [(m.backend, m.first, m.last, len(m.software), m.cores) for m in machines(order)]
        for order in (paths, paths[::-1])
    )
    assert one == other and [software for *_, software, _ in one] == [1, 1]
    found = machines(paths)
    # Points of other numbers of cores are no other machine.
    assert [(m.backend, m.cores, m.points, m.samples) for m in found] == [("cpu", {1, 4}, 3, 5), ("cuda", {4}, 1, 2)]
    assert (found[0].first[:10], found[0].last[:10]) == ("2026-01-02", "2026-01-03")
    # The values damaged, the end of the file as it was: the report names it elsewhere.
    content = paths[0].read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    paths[0].write_bytes(bytes(len(content) - footer) + content[-footer:])
    assert [m.backend for m in machines(paths)] == ["cpu"]


@pytest.mark.parametrize(("cores", "said"), [((4, 1), "1, 4 cores"), ((2, 2), "2 cores"), ((1, 1), "1 core")])
def test_a_machine_is_one_card_with_all_numbers_of_cores(plan, tmp_path, cores, said):
    del plan["points"][1]
    for number, (point, count) in enumerate(zip(plan["points"], cores, strict=True)):
        point["samples"] = str(write_samples(tmp_path / f"{number}.parquet", seconds(0.1), cores=count))
    text = text_of(shown(plan))
    assert f"CPU Example CPU {said} " in text and text.count("CPU Example CPU") == 1
