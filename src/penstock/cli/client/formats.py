"""How an answer is shown: for people, or as JSON or YAML for scripts."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

import typer


class Format(StrEnum):
    """How an answer is shown."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"

    @property
    def is_data(self) -> bool:
        return self is not Format.TEXT


def print_data(value: Any, format_: Format) -> None:
    """A value on standard output."""
    if format_ is Format.YAML:
        typer.echo(as_yaml(value), nl=False)
    else:
        typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def as_yaml(value: Any) -> str:
    """YAML in the order of the value, texts as they are."""
    import yaml

    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1000))
