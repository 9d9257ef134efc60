"""YAML as the workflow reads it: a mistake is one line, and a key that is there twice is a mistake."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import AfterValidator, TypeAdapter, ValidationError, WithJsonSchema

from saitan.workflow.step import Failure, from_here

Content = TypeVar("Content")


def worded(pattern: str, words: str) -> Any:
    """A text for pydantic models that must match a regular expression; what is said of another is in words.

    Editors get the expression by the JSON schema.
    """

    def check(value: str) -> str:
        # Half a character (a surrogate) can be named in YAML, and not be written to a file.
        if not re.fullmatch(pattern, value) or re.search(r"[\ud800-\udfff]", value):
            raise ValueError(f"{_shortened(value)!r} is not {words}")
        return value

    return Annotated[str, AfterValidator(check), WithJsonSchema({"type": "string", "pattern": f"^(?:{pattern})$"})]


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


# What is shown: line ends and tabs may be in it, other control characters may not.
_SHOWN = r"[^\x00-\x08\x0b-\x1f\x7f]*"
Text = worded(_SHOWN, "a text without control characters")
Title = worded(rf"(?=\s*\S){_SHOWN}", "a title: a text that is not empty, without control characters")


_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
# How YAML 1.1 takes numbers for others than they seem.
_UNLIKE = {"octal by the zero before it": "[-+]?0[0-7_]+$", "of sixties by the colon": ".*:"}


class _UniqueKeys:
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen = set()
        for key, _ in node.value:
            # What is merged by << may be said again, which is what merging is for.
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            value = self.construct_object(key)
            if value in seen:  # 1, 1.0 and true are one key
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {key.value!r} is there twice", problem_mark=key.start_mark
                )
            seen.add(value)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            read = super().construct_object(node, deep)
        except ValueError as error:  # 2026-13-01
            raise yaml.constructor.ConstructorError(
                problem=f"a date or number that cannot be read: {error}", problem_mark=node.start_mark
            ) from None
        for way, form in _UNLIKE.items() if node.tag in _NUMBERS else ():
            if re.match(form, node.value):
                problem = f"{node.value} means {read} in YAML, {way}: write {read}, or quotes around a text"
                raise yaml.constructor.ConstructorError(problem=problem, problem_mark=node.start_mark)
        return read


class _Loader(_UniqueKeys, yaml.SafeLoader):
    """Says what is wrong, and where."""


class _FastLoader(_UniqueKeys, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Ten times as fast, with LibYAML's words for what is wrong. Deep nesting overruns its stack."""


def _may_nest_deeply(text: str) -> bool:
    return text.count("[") + text.count("{") > 5000 or max(map(len, text.splitlines()), default=0) > 5000


def read_yaml(path: Path) -> Any:
    """The content of a file. Raises Failure where it cannot be read, and naming the line where it is no YAML."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Failure(f"{path}: line {line}: the byte 0x{content[error.start]:02x} is not UTF-8") from None
    try:
        # LibYAML takes tabs that Snakemake does not.
        if not _may_nest_deeply(text) and "\t" not in text:
            with contextlib.suppress(yaml.YAMLError):
                return _finite(yaml.load(text, Loader=_FastLoader), text)
        return _finite(yaml.load(text, Loader=_Loader), text)
    except yaml.YAMLError as error:
        raise Failure(f"{path}: {_said(text, error)}") from error
    except RecursionError as error:
        raise Failure(f"{path}: it is nested too deeply to be read") from error


def _finite(content: Any, text: str) -> Any:
    """The content. Raises YAMLError, with its line, where what an anchor names holds its own alias."""
    if _holding_itself(content, set(), set()) is not None:
        node = _holding_itself(yaml.compose(text, Loader=_Loader), set(), set())
        problem = "an alias (*) stands within what it names, which begins here"
        raise yaml.constructor.ConstructorError(problem=problem, problem_mark=node.start_mark)
    return content


def _holding_itself(one: Any, above: set[int], done: set[int]) -> Any:
    """A mapping or list, or a node of one, that is among what it holds; None where there is none.

    above: of what holds it, done: of what was looked into, the id's.
    """
    if id(one) in above:
        return one
    parts = one.value if isinstance(one, yaml.CollectionNode) else one
    parts = list(parts.values()) if isinstance(parts, dict) else parts
    if not isinstance(parts, list | tuple) or id(one) in done:
        return None
    above.add(id(one))
    found = next((held for part in parts if (held := _holding_itself(part, above, done)) is not None), None)
    above.discard(id(one))
    done.add(id(one))
    return found


def check_run(path: Path) -> None:
    """For a run's file, which Snakemake reads: raise Failure where `read_yaml` does, or where it is no mapping."""
    status = path.stat()
    _check_run(path, path.resolve(), status.st_mtime_ns, status.st_size)


