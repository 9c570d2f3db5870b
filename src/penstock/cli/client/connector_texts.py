"""Connectors in files and on standard input: JSON, properties or YAML."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.runtime.connector_files import ConnectorFileError, connector_request, load_connector_file
from penstock.runtime.requests import CreateRequest, TargetState

from ..exit_codes import CONNECTOR_FILE
from .documents import NotReadable, yaml_texts
from .problems import ClientError

STANDARD_INPUT = Path("-")
YAML = (".yaml", ".yml")

_STATES = {TargetState.STARTED: "RUNNING", TargetState.PAUSED: "PAUSED", TargetState.STOPPED: "STOPPED"}


class BadFile(ClientError):
    """A connector file that cannot be used."""

    code = CONNECTOR_FILE


@dataclass(frozen=True)
class Wanted:
    """A connector as a file wants it."""

    name: str
    config: dict[str, str | None]
    initial_state: str | None = None
    offsets: list[dict[str, Any]] | None = None

    def body(self) -> dict[str, Any]:
        """Of ``POST /connectors``."""
        found: dict[str, Any] = {"name": self.name, "config": self.config}
        if self.initial_state is not None:
            found["initial_state"] = self.initial_state
        if self.offsets is not None:
            found["offsets"] = self.offsets
        return found


def read_connectors(files: Sequence[Path], name: str | None) -> list[Wanted]:
    """The connectors of some files; ``-`` is standard input. Raises :class:`BadFile`.

    ``name`` is for a single file: it replaces the name in it.
    """
    if not files:
        raise BadFile("Which connectors?", "Name a file: -f connector.json, or -f - for standard input.")
    if name is not None and len(files) != 1:
        raise BadFile("--name is for one file.")
    return [_read(file, name) for file in files]


def _read(file: Path, name: str | None) -> Wanted:
    try:
        request = _request(file, name)
    except ConnectorFileError as error:
        raise BadFile(str(error), "A file is JSON, YAML or properties, with a name and connector.class.") from error
    offsets = None
    if request.offsets is not None:
        offsets = [{"partition": entry.partition, "offset": entry.offset} for entry in request.offsets]
    state = None if request.initial_state is None else _STATES[request.initial_state]
    return Wanted(request.name, dict(request.config), state, offsets)


def _request(file: Path, name: str | None) -> CreateRequest:
    if name is None and file != STANDARD_INPUT and file.suffix not in YAML:
        return load_connector_file(file)
    written, values = _document(_text(file), file)
    if name is not None:
        written = {**written, "name": name}
        if isinstance(written.get("config"), dict):
            written["config"] = {**written["config"], "name": name}
    return connector_request(written, values, str(file))


def _text(file: Path) -> str:
    if file == STANDARD_INPUT:
        return sys.stdin.read()
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(f"Cannot read the connector file '{file}': {error}") from error


def _document(text: str, file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a file holds with numbers as they were written, and with numbers: JSON, YAML, or else properties."""
    try:
        written = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
        if isinstance(written, dict):
            return written, json.loads(text)
    except ValueError:
        pass
    try:
        found = yaml_texts(text, str(file))
    except NotReadable as error:
        return _properties(text, file, str(error))
    if not isinstance(found, dict):
        return _properties(text, file, f"{file}: it holds no object")
    return _as_written(found), found


def _properties(text: str, file: Path, problem: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Properties, unless the file is called YAML, which has this ``problem``."""
    from penstock.runtime.properties import PropertiesError, as_dict, parse_properties

    if file.suffix in YAML:
        raise BadFile(problem, "A connector is one document of YAML, with a name and connector.class.")
    try:
        properties = dict(as_dict(parse_properties(text)))
    except PropertiesError as error:
        raise BadFile(f"'{file}' is neither YAML ({problem}) nor properties ({error})") from error
    return properties, properties


def _as_written(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_written(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_as_written(one) for one in value]
    return value if value is None or isinstance(value, (bool, str)) else str(value)
