"""Configuration keys: what a plugin accepts, how text becomes values, and what is wrong with it.

Parsing rules, defaults and error texts are those of Kafka's ``ConfigDef``, so that tools that know Kafka
Connect show the same forms and the same errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from .config_values import Password, Type, parse_value, render_value
from .errors import ConfigError
from .java_regex.compiled import compile_java
from .java_regex.syntax import PatternSyntaxError
from .record import NO_DEFAULT

__all__ = [
    "NO_DEFAULT",
    "ClassResolver",
    "ConfigDef",
    "ConfigKey",
    "ConfigValue",
    "Importance",
    "Password",
    "Recommender",
    "Type",
    "Validator",
    "Width",
    "all_of",
    "at_least",
    "between",
    "java_pattern",
    "list_of",
    "list_size",
    "non_empty_list",
    "non_empty_string",
    "non_empty_string_without_control_chars",
    "non_null",
    "one_of",
    "one_of_ignoring_case",
    "regex",
    "unique_list",
]


class Importance(Enum):
    """How much a user should care about a key."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Width(Enum):
    """How much room a form should give to a key."""

    NONE = "NONE"
    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"


Validator = Callable[[str, Any], None]
"""Takes a key's name and its parsed value (``None`` when absent or unreadable); raises :class:`ConfigError`."""

ClassResolver = Callable[[str], str]
"""Turns a class name or alias into the full name; ``LookupError``, with a text for the user, when it cannot."""


class Recommender:
    """Says which values make sense for a key and whether a form should show it, given the other values."""

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> Sequence[Any]:
        """Values worth offering; empty for anything goes. A ``ConfigError`` becomes an error of the key."""
        return ()

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        """Whether the key matters with the other values as they are."""
        return True


@dataclass(frozen=True)
class ConfigKey:
    """One key. Without a default it is required; ``order=-1`` in a group means "after the one before"."""

    name: str
    type: Type = Type.STRING
    default: Any = NO_DEFAULT
    importance: Importance = Importance.MEDIUM
    doc: str = ""
    validator: Validator | None = None
    group: str | None = None
    order: int = -1
    width: Width = Width.NONE
    display_name: str | None = None
    dependents: Sequence[str] = ()
    recommender: Recommender | None = None

    def __post_init__(self) -> None:
        if self.default is not NO_DEFAULT:
            default = parse_value(self.name, self.default, self.type)
            if self.validator is not None:
                self.validator(self.name, default)
            object.__setattr__(self, "default", default)
        if self.display_name is None:
            object.__setattr__(self, "display_name", self.name)

    @property
    def required(self) -> bool:
        return self.default is NO_DEFAULT

    @property
    def choices(self) -> Sequence[str]:
        """All values there are, where these are few strings; else nothing."""
        return self.validator.allowed if isinstance(self.validator, ClosedList) else ()

    @property
    def default_text(self) -> str | None:
        """The default as the REST API shows it."""
        return None if self.required else render_value(self.default, self.type)


@dataclass
class ConfigValue:
    """What :meth:`ConfigDef.validate` found out about one key."""

    name: str
    value: Any = None
    recommended: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    visible: bool = True


