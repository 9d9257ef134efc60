"""Paper H, section 2.4: the adjacency matrix in R x R blocks, a process holds a pair of transposed ones.

The vertices are cut into R parts. Block (i, j) holds the arcs from tails of part j to heads of part i. A process holds
(i, j) and (j, i), or two blocks of the diagonal, so R^2 / 2 processes; R = 2^(n+1) gives the paper's 2^(2n+1). One
process alone holds the whole matrix, R = 1.

The processes that hold a block of row i also hold one of column i: they are `members` of part i, R of them. What they
find in row i is the input of column i in the next level, so that the mapping is never transposed. Each owns a slice of
the part: levels, parents and degrees of its vertices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

# The paper's numbers of processes, and one.
PROCESSES = (1, 2, 8, 32, 128, 512, 2048, 8192)
WORD = 32


@dataclass(frozen=True)
class Partition:
    """n vertices among a number of processes. Raises ValueError for a number that the partition does not take."""

    n: int
    processes: int

    def __post_init__(self) -> None:
        if self.processes not in PROCESSES:
            known = ", ".join(map(str, PROCESSES))
            raise ValueError(f"pairs of transposed blocks are for {known} processes, not {self.processes}")

    @cached_property
    def parts(self) -> int:
        """R: parts of the vertices, and members of each."""
        return round((2 * self.processes) ** 0.5) if self.processes > 1 else 1

    @cached_property
    def slice_words(self) -> int:
        """Words of the bitmap of a slice; slices are equal, so that the last ones may reach beyond n."""
        return max(1, -(-self.n // (self.parts**2 * WORD)))

    @property
    def slice(self) -> int:
        """Vertices of a slice."""
        return self.slice_words * WORD

    @property
    def words(self) -> int:
        """Words of the bitmap of a part."""
        return self.slice_words * self.parts

    @property
    def part(self) -> int:
        """Vertices of a part."""
        return self.slice * self.parts

    def pair(self, process: int) -> tuple[int, int]:
        """The two parts i < j of a process; (0, 0) of one alone. The first R / 2 processes hold the diagonal."""
        return self._pairs[process]

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        if self.parts == 1:
            return [(0, 0)]
        diagonal = [(i, i + 1) for i in range(0, self.parts, 2)]
        return diagonal + [(i, j) for i in range(self.parts) for j in range(i + 1, self.parts)]

    def blocks(self, process: int) -> list[tuple[int, int]]:
        """(row, column) of the blocks that a process holds, rows in ascending order."""
        i, j = self.pair(process)
        if i == j:
            return [(i, i)]
        return [(i, i), (j, j)] if process < self.parts // 2 else [(i, j), (j, i)]

    def begins(self, process: int) -> int:
        """Which of its blocks a process makes first, so that of every row half of the members do it first."""
        i, j = self.pair(process)
        return 0 if i == j or process < self.parts // 2 else (i + j) % 2

    def place(self, process: int, part: int) -> int:
        """Where a part stands among those of a process."""
        return self.pair(process).index(part)

    def holder(self, row: int, column: int) -> int:
        """The process that holds a block."""
        return self._holders[row, column]

    @cached_property
    def _holders(self) -> dict[tuple[int, int], int]:
        return {block: process for process in range(self.processes) for block in self.blocks(process)}

    def members(self, part: int) -> list[int]:
        """The processes that hold a block of a part's row, in ascending order; the k-th owns the part's slice k."""
        return sorted(self.holder(part, column) for column in range(self.parts))
