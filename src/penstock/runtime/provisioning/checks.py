"""Holds a document against the shapes of a pipeline file and says everything that does not fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import msgspec.inspect as types
from msgspec import Struct

from .problems import Problem, did_you_mean

Report = Callable[[str, str, str], None]
"""Told a path, what is wrong there, and a suggestion."""

S = TypeVar("S", bound=Struct)

OPEN = "x-"
_INTEGER = re.compile(r"[-+]?\d{1,18}")


def fitted(shape: type[S], value: Any, path: str, report: Report) -> S | None:
    """``value`` as a ``shape``; ``None`` where it is too broken for one. Whatever does not fit is reported.

    What does not fit is left out; in a list ``None`` stands for it, so that the others keep their places. Plain
    values may be the text of what is wanted: ``"3"`` is an integer.
    """
    found = _fit(_info(shape), value, path, report)
    return found if isinstance(found, shape) else None


@lru_cache
def _info(shape: type[Any]) -> types.Type:
    return types.type_info(shape)


class _Misfit:
    """What stands for a value that was refused."""


MISFIT = _Misfit()


def _fit(shape: types.Type, value: Any, path: str, report: Report) -> Any:
    if isinstance(shape, types.Metadata):
        return _fit(shape.type, value, path, report)
    if isinstance(shape, types.UnionType):
        return _fit_union(shape, value, path, report)
    if isinstance(shape, types.StructType):
        return _fit_struct(shape, value, path, report)
    if isinstance(shape, types.ListType):
        return _fit_list(shape, value, path, report)
    if isinstance(shape, types.DictType):
        return _fit_map(shape, value, path, report)
    return value if isinstance(shape, types.AnyType) else _fit_plain(shape, value, path, report)


def _fit_union(shape: types.UnionType, value: Any, path: str, report: Report) -> Any:
    """Either an optional value, or any plain value as text."""
    others = [kind for kind in shape.types if not isinstance(kind, types.NoneType)]
    if value is None and len(others) < len(shape.types):
        return None
    return _fit(others[0], value, path, report)


def _fit_struct(shape: types.StructType, value: Any, path: str, report: Report) -> Any:
    if not isinstance(value, Mapping):
        report(path, f"Here is {kind_of(value)} where keys and values are needed.", _keys_hint(shape))
        return MISFIT
    by_key = {field.encode_name: field for field in shape.fields}
    for key in value:
        if key not in by_key and not (key.startswith(OPEN) and not path):
            hint = did_you_mean(key, by_key) or _keys_hint(shape)
            report(_join(path, key), f"'{key}' is not a key of {_a(_noun(shape))}.", hint)
    given: dict[str, Any] = {}
    missing = False
    for key, field in by_key.items():
        if value.get(key) is None and (key not in value or not _takes_null(field.type)):
            if field.required:
                missing = True
                report(path, f"The key '{key}' is missing: every {_noun(shape)} has one.", "")
            continue
        found = _fit(field.type, value[key], _join(path, key), report)
        if found is not MISFIT:
            given[field.name] = found
        missing = missing or (found is MISFIT and field.required)
    return MISFIT if missing else shape.cls(**given)


def _fit_list(shape: types.ListType, value: Any, path: str, report: Report) -> Any:
    if not isinstance(value, list):
        report(path, f"Here is {kind_of(value)} where a list is needed.", "Begin each element with '- '.")
        return MISFIT
    found = [_fit(shape.item_type, item, f"{path}[{number}]", report) for number, item in enumerate(value)]
    return [None if item is MISFIT else item for item in found]


def _fit_map(shape: types.DictType, value: Any, path: str, report: Report) -> Any:
    if not isinstance(value, Mapping):
        report(path, f"Here is {kind_of(value)} where keys and values are needed.", "")
        return MISFIT
    if isinstance(shape.value_type, types.AnyType):
        return dict(value)
    found: dict[str, str] = {}
    for key, item in value.items():
        if isinstance(item, str | int | float):
            found[key] = as_text(item)
            continue
        hint = "Leave the key out for its default." if item is None else "Write a text, a number or a boolean."
        report(_join(path, key), f"The value of '{key}' is {kind_of(item)}.", hint)
    return found


def _fit_plain(shape: types.Type, value: Any, path: str, report: Report) -> Any:
    if not isinstance(value, str | int | float):
        report(path, f"Here is {kind_of(value)} where a plain value is needed.", "")
        return MISFIT
    text = as_text(value)
    if isinstance(shape, types.LiteralType):
        allowed = dict.fromkeys(map(str, shape.values))
        if text.lower() in allowed:
            return text.lower()
        hint = did_you_mean(text, allowed) or f"It must be one of {', '.join(allowed)}."
        report(path, f"'{text}' is not possible here.", hint)
        return MISFIT
    if isinstance(shape, types.BoolType):
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        report(path, f"'{text}' is neither true nor false.", "")
        return MISFIT
    if isinstance(shape, types.IntType):
        return _fit_number(shape, text, path, report)
    return _fit_text(shape, text, path, report)


def _fit_number(shape: types.IntType, text: str, path: str, report: Report) -> Any:
    least = shape.ge or 0
    if _INTEGER.fullmatch(text) and int(text) >= least:
        return int(text)
    report(path, f"'{text}' is not possible here.", f"It must be an integer from {least} on.")
    return MISFIT


def _fit_text(shape: types.Type, text: str, path: str, report: Report) -> Any:
    if not isinstance(shape, types.StrType):
        return text
    if shape.min_length and not text:
        report(path, "This must not be empty.", "")
        return MISFIT
    if shape.max_length and len(text) > shape.max_length:
        report(path, f"This has {len(text)} characters.", f"At most {shape.max_length} are possible.")
        return MISFIT
    if shape.pattern and not re.match(shape.pattern, text):
        hint = "Use letters, digits, '-', '_', ':' and '.', at most 128, a letter or digit first."
        report(path, f"'{text}' is not possible here.", hint)
        return MISFIT
    return text


def as_text(value: str | int | float | bool) -> str:
    """A plain value as a configuration holds it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def kind_of(value: Any) -> str:
    """What a value is, in words."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a set of keys"
    return "a list" if isinstance(value, list) else f"the plain value '{as_text(value)}'"


def _takes_null(shape: types.Type) -> bool:
    if isinstance(shape, types.Metadata):
        return _takes_null(shape.type)
    return isinstance(shape, types.UnionType) and any(isinstance(kind, types.NoneType) for kind in shape.types)


def _noun(shape: types.StructType) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", shape.cls.__name__).lower()


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _keys_hint(shape: types.StructType) -> str:
    return f"{_a(_noun(shape)).capitalize()} has the keys {', '.join(field.encode_name for field in shape.fields)}."


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def reporter(problems: list[Problem], file: str, document: int) -> Report:
    """Collects what is reported of one document."""

    def report(path: str, message: str, suggestion: str) -> None:
        problems.append(Problem(message, file, path, suggestion, document=document))

    return report
