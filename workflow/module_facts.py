"""What is found in a Python file of saitan or of the user's own: what it imports, and digests of its code.

It is kept beside the results by the file's content, so that a second plan parses nothing.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import hashlib
import json
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import saitan
from saitan.files import beside
from saitan.workflow.other_code import pythons

PACKAGE = "saitan"
FOUND = Path("results/modules.json")
# More files than these are of former code: they are forgotten.
_MANY = 2000
# What a problem declares of itself. A point depends on its own variant's entry alone, which is part of the point, so
# that another variant or a reworded summary measures nothing again.
DECLARED = {"TITLE", "INPUTS", "OUTPUTS", "INSTANCE", "METRICS", "TRACES", "HEADLINE", "VARIANTS", "FORMS", "__all__"}


class Facts(NamedTuple):
    """Of a file: its parts; digests of its code and of what it declares; the modules of the solvers that it declares;
    the names that it defines, and the files of kernels that it takes constants from, each as problem and name.

    A problem's package has a part for each of its functions, and one named "" for all else; other files have only that.
    Of each: the names that it imports, Python's own aside, and those that it reads in modules of saitan ("saitan.sssp",
    and of it "saitan.sssp.solve"); the parts that it holds; whether it loads solvers.
    """

    parts: dict[str, tuple[list[str], list[str], bool]]
    code: str
    declared: str
    solvers: list[str]
    defined: list[str]
    constants: list[list[str]]


@cache
def facts(path: Path) -> Facts:
    content = path.read_bytes()
    # Where a file of a problem declares, the same content says something else.
    key = hashlib.sha256(content).hexdigest() + (path.name if _of_problem(path) else "")
    known = _known()
    if key not in known:
        known[key] = _facts_of(content, path)
    return Facts(*known[key])


@cache
def _known() -> dict[str, Facts]:
    """Digest of a file's content -> facts: those of former plans, and new ones."""
    atexit.register(keep_found, FOUND.absolute())
    with contextlib.suppress(OSError, ValueError):
        stored = json.loads(FOUND.read_text(encoding="utf-8"))
        files = stored.get("files") if isinstance(stored, dict) and stored.get("by") == _by() else None
        if isinstance(files, dict) and len(files) < _MANY:
            return files
    return {}


def keep_found(path: Path) -> None:
    """Write for the next plan what is known; nothing where that is there, or cannot be written."""
    content = json.dumps({"by": _by(), "files": _known()})
    with contextlib.suppress(OSError):
        if path.parent.is_dir() and not (path.exists() and path.read_text(encoding="utf-8") == content):
            with beside(path) as temporary:
                temporary.write_text(content, encoding="utf-8")


@cache
def _by() -> str:
    """What facts depend on beside the files."""
    return hashlib.sha256(Path(__file__).read_bytes() + f"{sys.version}{sorted(pythons())}".encode()).hexdigest()


def _facts_of(content: bytes, path: Path) -> Facts:
    if path.suffix != ".py":  # compiled
        return Facts({"": ([], [], False)}, hashlib.sha256(content).hexdigest(), "", [], [], [])
    try:
        tree = ast.parse(content, filename=str(path))
    except SyntaxError as error:
        line = f"line {error.lineno}: " if error.lineno else ""
        raise SystemExit(f"error: {path}: {line}{error.msg}") from None
    for node in ast.walk(tree):
        # Without docstrings.
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and _documented(node):
            node.body = node.body[1:]
    code, declared, body = tree.body, [], tree.body
    functions, solvers = {}, []
    if _of_problem(path) and any(_declares(node) for node in body):
        declared = [node for node in body if isinstance(node, ast.Assign) and _assigned(node) <= DECLARED]
        code = [node for node in body if node not in declared]
        solvers = _solvers(tree)
        if path.name == "__init__.py":
            functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    rest = [node for node in body if node not in functions.values()]
    called_here = _called_here(tree)
    parts = {"": rest, **{name: [node] for name, node in functions.items()}}
    found = {name: _part(of, functions, called_here) for name, of in parts.items()}
    return Facts(found, _dumped(code), _dumped(declared), solvers, sorted(_bound(body)), _constants(tree))


