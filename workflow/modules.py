"""What a Python module of saitan depends on: found from its imports, and told from its code, not from its text.

Modules of the user's own that lie elsewhere are followed too.

A number depends on the modules that made it. Their digest ignores comments, docstrings and layout, so that rewording
measures nothing again.

What is found of a file is kept beside the results by the file's content, so that a second plan parses nothing.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import hashlib
import json
import sys
from collections.abc import Collection, Iterable
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import resolve_name
from pathlib import Path
from typing import Literal, NamedTuple

import saitan
import saitan.workflow
from saitan.files import beside
from saitan.workflow.other_code import file_of, own_file, pythons

PACKAGE = "saitan"
FOUND = Path("results/modules.json")
By = Literal["measured", "asked"]
# More files than these are of former code: they are forgotten.
_MANY = 2000
# What a problem declares of itself. A point depends on its own variant's entry alone, which is part of the point, so
# that another variant or a reworded summary measures nothing again.
# The functions of its package that a measurement calls, and those that draw its queries and their reference answer.
CALLED = {"measured": {"instance", "queries", "prepare"}, "asked": {"instance", "queries", "reference"}}
DECLARED = {"TITLE", "INPUTS", "OUTPUTS", "INSTANCE", "METRICS", "TRACES", "HEADLINE", "VARIANTS", "FORMS", "__all__"}


@cache
def source(module: str) -> Path | None:
    """The file of "saitan", "saitan.sssp.cpu", ..., or of a module of the user's own; None where there is none."""
    parts = module.split(".")
    if parts[0] != PACKAGE:
        return own_file(module)
    if parts[:2] == [PACKAGE, "workflow"]:
        base, rest = Path(saitan.workflow.__path__[0]), parts[2:]
    else:
        base, rest = Path(saitan.__path__[0]), parts[1:]
    path = base.joinpath(*rest)
    # In the order in which Python looks for them.
    beside = [path.with_name(path.name + suffix) for suffix in (*EXTENSION_SUFFIXES, ".py")] if rest else []
    candidates = (path / "__init__.py", *beside)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


@cache
def imports(module: str, by: By | None = None) -> frozenset[str]:
    """The modules of saitan, and the user's own elsewhere, that a module names in any of its import statements, those
    inside functions too.

    by: of a problem's package, leave out functions that are not CALLED so (solve, ...), not even by others that are
    """
    path = source(module)
    if path is None:
        return frozenset()
    facts = _facts(path)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    named = (_absolute(name, package) for name in (facts.called[by] if by else facts.imports))
    return frozenset(name for name in named if name and source(name))


def others(module: str) -> set[str]:
    """The names of other packages that a module imports, of an installed package too; none where it is not there."""
    path = source(module) or file_of(module)
    return {name.partition(".")[0] for name in (_facts(path).imports if path else ())} - {PACKAGE, ""}


def closure(modules: Iterable[str], without: Collection[str] = (), by: By | None = None) -> list[str]:
    """The modules and all that they import, directly or not, sorted.

    without: modules that are not followed into; by: see `imports`.
    """
    todo, found = list(modules), set()
    while todo:
        module = todo.pop()
        if module not in found:
            found.add(module)
            # Importing a module runs its packages too.
            named = {*imports(module, by), module.rpartition(".")[0] or module}
            todo += [name for name in named if name not in without]
    return sorted(found)


def digest(modules: Iterable[str]) -> str:
    """One value for the code of modules, by name."""
    total = hashlib.sha256()
    for module in sorted(modules):
        total.update(f"{module} {_code(source(module))}\n".encode())
    return total.hexdigest()[:16]


@cache
def steps_code() -> str:
    """One value for the modules of the workflow, by their text, as the steps after measuring take seconds."""
    return text_digest(sorted(Path(saitan.workflow.__path__[0]).rglob("*.py")))


def _code(path: Path | None) -> str:
    return "absent" if path is None else _facts(path).code


