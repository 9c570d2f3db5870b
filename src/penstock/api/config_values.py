"""From the text of a configuration to values and back, by the rules of Kafka's ``ConfigDef``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from .errors import ConfigError


class Type(Enum):
    """What a value must be."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"


class Password:
    """A secret. Its text is in ``value``; everything that prints it shows ``[hidden]``."""

    __slots__ = ("value",)
    HIDDEN = "[hidden]"

    def __init__(self, value: str) -> None:
        self.value = value

    def __str__(self) -> str:
        return self.HIDDEN

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)


_JAVA_BLANKS = "".join(map(chr, range(0x21)))
_INTEGER = re.compile(r"[+-]?\d+")
_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fFdD]?)", re.ASCII)
_COMMA = re.compile(r"\s*,\s*", re.ASCII)
_BITS = {Type.SHORT: 16, Type.INT: 32, Type.LONG: 64}
_INTEGER_NAMES = {
    Type.SHORT: "a 16-bit integer (short)",
    Type.INT: "a 32-bit integer",
    Type.LONG: "a 64-bit integer (long)",
}


def trim(text: str) -> str:
    """Without leading and trailing characters up to U+0020, and no others."""
    return text.strip(_JAVA_BLANKS)


def parse_value(name: str, value: Any, type: Type, classes: Callable[[str], str] | None = None) -> Any:
    """The value of key ``name``; text is read, values of the right Python type pass. ``None`` stays ``None``.

    ``classes`` completes the name of a CLASS; without it the name is taken as it is.
    """
    if value is None:
        return None
    if type is Type.BOOLEAN:
        return _boolean(name, value)
    if type in _BITS:
        return _integer(name, value, type)
    if type is Type.DOUBLE:
        return _double(name, value)
    if type is Type.LIST:
        return _list(name, value)
    if type is Type.PASSWORD and isinstance(value, Password):
        return value
    if not isinstance(value, str):
        raise ConfigError.invalid(name, value, f"Expected value to be a string, but it was a {_kind(value)}")
    if type is Type.PASSWORD:
        return Password(trim(value))
    if type is Type.CLASS:
        return _class(name, value, classes)
    return trim(value)


def render_value(value: Any, type: Type) -> str | None:
    """A parsed value as text, the way the REST API shows it. Passwords stay hidden."""
    if value is None:
        return None
    if type is Type.LIST and not isinstance(value, str):
        return ",".join(map(str, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _java_double(value)
    return str(value)


def _boolean(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = trim(value).lower() if isinstance(value, str) else ""
    if text not in ("true", "false"):
        raise ConfigError.invalid(name, value, "Expected value to be either true or false")
    return text == "true"


def _integer(name: str, value: Any, type: Type) -> int:
    if isinstance(value, str):
        text = trim(value)
        number = int(text) if _INTEGER.fullmatch(text) else None
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    else:
        detail = f"Expected value to be {_INTEGER_NAMES[type]}, but it was a {_kind(value)}"
        raise ConfigError.invalid(name, value, detail)
    limit = 1 << (_BITS[type] - 1)
    if number is None or not -limit <= number < limit:
        raise ConfigError.invalid(name, value, f"Not a number of type {type.value}")
    return number


def _double(name: str, value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        raise ConfigError.invalid(name, value, f"Expected value to be a double, but it was a {_kind(value)}")
    text = trim(value)
    if not _DOUBLE.fullmatch(text):
        raise ConfigError.invalid(name, value, "Not a number of type DOUBLE")
    return float(text if text.endswith(("y", "N")) else text.rstrip("fFdD"))


def _list(name: str, value: Any) -> list[Any]:
    if isinstance(value, str):
        text = trim(value)
        return _COMMA.split(text) if text else []
    if isinstance(value, Sequence):
        return list(value)
    raise ConfigError.invalid(name, value, "Expected a comma separated list.")


def _class(name: str, value: str, classes: Callable[[str], str] | None) -> str:
    if classes is None:
        return trim(value)
    try:
        return classes(trim(value))
    except LookupError as error:
        reason = str(error) if str(error).startswith(("Class ", "More ")) else f"Class {value} could not be found."
        reason = reason.replace(f"Class {trim(value)} could", f"Class {value} could", 1)
        raise ConfigError.invalid(name, value, reason) from None


def _kind(value: object) -> str:
    return type(value).__name__


def _java_double(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, exponent = f"{value:.16e}".split("e")
    for digits in range(1, 17):
        shorter = f"{value:.{digits}e}"
        if float(shorter) == value:
            mantissa, exponent = shorter.split("e")
            break
    return f"{mantissa}E{int(exponent)}"
