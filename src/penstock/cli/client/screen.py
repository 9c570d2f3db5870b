"""Text for people: tables, coloured states, notices. Answers go to standard output, everything else to the other."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

STYLES = {
    "RUNNING": "green",
    "PAUSED": "yellow",
    "STOPPED": "yellow",
    "FAILED": "bold red",
    "UNASSIGNED": "magenta",
    "RESTARTING": "cyan",
    "DESTROYED": "dim",
    "healthy": "green",
    "degraded": "yellow",
    "stalled": "bold yellow",
    "failed": "bold red",
}


_UNBOUNDED = 1_000_000_000
"""A width that no table reaches."""


class Screen:
    """One of the two streams. Nothing that is printed is taken for markup unless it says so."""

    def __init__(self, to_errors: bool = False) -> None:
        from rich.console import Console

        self.console: Console = Console(stderr=to_errors, highlight=False, soft_wrap=True, emoji=False)

    @property
    def is_terminal(self) -> bool:
        return self.console.is_terminal

    def line(self, text: str = "", style: str | None = None) -> None:
        self.console.print(text, style=style, markup=False)

    def done(self, text: str) -> None:
        self.console.print(_joined(("✓ ", "green"), (text, "")))

    def note(self, text: str) -> None:
        self.console.print(_joined(("note  ", "cyan"), (text, "")))

    def problem(self, text: str, hint: str = "") -> None:
        self.console.print(_joined(("error  ", "bold red"), (text, "")))
        if hint:
            self.console.print(_joined(("  → ", "cyan"), (hint, "")))

    def title(self, text: str) -> None:
        self.console.print(f"\n{text}", style="bold", markup=False)

    def facts(self, facts: Mapping[str, str | Text], indent: int = 0) -> None:
        """One line a fact, aligned."""
        width = max(map(len, facts), default=0)
        for name, value in facts.items():
            self.console.print(_joined((f"{'':{indent}}{name:<{width}}  ", "dim"), value))

    def table(
        self, columns: Sequence[str], rows: Iterable[Sequence[str | Text]], whole: str = "-o json shows them whole."
    ) -> None:
        """One line a row, columns as wide as their content: scripts that read lines see whole values.

        Only a terminal too narrow for that gets the widest columns cut, with an ellipsis and the hint ``whole``.
        """
        from rich.measure import Measurement
        from rich.table import Table

        table = Table(box=None, header_style="bold", pad_edge=False, show_edge=False)
        for column in columns:
            table.add_column(_cell(column))
        for row in rows:
            table.add_row(*map(_cell, row))
        width = Measurement.get(self.console, self.console.options.update_width(_UNBOUNDED), table).maximum
        cut = self.console.file.isatty() and width > self.console.width
        if not cut:
            table.width = width
        self.console.print(table)
        if cut:
            errors().note(f"Values that end in … are cut to the width of the terminal: {whole}")


@cache
def answers() -> Screen:
    """Standard output."""
    return Screen()


@cache
def errors() -> Screen:
    """Standard error."""
    return Screen(to_errors=True)


def state_text(state: str) -> Text:
    """A state in its colour."""
    from rich.text import Text

    return Text(state, style=STYLES.get(state, ""))


def is_interactive() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _joined(*parts: tuple[str, str] | str | Text) -> Text:
    from rich.text import Text

    text = Text()
    for part in parts:
        if isinstance(part, tuple):
            text.append(part[0], style=part[1])
        else:
            text.append(part)
    return text


def _cell(value: str | Text) -> Text:
    """One line, and an ellipsis where it does not fit."""
    from rich.text import Text

    return Text(no_wrap=True, overflow="ellipsis").append(value)
