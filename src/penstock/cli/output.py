"""Choices and defaults of options. Imports nothing: it is read at every start."""

from __future__ import annotations

from enum import Enum

DEFAULT_URL = "http://localhost:8083"


class Output(str, Enum):
    """How an answer is shown."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"
    MARKDOWN = "markdown"


class System(str, Enum):
    """Whose pipeline files can be converted."""

    CONDUIT = "conduit"
