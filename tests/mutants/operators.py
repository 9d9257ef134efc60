"""What Cosmic Ray's operators leave out: a statement that is gone, such as a check that no longer raises."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import parso
from cosmic_ray.operators.operator import Example, Operator
from parso.tree import NodeOrLeaf

# The kinds of statement, as parso names them, that can be left out without the file ceasing to parse.
LEFT_OUT = {"raise_stmt", "return_stmt", "atom_expr", "expr_stmt", "await_expr"}


class LeaveOut(Operator):
    """Puts `pass` in the place of a raise, a return, a call or an assignment inside a function."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[tuple]:
        if node.type == "simple_stmt" and node.children[0].type in LEFT_OUT and _inside_function(node):
            yield node.children[0].start_pos, node.children[0].end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        node.children[0] = parso.parse(node.children[0].get_first_leaf().prefix + "pass")
        return node

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (Example("def f():\n    raise X\n", "def f():\n    pass\n"),)


class Provider:
    """The operators of this file, as Cosmic Ray asks for them."""

    def __iter__(self) -> Iterator[str]:
        return iter(["LeaveOut"])

    def __getitem__(self, name: str) -> type[Operator]:
        return {"LeaveOut": LeaveOut}[name]


def _inside_function(node: NodeOrLeaf) -> bool:
    return parso.tree.search_ancestor(node, "funcdef") is not None
