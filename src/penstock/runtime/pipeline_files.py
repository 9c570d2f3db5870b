"""Pipeline files: YAML or JSON that declares connectors in groups.

.. code-block:: yaml

    pipelines:
      - id: orders
        connectors:
          - name: orders-in
            config:
              connector.class: FileStreamSource
              file: orders.txt
              topic: orders
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from .connector_files import ConnectorFileError, connector_request
from .properties import read_text
from .requests import CreateRequest

_SUFFIXES = (".yaml", ".yml", ".json")


class _JsonValues(yaml.SafeLoader):
    """YAML with the values JSON has: what looks like a date stays text."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def load_pipelines(paths: Sequence[Path]) -> list[CreateRequest]:
    """The connectors of pipeline files and of all such files in folders. Raises ``ConnectorFileError``."""
    files = [file for path in paths for file in (_files_in(path) if path.is_dir() else [path])]
    requests = [request for file in files for request in load_pipeline_file(file)]
    _refuse_repeated_names(requests, ", ".join(map(str, files)))
    return requests


def _files_in(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix in _SUFFIXES)


def load_pipeline_file(path: str | Path) -> list[CreateRequest]:
    """The connectors that a pipeline file declares, in order. Raises ``ConnectorFileError``."""
    try:
        text = read_text(path)
    except OSError as error:
        raise ConnectorFileError(
            f"Cannot read the pipeline file '{path}': {error.strerror or error}. Check the path and the permissions."
        ) from error
    try:
        written = yaml.load(text, yaml.BaseLoader)
        values = yaml.load(text, _JsonValues)
    except yaml.YAMLError as error:
        raise ConnectorFileError(f"The pipeline file '{path}' is neither YAML nor JSON: {error}") from error
    requests = list(_connectors(written, values, str(path)))
    _refuse_repeated_names(requests, str(path))
    return requests


def _connectors(written: Any, values: Any, path: str) -> Iterator[CreateRequest]:
    pipelines = _list_in(written, "pipelines", f"'{path}'")
    for number, pipeline in enumerate(pipelines):
        place = f"{path}, pipeline {_id(pipeline, number)}"
        connectors = _list_in(pipeline, "connectors", f"'{place}'")
        for position, connector in enumerate(connectors):
            value = values["pipelines"][number]["connectors"][position]
            yield connector_request(connector, value, f"{place}, connector {position + 1}")


def _list_in(document: Any, key: str, place: str) -> list[Any]:
    found = document.get(key) if isinstance(document, dict) else None
    if not isinstance(found, list):
        raise ConnectorFileError(f"{place} has no list '{key}': a pipeline file looks like\n{_EXAMPLE}")
    return found


def _id(pipeline: Any, number: int) -> str:
    given = pipeline.get("id") if isinstance(pipeline, dict) else None
    return str(given or number + 1)


def _refuse_repeated_names(requests: list[CreateRequest], path: str) -> None:
    names = [request.name for request in requests]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ConnectorFileError(f"'{path}' declares more than one connector named {', '.join(repeated)}.")


_EXAMPLE = """\
  pipelines:
    - id: orders
      connectors:
        - name: orders-in
          config:
            connector.class: FileStreamSource
            file: orders.txt
            topic: orders"""
