"""Connector files for the command line: JSON of two shapes or properties, told apart by what is in them (KIP-980)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .properties import PropertiesError, as_dict, parse_properties, read_text
from .requests import CreateRequest, OffsetEntry, TargetState

NAME = "name"

_STATES = {"RUNNING": TargetState.STARTED, "PAUSED": TargetState.PAUSED, "STOPPED": TargetState.STOPPED}


class ConnectorFileError(Exception):
    """A connector file that cannot be used; the text names the file and what is wrong with it."""


def load_connector_file(path: str | Path) -> CreateRequest:
    """Read one connector file. Raises :class:`ConnectorFileError`.

    Tried in this order, whatever the file is called: a JSON object of plain values is a configuration; a JSON object
    with ``name`` and ``config`` (and perhaps ``initial_state`` and ``initial_offsets``) is a creation request; anything
    else is a Java properties file with a configuration.
    """
    try:
        text = read_text(path)
    except OSError as error:
        raise ConnectorFileError(
            f"Cannot read the connector file '{path}': {error.strerror or error}. Check the path and the permissions."
        ) from error
    return parse_connector_file(text, str(path))


def parse_connector_file(text: str, path: str) -> CreateRequest:
    """Like :func:`load_connector_file`, of a text that is already read."""
    try:
        written = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except ValueError as error:
        return _from_properties(text, path, not_json=str(error))
    return connector_request(written, json.loads(text), path)


def connector_request(written: Any, values: Any, path: str) -> CreateRequest:
    """The request in a parsed document: a flat configuration, or one with ``name`` and ``config``.

    The latter may have ``initial_state`` and ``initial_offsets``, which are called ``offsets``, too.

    ``written`` holds numbers as the text that was written, ``values`` as numbers; ``path`` is for messages.
    """
    if not isinstance(written, dict):
        raise ConnectorFileError(f"Connector configuration at '{path}' is {_kind(written)}; an object is needed.")
    if all(_is_plain(value) for value in written.values()):
        return _from_flat(written, path)
    return _from_request(written, values, path)


def _from_flat(written: Mapping[str, Any], path: str) -> CreateRequest:
    config = _texts(written)
    name = config.get(NAME)
    if name is None:
        raise ConnectorFileError(_nameless(path))
    return CreateRequest(name, config)


def _from_request(written: Mapping[str, Any], values: Mapping[str, Any], path: str) -> CreateRequest:
    name, config = written.get(NAME), written.get("config")
    if not isinstance(config, dict) or not all(_is_plain(value) for value in config.values()):
        raise ConnectorFileError(
            f"Connector configuration at '{path}' is neither an object of plain values nor one with 'name' and"
            " a 'config' of plain values: " + _odd_one(written if not isinstance(config, dict) else config)
        )
    texts = _texts(config)
    if name is None or not _is_plain(name):
        raise ConnectorFileError(_nameless(path))
    name = _text(name)
    if texts.setdefault(NAME, name) != name:
        raise ConnectorFileError(
            f"Connector name configuration in 'config' doesn't match the one specified in 'name' at '{path}'"
        )
    state = _initial_state(values.get("initial_state"), path)
    return CreateRequest(str(name), texts, state, _initial_offsets(values, path))


def _from_properties(text: str, path: str, not_json: str) -> CreateRequest:
    looks_like_json = text.lstrip()[:1] in ("{", "[")
    try:
        config: dict[str, str | None] = dict(as_dict(parse_properties(text)))
    except PropertiesError as error:
        raise ConnectorFileError(f"Connector configuration at '{path}': {error}") from error
    name = config.get(NAME)
    if name is None:
        hint = f" (it starts like JSON, but is not: {not_json})" if looks_like_json else ""
        raise ConnectorFileError(_nameless(path) + hint)
    return CreateRequest(name, config)


def _initial_state(value: Any, path: str) -> TargetState | None:
    if value is None:
        return None
    state = _STATES.get(value.upper()) if isinstance(value, str) else None
    if state is None:
        raise ConnectorFileError(
            f"'initial_state' at '{path}' is {json.dumps(value)}; it must be one of RUNNING, PAUSED, STOPPED."
        )
    return state


def _initial_offsets(values: Mapping[str, Any], path: str) -> list[OffsetEntry] | None:
    """Under either of their names."""
    given = [key for key in ("initial_offsets", "offsets") if values.get(key) is not None]
    if len(given) > 1:
        raise ConnectorFileError(
            f"'initial_offsets' and 'offsets' at '{path}' are two names for the same: give one of them."
        )
    return _offsets(values[given[0]], given[0], path) if given else None


def _offsets(value: Any, key: str, path: str) -> list[OffsetEntry]:
    entries = value if isinstance(value, list) else [value]
    if not all(_is_offset(entry) for entry in entries) or entries is not value:
        raise ConnectorFileError(
            f"'{key}' at '{path}' must be a list of objects with 'partition' and 'offset', both objects,"
            ' such as [{"partition": {"filename": "/data/in.txt"}, "offset": {"position": 0}}].'
        )
    return [OffsetEntry(entry.get("partition"), entry.get("offset")) for entry in entries]


def _is_offset(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and entry.keys() <= {"partition", "offset"}
        and isinstance(entry.get("partition"), dict)
        and isinstance(entry.get("offset"), (dict, type(None)))
    )


def _nameless(path: str) -> str:
    return f"Connector configuration at '{path}' is missing the mandatory 'name' configuration"


def _odd_one(values: Mapping[str, Any]) -> str:
    key = next(key for key, value in values.items() if not _is_plain(value))
    return f"'{key}' is {_kind(values[key])}."


def _kind(value: Any) -> str:
    return "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else "a plain value"


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, bool))


def _texts(values: Mapping[str, Any]) -> dict[str, str | None]:
    return {key: _text(value) for key, value in values.items()}


def _text(value: Any) -> str | None:
    """A plain value as a configuration holds it: numbers as they were written, booleans in lower case."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)