class ConfigDef:
    """The keys that a plugin accepts, in order. Immutable: ``+`` and :meth:`extended` make new ones."""

    def __init__(self, *keys: ConfigKey) -> None:
        names: set[str] = set()
        used: dict[str, int] = {}
        placed: list[ConfigKey] = []
        for key in keys:
            if key.name in names:
                raise ConfigError(f"Configuration {key.name} is defined twice.")
            names.add(key.name)
            if key.group is not None:
                order = key.order if key.order >= 0 else used.get(key.group, 0) + 1
                used[key.group] = max(order, used.get(key.group, 0))
                key = key if key.order == order else replace(key, order=order)
            placed.append(key)
        self._keys = tuple(placed)
        self._by_name = {key.name: key for key in placed}

    @property
    def keys(self) -> tuple[ConfigKey, ...]:
        return self._keys

    @property
    def by_name(self) -> Mapping[str, ConfigKey]:
        return self._by_name

    @property
    def groups(self) -> list[str]:
        """Group names in the order of their first key."""
        return list(dict.fromkeys(key.group for key in self._keys if key.group is not None))

    def extended(self, *keys: ConfigKey) -> ConfigDef:
        """These keys and more; a key of the same name replaces the old one in its place."""
        merged = dict(self._by_name)
        merged.update((key.name, key) for key in keys)
        return ConfigDef(*merged.values())

    def __add__(self, other: ConfigDef) -> ConfigDef:
        return self.extended(*other._keys)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __len__(self) -> int:
        return len(self._keys)

    def parse(self, props: Mapping[str, Any], classes: ClassResolver | None = None) -> dict[str, Any]:
        """The value of every key. Raises :class:`ConfigError` for the first bad one. Unknown keys are ignored."""
        parsed: dict[str, Any] = {}
        for key in self._keys:
            parsed[key.name] = _parse_key(key, props, classes)
        return parsed

    def validate(self, props: Mapping[str, Any], classes: ClassResolver | None = None) -> dict[str, ConfigValue]:
        """Like :meth:`parse`, but gathers every error, and asks the recommenders."""
        found = {key.name: ConfigValue(key.name) for key in self._keys}
        for key in self._keys:
            _collect(key, props, classes, found[key.name])
        for name in dict.fromkeys(name for key in self._keys for name in key.dependents):
            if name not in self._by_name:
                error = f"{name} is referred in the dependents, but not defined."
                found[name] = ConfigValue(name, errors=[error], visible=False)
        parsed = {name: found[name].value for name in self._by_name}
        for key in self._keys:
            _recommend(key, parsed, found[key.name])
        return found


def _missing(name: str) -> ConfigError:
    return ConfigError(f'Missing required configuration "{name}" which has no default value.')


def _parse_key(key: ConfigKey, props: Mapping[str, Any], classes: ClassResolver | None) -> Any:
    if key.name in props:
        value = parse_value(key.name, props[key.name], key.type, classes)
    elif key.required:
        raise _missing(key.name)
    else:
        value = key.default
    if key.validator is not None:
        key.validator(key.name, value)
    return value


def _collect(key: ConfigKey, props: Mapping[str, Any], classes: ClassResolver | None, into: ConfigValue) -> None:
    if key.name in props:
        try:
            into.value = parse_value(key.name, props[key.name], key.type, classes)
        except ConfigError as error:
            into.errors.append(str(error))
    elif key.required:
        into.errors.append(str(_missing(key.name)))
    else:
        into.value = key.default
    if key.validator is not None:
        try:
            key.validator(key.name, into.value)
        except ConfigError as error:
            into.errors.append(str(error))
        except Exception as error:
            detail = f"its check failed with {type(error).__name__}: {error}"
            into.errors.append(str(ConfigError.invalid(key.name, into.value, detail)))


def _recommend(key: ConfigKey, parsed: Mapping[str, Any], into: ConfigValue) -> None:
    if key.recommender is None:
        return
    try:
        into.recommended = list(key.recommender.valid_values(key.name, parsed))
        into.visible = key.recommender.visible(key.name, parsed)
    except ConfigError as error:
        into.errors.append(str(error))


def at_least(minimum: float) -> Validator:
    """A number that is not smaller; an absent one is an error too."""
    return between(minimum, None)


def between(minimum: float | None, maximum: float | None) -> Validator:
    """A number within bounds (``None`` leaves a side open); an absent one is an error too."""

    def check(name: str, value: Any) -> None:
        if value is None:
            raise ConfigError.invalid(name, None, "Value must be non-null")
        if minimum is not None and value < minimum:
            raise ConfigError.invalid(name, value, f"Value must be at least {minimum}")
        if maximum is not None and value > maximum:
            raise ConfigError.invalid(name, value, f"Value must be no more than {maximum}")

    return check


