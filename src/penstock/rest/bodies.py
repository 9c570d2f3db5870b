"""Request bodies: their documented types, and JSON values to what the herder takes.

What is read is wider than what is documented where Kafka Connect's is (levels in any case, numbers for text).
Error texts start with the words its parser uses, so that clients which look for them find them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Annotated, Any, Literal

import msgspec

from penstock.runtime.requests import CreateRequest, OffsetEntry, TargetState

from .json_text import DecimalText, IntegerText, parse
from .problems import bad_request

_BLANKS = "".join(map(chr, range(33)))
_INITIAL_STATES = {"RUNNING": TargetState.STARTED, "PAUSED": TargetState.PAUSED, "STOPPED": TargetState.STOPPED}

ConfigValue = str | int | float | bool | None
ConfigPatch = dict[str, ConfigValue]
ConfigBody = Annotated[
    ConfigPatch,
    msgspec.Meta(
        extra_json_schema={
            "required": ["connector.class"],
            "properties": {"connector.class": {"type": "string", "minLength": 1}},
        }
    ),
]
Level = Literal["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF", "ALL"]


class OffsetBody(msgspec.Struct, forbid_unknown_fields=True):
    """Where a connector is in one partition; an offset of null forgets the partition."""

    partition: dict[str, Any] | None = None
    offset: dict[str, Any] | None = None


class OffsetsBody(msgspec.Struct, forbid_unknown_fields=True):
    """Partitions with their offsets."""

    offsets: Annotated[list[OffsetBody], msgspec.Meta(min_length=1)]


class CreateBody(msgspec.Struct, forbid_unknown_fields=True):
    """A new connector.

    ``initial_offsets`` (or ``offsets``, which is another name for it) take the place of what is left of an earlier
    connector of this name, before the first start.
    """

    name: Annotated[str, msgspec.Meta(min_length=1)]
    config: ConfigBody
    initial_state: Literal["RUNNING", "PAUSED", "STOPPED"] | None = None
    initial_offsets: list[OffsetBody] | None = None
    offsets: list[OffsetBody] | None = None


class LevelBody(msgspec.Struct):
    """The wanted level of a logger."""

    level: Level


def config_body(body: bytes) -> Mapping[str, str | None]:
    """A map of configuration keys to text."""
    return _config(_present(parse(body)), "the request body")


def create_body(body: bytes) -> CreateRequest:
    """``POST /connectors``. The name is trimmed as Java does it."""
    fields = _fields(_present(parse(body)), CreateBody, "CreateConnectorRequest")
    if fields.get("config") is None:
        raise bad_request("The key config is missing: a connector needs a map of configuration keys")
    return CreateRequest(
        name=(_text(fields.get("name"), "name") or "").strip(_BLANKS),
        config=_config(fields["config"], "config"),
        initial_state=_initial_state(fields.get("initial_state")),
        offsets=_initial_offsets(fields),
    )


def offsets_body(body: bytes) -> Sequence[OffsetEntry] | None:
    """``PATCH /connectors/{name}/offsets``; ``None`` when no offsets were given."""
    return _offsets(_fields(_present(parse(body)), OffsetsBody, "ConnectorOffsets").get("offsets"))


def level_body(body: bytes) -> str | None:
    """``PUT /admin/loggers/{name}``: the level, if any."""
    return config_body(body).get("level")


def _present(value: Any) -> Any:
    if value is None:
        raise bad_request("The request body is null, a JSON value is expected")
    return value


def _fields(value: Any, shape: type[msgspec.Struct], name: str) -> dict[str, Any]:
    fields = _object(value, name, name)
    known = shape.__struct_fields__
    for key in fields:
        if key not in known:
            names = ", ".join(f'"{k}"' for k in known)
            raise bad_request(
                f"Unrecognized field {json.dumps(key, ensure_ascii=False)} ({name}), not marked as ignorable "
                f"({len(known)} known properties: {names})"
            )
    return fields


def _object(value: Any, type_name: str, where: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        raise bad_request(f"Cannot deserialize value of type `{type_name}` from Array value: {where} must be an object")
    raise bad_request(f"Cannot construct instance of `{type_name}` from {_kind(value)}: {where} must be an object")


def _config(value: Any, where: str) -> dict[str, str | None]:
    return {key: _text(item, key) for key, item in _object(value, "Map", where).items()}


def _text(value: Any, key: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return str(value)
    shown = json.dumps(key, ensure_ascii=False)
    raise bad_request(
        f"Cannot deserialize value of type `String` from {_kind(value)}: the value of {shown} must be text"
    )


def _initial_state(value: Any) -> TargetState | None:
    text = _text(value, "initial_state")
    if text is None:
        return None
    state = _INITIAL_STATES.get(text.upper())
    if state is None:
        raise bad_request(
            f"Cannot construct instance of `InitialState`, problem: No enum constant InitialState.{text.upper()}. "
            "initial_state must be RUNNING, PAUSED or STOPPED"
        )
    return state


def _initial_offsets(fields: Mapping[str, Any]) -> list[OffsetEntry] | None:
    """Under either of their names."""
    given = [key for key in ("initial_offsets", "offsets") if fields.get(key) is not None]
    if len(given) > 1:
        raise bad_request("initial_offsets and offsets are two names for the same: give one of them")
    return _offsets(fields[given[0]], given[0]) if given else None


def _offsets(value: Any, where: str = "offsets") -> list[OffsetEntry] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise bad_request(f"Cannot deserialize value of type `List` from {_kind(value)}: {where} must be an array")
    return [_offset(item) for item in value]


def _offset(value: Any) -> OffsetEntry:
    fields = _fields(value, OffsetBody, "ConnectorOffset")
    return OffsetEntry(
        partition=_offset_map(fields.get("partition"), "partition"), offset=_offset_map(fields.get("offset"), "offset")
    )


def _offset_map(value: Any, where: str) -> dict[str, Any] | None:
    return None if value is None else {k: native_value(v, k) for k, v in _object(value, "Map", where).items()}


def native_value(value: Any, key: str) -> Any:
    """A parsed value with numbers instead of their text; ``key`` is for messages."""
    if isinstance(value, IntegerText):
        number = int(value)
        if not -(2**63) <= number < 2**63:
            raise bad_request(f"The value {value[:40]} of {key} does not fit into 64 bits")
        return number
    if isinstance(value, DecimalText):
        decimal = float(value)
        if not isfinite(decimal):
            raise bad_request(f"The value {value[:40]} of {key} is too large for a double")
        return decimal
    if isinstance(value, dict):
        return {k: native_value(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [native_value(item, key) for item in value]
    return value


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "Boolean value"
    if isinstance(value, IntegerText):
        return "Integer value"
    if isinstance(value, DecimalText):
        return "Floating-point value"
    if isinstance(value, dict):
        return "Object value"
    return "Array value" if isinstance(value, list) else "String value"
