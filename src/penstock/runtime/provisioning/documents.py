"""The text of pipeline files to values, with the line and column of everything in them.

Plain values stay the text that was written, so that ``1.50`` stays ``1.50`` and ``no`` stays ``no`` in a
configuration; below ``offsets`` they are numbers and booleans, as connectors expect them there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from .problems import Places, Problem

MAX_NODES = 500_000
MAX_DEPTH = 50
NATIVE = "offsets"

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "false": False}
_INTEGER = re.compile(r"[-+]?\d+")
_DECIMAL = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_ESCAPE = re.compile(r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|.)", re.DOTALL)
_MERGE = "tag:yaml.org,2002:merge"


@dataclass(frozen=True)
class Document:
    """One document of a file; ``number`` counts them from 0."""

    file: str
    value: Any
    number: int = 0
    places: Places = field(default_factory=dict)


def parse_documents(text: str, file: str) -> tuple[list[Document], list[Problem]]:
    """The documents of a pipeline file, and what is wrong with it: :func:`read_documents`, and one must be there."""
    documents, problems = read_documents(text, file)
    if not documents and not problems:
        suggestion = "Write 'pipelines: []' to say that there are none."
        problems.append(Problem("The file declares nothing.", file, suggestion=suggestion))
    return documents, problems


def read_documents(text: str, file: str, native: bool = False) -> tuple[list[Document], list[Problem]]:
    """The documents of a YAML or JSON text that are not empty, and what is wrong with it.

    A text with a mistake in its syntax has no documents at all. With ``native`` all plain values are numbers and
    booleans where they look like it, not only those below ``offsets``.
    """
    if text.lstrip()[:1] in ("{", "["):
        text = _ESCAPE.sub(_joined, text.replace("\t", " "))
    loader = _Loader(text)
    documents: list[Document] = []
    problems: list[Problem] = []
    try:
        number = 0
        while loader.check_node():
            reader = _Reader(loader, file, number)
            value = reader.value(loader.get_node(), "", native, 0)
            problems += reader.problems
            if value is not None:
                documents.append(Document(file, value, number, reader.places))
            number += 1
    except yaml.MarkedYAMLError as error:
        return [], [_syntax(error, file, text)]
    except (yaml.YAMLError, _TooLarge) as error:
        return [], [Problem(f"This is neither YAML nor JSON: {error}", file)]
    finally:
        loader.dispose()
    return documents, problems


def _syntax(error: yaml.MarkedYAMLError, file: str, text: str) -> Problem:
    what = ", ".join(filter(None, (error.context, error.problem)))
    problem = Problem(f"This is neither YAML nor JSON: {what}.", file)
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return problem
    lines = text.splitlines() or [""]
    if mark.line >= len(lines):
        return replace(problem, line=len(lines), column=len(lines[-1]) + 1)
    return replace(problem, line=mark.line + 1, column=mark.column + 1)


class _TooLarge(Exception):
    pass


class _Reader:
    """Makes values of the nodes of one document."""

    def __init__(self, loader: Any, file: str, number: int) -> None:
        self._loader = loader
        self._file = file
        self._number = number
        self._nodes = 0
        self._checked: set[int] = set()
        self.places: dict[str, tuple[int, int]] = {}
        self.problems: list[Problem] = []

    def value(self, node: Any, path: str, native: bool, depth: int) -> Any:
        self._nodes += 1
        if self._nodes > MAX_NODES or depth > MAX_DEPTH:
            raise _TooLarge(f"it has more than {MAX_NODES} values, or lists within lists more than {MAX_DEPTH} deep")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, native, depth)
        if isinstance(node, yaml.SequenceNode):
            return [
                self.value(item, self._at(f"{path}[{number}]", item), native, depth + 1)
                for number, item in enumerate(node.value)
            ]
        return _native(node) if native else _text(node)

    def _mapping(self, node: yaml.MappingNode, path: str, native: bool, depth: int) -> dict[str, Any]:
        self._refuse_repeated(node, path)
        self._loader.flatten_mapping(node)
        found: dict[str, Any] = {}
        for key, item in node.value:
            name = str(key.value)
            place = self._at(f"{path}.{name}" if path else name, key)
            found[name] = self.value(item, place, native or name == NATIVE, depth + 1)
        return found

    def _refuse_repeated(self, node: yaml.MappingNode, path: str) -> None:
        if id(node) in self._checked:
            return
        self._checked.add(id(node))
        first: dict[str, Any] = {}
        for key in _own_keys(node):
            name = str(key.value)
            if name in first:
                line = first[name].start_mark.line + 1
                place = self._at(f"{path}.{name}" if path else name, key)
                message = f"'{name}' stands here twice, first in line {line}."
                problem = Problem(message, self._file, place, "Remove one of the two.", document=self._number)
                self.problems.append(problem.located(self.places))
            first.setdefault(name, key)

    def _at(self, path: str, node: Any) -> str:
        self.places[path] = (node.start_mark.line + 1, node.start_mark.column + 1)
        return path


def _own_keys(node: yaml.MappingNode) -> Iterator[Any]:
    return (key for key, _ in node.value if key.tag != _MERGE)


def _text(node: Any) -> str | None:
    if not node.style and node.value in _NULL:
        return None
    return str(node.value)


def _native(node: Any) -> Any:
    text = str(node.value)
    if node.style:
        return text
    if text in _NULL:
        return None
    if text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def _joined(escape: re.Match[str]) -> str:
    """JSON writes characters beyond the BMP in two halves, which YAML does not know."""
    high, low = escape.groups()
    return escape[0] if high is None else chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
