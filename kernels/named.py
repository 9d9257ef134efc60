"""What a declaration names as "module:name", imported when it is first used."""

from __future__ import annotations

import importlib
from typing import Any

from saitan.errors import Misdeclared


def named(path: str, where: str) -> Any:
    """What is called so. Raises Misdeclared for a module or a name that is not there; what a module that is there fails
    to import is its own ImportError.

    where: what declares it, as messages begin: "mine has cpu"
    """
    module, name = path.split(":")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if f"{module}.".startswith(f"{error.name}."):
            raise Misdeclared(f'{where}="{path}", and there is no module {error.name}') from error
        raise
    if not hasattr(found, name):
        raise Misdeclared(f'{where}="{path}", and {module} has no {name}')
    return getattr(found, name)
