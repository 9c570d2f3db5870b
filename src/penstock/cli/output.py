"""Choices and defaults of options. Imports nothing: it is read at every start."""

from __future__ import annotations

from enum import StrEnum

DEFAULT_URL = "http://localhost:8083"


class Output(StrEnum):
    """How an answer is shown."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"
    MARKDOWN = "markdown"


class System(StrEnum):
    """Whose pipeline files can be converted."""

    CONDUIT = "conduit"
