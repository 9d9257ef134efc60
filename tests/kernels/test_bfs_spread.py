"""Positions of vertices over GPUs: a bijection, rows and answers of which every GPU has its part."""

import numpy as np
import pytest

from saitan.bfs.layout import Layout
from saitan.bfs.search import reverse
from saitan.bfs.spread import Spread
from saitan.generators import GENERATORS


@pytest.mark.parametrize("gpus", [1, 2, 3, 8])
@pytest.mark.parametrize("scale", [3, 9])
def test_parts_are_the_layout(gpus, scale):
    graph = GENERATORS["kronecker"](scale=scale, seed=3)
    layout = Layout.of(graph, reverse(graph))
    k = len(layout.old)
    made = Spread(graph.n, k, gpus)
    positions = np.array([made.position(v) for v in range(k)])
    assert len(set(positions.tolist())) == k and made.segment % 128 == 0
    old = made.by_position(layout.old + 1)
    assert np.array_equal(old[positions], layout.old + 1)
    assert len(old) == made.positions and (old > 0).sum() == k == sum(made.own(gpu) for gpu in range(gpus))
    everywhere = []
    for gpu in range(gpus):
        ids, numbers = made.vertices(layout.new, gpu)
        everywhere += ids.tolist()
        assert ids.dtype == numbers.dtype == np.int32 and len(numbers) % 4 == 0 and (np.diff(ids) > 0).all()
        there = layout.new[ids] >= 0
        assert np.array_equal(numbers[: len(ids)] >= 0, there) and (numbers[len(ids) :] == -1).all()
        assert np.array_equal(gpu * made.segment + numbers[: len(ids)][there], positions[layout.new[ids[there]]])
        offsets = made.rows(layout.forward.offsets, gpu)
        assert offsets.dtype == layout.forward.offsets.dtype and len(offsets) == made.own(gpu) + 1
        assert np.array_equal(np.diff(offsets), layout.forward.degrees[gpu::gpus])
    assert sorted(everywhere) == list(range(graph.n))