@lru_cache
def _check_run(path: Path, *state: Path | int) -> None:
    """Once for a file as it is: it is asked about before Snakemake reads it, and where it may have read others."""
    content = read_yaml(path)
    if not isinstance(content, dict):
        known = {type(None): "nothing", list: "a list", str: "a text", bool: "a truth value"}
        found = known.get(type(content), "a number or date")
        raise Failure(f"{path}: it holds {found} at its top: keys such as `experiments:` are right")


def read_checked(path: Path, adapter: TypeAdapter[Content], empty: Any = None) -> Content:
    """The content of a file as a type. Raises Failure naming line and key of what is wrong.

    empty: what a file holds that has nothing in it
    """
    from saitan.workflow.config import explain, keys_of

    content = read_yaml(path)
    try:
        return adapter.validate_python(empty if content is None else content)
    except ValidationError as error:
        first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        line = _line_of(path, keys_of(first))
        raise Failure(f"{path}: line {line}: {explain(error, adapter.json_schema(), content)}") from None


def mistake(path: Path | str, keys: Sequence[str | int], says: str, *, within: str | None = None) -> Failure:
    """What is wrong with a value that stands in a file under these keys, in a line that names them.

    says: what follows the keys, such as ": unknown graph"; within: one more key there, of the line alone
    """
    line = _line_of(Path(path), [*keys, within] if within else keys)
    return Failure(f"{path}: line {line}: {'.'.join(map(str, keys))}{says}")


def place_of_key(message: str, given: Any, files: Iterable[str]) -> str:
    """Where a mistake stands of which a message begins with the key: "FILE: line N: ", of the last file that has it;
    the last file alone, "FILE: ", where a key at the top of a file is missing.

    given: what Snakemake made of the files, in this order. "" where the key's value came from none of them
    (`--config`), and of a message that begins with no key.
    """
    key, files = re.match(r"[\w-]+(?:\..+?)?(?=: )", message), [*files]
    if files and message.endswith(": field required") and key and key[0] not in given and "." not in key[0]:
        return f"{from_here(Path(files[-1]))}: "
    for file in reversed(files) if key else ():
        there, keys = read_yaml(Path(file)), []
        meant = given
        for part in key[0].split("."):
            among = {str(name): name for name in there} if isinstance(there, dict) else {}
            if isinstance(there, list) and part.isdecimal() and int(part) < len(there):
                among = {part: int(part)}
            if part not in among:
                break
            keys.append(among[part])
            there, meant = there[keys[-1]], _part(meant, keys[-1])
        if keys and _as_text(there) == _as_text(meant):
            return f"{from_here(Path(file))}: line {_line_of(Path(file), keys)}: "
    return ""


def _part(content: Any, key: Any) -> Any:
    try:
        return content[key]
    except (TypeError, KeyError, IndexError):
        return None


def _as_text(content: Any) -> str:
    """To compare by: NaN is NaN. A key may be anything, such as a date."""
    if isinstance(content, dict):
        return "{" + ", ".join(f"{key!r}: {_as_text(value)}" for key, value in content.items()) + "}"
    return f"[{', '.join(map(_as_text, content))}]" if isinstance(content, list) else repr(content)


def _line_of(path: Path, keys: Sequence[str | int]) -> int:
    """The line of the last of these keys (as pydantic's errors have them) that is there."""
    node = yaml.compose(path.read_bytes().decode("utf-8-sig"), Loader=_Loader)
    line = 1
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            found = next(((k, v) for k, v in node.value if _is(k, key)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
            found = (node.value[key], node.value[key])
        else:
            found = None
        if found:  # what is not in the file is pydantic's own: a union's branch, a missing key
            node, line = found[1], found[0].start_mark.line + 1
    return line


def _is(node: yaml.Node, key: str | int) -> bool:
    """Whether a node is a key; pydantic has 1 for `yes`, which is True."""
    if node.tag == "tag:yaml.org,2002:bool":
        return yaml.SafeLoader.bool_values[node.value.lower()] == key
    return node.value == str(key)


def _said(text: str, error: yaml.YAMLError) -> str:
    """What is wrong and in which line."""
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return f"line {line}: the character {chr(error.character)!r} cannot stand in YAML"
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "context", None) or "not YAML"
    if problem.startswith("but "):
        problem = f"{error.context}, {problem}"
    return f"line {mark.line + 1}: {problem}" if mark else problem
