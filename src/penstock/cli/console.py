"""What a person sees while a worker starts, runs and stops. Logs go elsewhere or look different."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.markup import escape


class StartUpConsole:
    """Short lines on standard error, with the seconds since the start."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False, soft_wrap=True)
        self._begin = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._begin

    def title(self, text: str) -> None:
        self._console.print(f"[bold cyan]{escape(text)}[/]")

    def facts(self, facts: Mapping[str, str]) -> None:
        """Where to look: one line a fact, aligned."""
        width = max(map(len, facts), default=0)
        for name, value in facts.items():
            self._console.print(f"  [dim]{name:<{width}}[/]  {escape(value)}")

    def step(self, text: str) -> None:
        self._console.print(f"[dim]{self.seconds:5.1f} s[/]  {escape(text)}")

    def done(self, text: str) -> None:
        self._console.print(f"[dim]{self.seconds:5.1f} s[/]  [green]✓[/] {escape(text)}")

    def warn(self, text: str) -> None:
        self._console.print(f"[yellow]warning[/]  {escape(text)}")

    def error(self, text: str) -> None:
        self._console.print(f"[bold red]error[/]  {escape(text)}")

    def hints(self, title: str, lines: Iterable[str]) -> None:
        """Commands worth trying, ready to be copied."""
        self._console.print(f"\n[bold]{escape(title)}[/]")
        for line in lines:
            self._console.print(f"  {escape(line)}")
        self._console.print()