def _dumped(code: list[ast.stmt]) -> str:
    return hashlib.sha256(ast.dump(ast.Module(code, [])).encode()).hexdigest()


def _solvers(tree: ast.AST) -> list[str]:
    """The modules of texts such as "saitan.sssp.cpu:Conventional"."""
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return sorted({text.partition(":")[0] for text in texts if re.fullmatch(r"[\w.]+:\w+", text)})


def _part(body: list[ast.stmt], functions: Collection[str], called_here: Mapping[str, str]) -> tuple:
    """What `Facts` has of a part."""
    nodes = list(ast.walk(ast.Module(body, [])))
    # An argument may be called as a function is.
    given = (node.args for node in body if isinstance(node, ast.FunctionDef))
    own = {one.arg for arguments in given for one in ast.iter_child_nodes(arguments) if isinstance(one, ast.arg)}
    held = {node.id for node in nodes if isinstance(node, ast.Name)}.intersection(functions) - own
    # Of VARIANTS["fast"] something may be read; what takes others, by names that it is given, loads them.
    told = {
        id(node.value) for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
    }
    taken = (isinstance(node, ast.Name) and node.id == "VARIANTS" and id(node) not in told for node in nodes)
    loads = any(taken) or any(isinstance(node, ast.Attribute) and node.attr == "load" for node in nodes)
    read = {_read(node, called_here) for node in nodes if isinstance(node, ast.Attribute)} - {""}
    return sorted({*_named(body), *read}), sorted(held), loads


def _called_here(tree: ast.AST) -> dict[str, str]:
    """What modules of saitan, or of the file's own package, are called in a file that imports them."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                # Without "as" the first part of the name alone is bound.
                bound = alias.name if alias.asname else alias.name.partition(".")[0]
                found[alias.asname or bound] = bound
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            found |= {a.asname or a.name: f"{start}{'.' * bool(node.module)}{a.name}" for a in node.names}
    return {name: module for name, module in found.items() if module.split(".")[0] in ("", PACKAGE)}


def _read(node: ast.AST, called_here: Mapping[str, str]) -> str:
    """The name of what is read in a module: "saitan.sssp.solve" of `sssp.solve`; "" of what is no module's."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    called = called_here.get(node.id) if isinstance(node, ast.Name) else None
    return ".".join([called, *reversed(names)]) if called else ""


def _constants(tree: ast.AST) -> list[list[str]]:
    """The arguments of calls of `constants` of saitan.cuda.constants."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Name(id="constants") | ast.Attribute(attr="constants"),
                args=[ast.Constant(value=str(name)), ast.Constant(value=str(file))],
            ):
                found.add((name, file))
    return [list(of) for of in sorted(found)]


def _bound(body: Iterable[ast.AST]) -> set[str]:
    """The names that statements bind in their module, under `if` and `try` too."""
    found: set[str] = set()
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif not isinstance(node, ast.Lambda):
            found |= _bound(ast.iter_child_nodes(node))
    return found


def _named(body: list[ast.stmt]) -> list[str]:
    """What import statements name: modules, or things in them, but for Python's own; relative ones as they stand."""
    found: set[str] = set()
    for node in ast.walk(ast.Module(body, [])):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            found |= {start, *(f"{start}{'.' * bool(node.module)}{alias.name}" for alias in node.names)}
    return sorted(name for name in found if name.split(".")[0] not in pythons())


def _of_problem(path: Path) -> bool:
    """Whether a file may hold what a problem declares; elsewhere names such as VARIANTS are code like others."""
    return path.parent.parent == Path(saitan.__path__[0]) and path.name in ("__init__.py", "variants.py")


def _declares(node: ast.stmt) -> bool:
    """Whether a statement makes its module a problem's package, or the one that holds what it declares: VARIANTS
    assigned, or imported.
    """
    if isinstance(node, ast.ImportFrom):
        return any(alias.name == "VARIANTS" for alias in node.names)
    return isinstance(node, ast.Assign) and _assigned(node) == {"VARIANTS"}


def _assigned(node: ast.Assign) -> set[str]:
    return {target.id if isinstance(target, ast.Name) else "" for target in node.targets}


def _documented(node: ast.AST) -> bool:
    return ast.get_docstring(node, clean=False) is not None
