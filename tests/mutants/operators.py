"""What Cosmic Ray's operators leave out: faults as people make them, in whole statements, conditions and loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import parso
from cosmic_ray.operators.operator import Example, Operator
from parso.tree import NodeOrLeaf

# The kinds of statement, as parso names them, that can be left out without the file ceasing to parse.
LEFT_OUT = {"raise_stmt", "return_stmt", "atom_expr", "expr_stmt", "await_expr"}
OPPOSITES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}


class LeaveOut(Operator):
    """Puts `pass` in the place of a raise, a return, a call or an assignment inside a function.

    The first assignment to a name stays: without it nothing runs.
    """

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[tuple]:
        if (
            node.type == "simple_stmt"
            and node.children[0].type in LEFT_OUT
            and _inside_function(node)
            and not _gives_a_name_first(node.children[0])
        ):
            yield node.children[0].start_pos, node.children[0].end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        node.children[0] = _parsed(node.children[0], "pass")
        return node

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (Example("def f():\n    raise X\n", "def f():\n    pass\n"),)


class NeverTaken(Operator):
    """Makes the condition of an `if` or `elif` false."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[tuple]:
        if node.type == "if_stmt":
            for condition in _conditions(node):
                yield condition.start_pos, condition.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        _replace(_conditions(node)[index], "False")
        return node

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (Example("if a:\n    b()\n", "if False:\n    b()\n"),)


class DropOperand(Operator):
    """Leaves an operand out of `and` and `or`."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[tuple]:
        if node.type in ("and_test", "or_test"):
            for operand in node.children[::2]:
                yield operand.start_pos, operand.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        whole, word = node.children[::2], f" {node.children[1].value} "
        kept = [child.get_code(include_prefix=False) for child in whole if child is not whole[index]]
        return _parsed(node, word.join(kept))

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (Example("x = a and b\n", "x = b\n"), Example("x = a and b\n", "x = a\n", occurrence=1))


class ShortRange(Operator):
    """Ends a `range` or `prange` one step early, or begins it one late."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[tuple]:
        for bound in _bounds(node):
            yield bound.start_pos, bound.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        bounds = _bounds(node)
        last = index == len(bounds) - 1
        _replace(bounds[index], f"({bounds[index].get_code(include_prefix=False)}) {'-' if last else '+'} 1")
        return node

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("for i in range(n): f()\n", "for i in range((n) - 1): f()\n"),
            Example("for i in range(a, b): f()\n", "for i in range((a) + 1, b): f()\n"),
        )


class Opposite(Operator):
    """Calls max for min, any for all, and the other way round."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[tuple]:
        after = node.get_next_leaf() if node.type == "name" else None
        if after is not None and after.value == "(" and node.value in OPPOSITES:
            yield node.start_pos, node.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        node.value = OPPOSITES[node.value]
        return node

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (Example("x = min(a, b)\n", "x = max(a, b)\n"),)


OPERATORS = {one.__name__: one for one in (LeaveOut, NeverTaken, DropOperand, ShortRange, Opposite)}


class Provider:
    """The operators of this file, as Cosmic Ray asks for them."""

    def __iter__(self) -> Iterator[str]:
        return iter(OPERATORS)

    def __getitem__(self, name: str) -> type[Operator]:
        return OPERATORS[name]


def _parsed(node: NodeOrLeaf, text: str) -> NodeOrLeaf:
    return parso.parse(node.get_first_leaf().prefix + text)


def _replace(node: NodeOrLeaf, text: str) -> None:
    siblings = node.parent.children
    siblings[siblings.index(node)] = _parsed(node, text)


def _conditions(node: NodeOrLeaf) -> list[NodeOrLeaf]:
    words = enumerate(node.children)
    return [node.children[at + 1] for at, word in words if word.type == "keyword" and word.value in ("if", "elif")]


def _bounds(node: NodeOrLeaf) -> list[NodeOrLeaf]:
    """The first and last value of a call of range or prange, without a step; the last alone where it has no first."""
    if node.type != "atom_expr" or node.children[-2].get_last_leaf().value not in ("range", "prange"):
        return []
    given = node.children[-1].children[1]
    if given.type != "arglist":
        return [given]
    return given.children[0:3:2] if len(given.children) == 3 else []


def _inside_function(node: NodeOrLeaf) -> bool:
    return parso.tree.search_ancestor(node, "funcdef") is not None


def _gives_a_name_first(statement: NodeOrLeaf) -> bool:
    """Whether a statement assigns to a name that the function does not have before it."""
    names = statement.get_defined_names() if statement.type == "expr_stmt" else []
    function = parso.tree.search_ancestor(statement, "funcdef")
    leaf, before = function.get_first_leaf(), set()
    while leaf is not None and leaf.start_pos < statement.start_pos:
        before.add(leaf.value)
        leaf = leaf.get_next_leaf()
    return any(name.value not in before for name in names)