def taken_from(modules: Iterable[str]) -> list[Path]:
    """The .cu and .cuh that modules take constants from."""
    named = {tuple(of) for path in filter(None, map(source, modules)) for of in _facts(path).constants}
    files = (Path(saitan.__path__[0]).joinpath(*of) for of in sorted(named))
    return [file for file in files if file.exists()]


def defined(module: str) -> list[str]:
    """The names that a module of saitan defines or imports, those inside functions and classes aside."""
    return _facts(source(module)).defined


class _Facts(NamedTuple):
    """Of a file: names that it imports, Python's own aside, and those that what is CALLED imports; a digest of its
    code, the names that it defines, and the files of kernels that it takes constants from, each as problem and name.
    """

    imports: list[str]
    called: dict[str, list[str]]
    code: str
    defined: list[str]
    constants: list[list[str]]


@cache
def _facts(path: Path) -> _Facts:
    content = path.read_bytes()
    # Where a file of a problem declares, the same content says something else.
    key = hashlib.sha256(content).hexdigest() + (path.name if _of_problem(path) else "")
    known = _known()
    if key not in known:
        known[key] = _facts_of(content, path)
    return _Facts(*known[key])


@cache
def _known() -> dict[str, _Facts]:
    """Digest of a file's content -> facts: those of former plans, and new ones."""
    atexit.register(keep_found, FOUND.absolute())
    with contextlib.suppress(OSError, ValueError):
        stored = json.loads(FOUND.read_text(encoding="utf-8"))
        if stored["by"] == _by() and len(stored["files"]) < _MANY:
            return stored["files"]
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


def _facts_of(content: bytes, path: Path) -> _Facts:
    if path.suffix != ".py":  # compiled
        return _Facts([], {by: [] for by in CALLED}, hashlib.sha256(content).hexdigest(), [], [])
    try:
        tree = ast.parse(content, filename=str(path))
    except SyntaxError as error:
        raise SystemExit(f"error: {path}: line {error.lineno}: {error.msg}") from None
    for node in ast.walk(tree):
        # Without docstrings.
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and _documented(node):
            node.body = node.body[1:]
    code = body = tree.body
    named = _named(body)
    called = dict.fromkeys(CALLED, named)
    if _of_problem(path) and any(_declares(node) for node in body):
        code = [node for node in body if not (isinstance(node, ast.Assign) and _assigned(node) <= DECLARED)]
        if path.name == "__init__.py":
            called = {by: _named(_used(body, functions)) for by, functions in CALLED.items()}
    digest = hashlib.sha256(ast.dump(ast.Module(code, [])).encode()).hexdigest()
    return _Facts(named, called, digest, sorted(_bound(body)), _constants(tree))


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


def _used(body: list[ast.stmt], functions: Iterable[str]) -> list[ast.stmt]:
    """The statements without functions other than these, and those whose names they or other statements hold."""
    others = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    todo = [node for node in body if not isinstance(node, ast.FunctionDef)]
    todo += [others.pop(name) for name in functions if name in others]
    kept: list[ast.stmt] = []
    while todo:
        kept.append(todo.pop())
        names = {node.id for node in ast.walk(kept[-1]) if isinstance(node, ast.Name)}
        todo += [others.pop(name) for name in names if name in others]
    return kept


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


def _absolute(name: str, package: str) -> str:
    """The module of a name as it stands in a module of a package; "" for one above all packages."""
    try:
        return resolve_name(name, package)
    except ImportError:
        return ""


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


def kernels(name: str) -> list[Path]:
    """The .cu files of a problem, or of what problems share ("cuda")."""
    return sorted((Path(saitan.__path__[0]) / name).glob("*.cu"))


def text_digest(paths: Iterable[str | Path]) -> str:
    """One value for the contents of files."""
    total = hashlib.sha256()
    for path in paths:
        total.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return total.hexdigest()[:16]
