"""What a declaration names as "module:name", imported when it is first used, and whether it takes what it is given."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Collection
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

from saitan.errors import Misdeclared
from saitan.graph_input import shortened


def named(path: str, where: str) -> Any:
    """What is called so. Raises Misdeclared for a module or a name that is not there, and for a compiled file that is
    taken for the module and cannot be imported, such as mine.so beside mine.py; what a module that is there fails to
    import is its own ImportError.

    where: what declares it, as messages begin: "mine has cpu"
    """
    module, name = path.split(":")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if f"{module}.".startswith(f"{error.name}."):
            raise Misdeclared(f'{where}="{path}", and there is no module {error.name}') from error
        raise
    except ImportError as error:
        file = error.path or ""
        if file.endswith(tuple(EXTENSION_SUFFIXES)) and f"{module}.".startswith(f"{error.name}."):
            right = "another name for it is right where it is no module"
            raise Misdeclared(
                f'{where}="{path}", and Python takes {file} for {error.name} ({error}): {right}'
            ) from error
        raise
    if not hasattr(found, name):
        raise Misdeclared(f'{where}="{path}", and {module} has no {name}')
    return getattr(found, name)


def check_takes(call: Callable, takes: Collection[str], keywords: Collection[str] = (), name: str = "") -> None:
    """Raise Misdeclared for a function, class or method that cannot be called so.

    takes, keywords: names of the arguments, and of those given by keyword; name: what it is called, as a message has it
    """
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):  # some compiled code does not tell
        return
    try:
        signature.bind(*takes, **dict.fromkeys(keywords))
    except TypeError as error:
        where = f"{getattr(call, '__module__', '')}.{getattr(call, '__qualname__', type(call).__name__)}"
        right = f"{name}({', '.join([*takes, *keywords])})"
        raise Misdeclared(f"{where} takes {shortened(str(signature))}: {right} is right ({error})") from error
