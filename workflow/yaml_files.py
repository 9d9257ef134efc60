"""YAML as the workflow reads it: a mistake is one line, and a key that is there twice is a mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from saitan.workflow.step import Failure


class _UniqueKeys(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {key.value!r} is there twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """The content of a file. Raises Failure naming the line where it is no YAML or has a key twice."""
    try:
        return yaml.load(path.read_bytes(), Loader=_UniqueKeys)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        raise Failure(f"{path}: {line}{getattr(error, 'problem', None) or 'not YAML'}") from error
    except ValueError as error:  # 2026-13-01: YAML takes it for a date before anybody can say where it stands
        raise Failure(f"{path}: a date or number in it cannot be read: {error}") from error
