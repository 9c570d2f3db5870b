"""``penstock convert``: pipeline files of other systems."""

from __future__ import annotations

from pathlib import Path

import typer

from .conduit import NotConduit, convert_conduit
from .console import StartUpConsole
from .exit_codes import CONNECTOR_FILE, OK


def convert_file(file: Path) -> int:
    """Print the converted file, and on standard error what must be looked at; the exit code."""
    console = StartUpConsole()
    try:
        converted = convert_conduit(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, NotConduit) as error:
        console.error(f"{file}: {error}")
        return CONNECTOR_FILE
    typer.echo(converted.text(), nl=False)
    for note in converted.notes:
        console.warn(note)
    return OK