@dataclass(frozen=True)
class ClosedList:
    """The validator of a key that takes one of few strings, which are known as :attr:`ConfigKey.choices`."""

    allowed: tuple[str, ...]
    any_case: bool = False

    def __call__(self, name: str, value: Any) -> None:
        if self.any_case:
            upper = [text.upper() for text in self.allowed]
            if value is None or value.upper() not in upper:
                raise ConfigError.invalid(name, value, f"String must be one of (case insensitive): {', '.join(upper)}")
        elif value not in self.allowed:
            raise ConfigError.invalid(name, value, f"String must be one of: {', '.join(self.allowed)}")


def one_of(*allowed: str) -> Validator:
    """Exactly one of these strings."""
    return ClosedList(allowed)


def one_of_ignoring_case(*allowed: str) -> Validator:
    """One of these strings in any case."""
    return ClosedList(allowed, any_case=True)


def non_null(name: str, value: Any) -> None:
    """Anything but an absent value."""
    if value is None:
        raise ConfigError.invalid(name, None, "entry must be non null")


def non_empty_string(name: str, value: Any) -> None:
    """Not the empty string; an absent value passes."""
    if value == "":
        raise ConfigError.invalid(name, value, "String must be non-empty")


def non_empty_string_without_control_chars(name: str, value: Any) -> None:
    """The rule for names: not empty, no ISO control characters; an absent value passes."""
    if value is None:
        return
    if value == "":
        raise ConfigError.invalid(name, value, "String may not be empty")
    control = [str(ord(c)) for c in value if ord(c) <= 0x1F or 0x7F <= ord(c) <= 0x9F]
    if control:
        detail = f"String may not contain control sequences but had the following ASCII chars: {', '.join(control)}"
        raise ConfigError.invalid(name, value, detail)


def list_of(*allowed: str) -> Validator:
    """A list whose entries are all among these strings."""
    entry = one_of(*allowed)

    def check(name: str, value: Any) -> None:
        for text in value or ():
            entry(name, text)

    return check


def list_size(maximum: int) -> Validator:
    """A list of at most so many entries."""

    def check(name: str, value: Any) -> None:
        if value is not None and len(value) > maximum:
            raise ConfigError.invalid(name, _java_list(value), f"exceeds maximum list size of [{maximum}].")

    return check


def unique_list(allow_empty: bool = True, allow_null: bool = False) -> Validator:
    """A list without empty or repeated entries."""

    def check(name: str, value: Any) -> None:
        if value is None:
            if allow_null:
                return
            raise ConfigError(f"Configuration '{name}' values must not be null.")
        if not value and not allow_empty:
            raise ConfigError(f"Configuration '{name}' must not be empty. Valid values include: any non-empty value")
        if len(set(value)) != len(value):
            raise ConfigError(f"Configuration '{name}' values must not be duplicated.")
        if any(not entry for entry in value):
            raise ConfigError(f"Configuration '{name}' values must not be empty.")

    return check


def non_empty_list(name: str, value: Any) -> None:
    """A list with something in it."""
    if not value:
        raise ConfigError.invalid(name, None if value is None else "[]", "Empty list")


def java_pattern(text: str) -> re.Pattern[str]:
    """A regular expression as users of Kafka Connect write it: Java's. Raises :class:`ConfigError`.

    It is for matching: its groups and its text are not those that the user wrote.
    """
    try:
        return compile_java(text).pattern
    except (PatternSyntaxError, TypeError) as error:
        raise ConfigError(f"Invalid regex: {error}") from None


def regex(name: str, value: Any) -> None:
    """A regular expression, or a list of them; an absent value is an error too."""
    for pattern in value if isinstance(value, list) else [value]:
        try:
            java_pattern(pattern)
        except ConfigError as error:
            raise ConfigError.invalid(name, pattern, str(error)) from None


def all_of(*validators: Validator) -> Validator:
    """Every one of these, in order."""

    def check(name: str, value: Any) -> None:
        for validator in validators:
            validator(name, value)

    return check


def _java_list(values: Sequence[Any]) -> str:
    return f"[{', '.join(str(v) for v in values)}]"
