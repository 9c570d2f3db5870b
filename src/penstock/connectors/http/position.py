"""How far a source has come with a service's pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.api import ConfigError, PluginError, SourceOffset

Cursor = str | int | float | None

_KEYS = {"cursor", "taken", "caught_up"}


@dataclass(frozen=True)
class Page:
    """One answer: its records, and what leads to the next page (``None``: this was the last one)."""

    records: Sequence[Any]
    next: Cursor = None


@dataclass(frozen=True)
class Position:
    """``cursor`` leads to the page to ask for, ``taken`` records of it are known, ``caught_up`` says: not at once."""

    cursor: Cursor = None
    taken: int = 0
    caught_up: bool = False

    @classmethod
    def of(cls, offset: SourceOffset | None, first: Cursor = None) -> Position:
        """The position that an offset stands for. Raises ``PluginError`` for what no reader wrote."""
        try:
            check_offset(offset or {"cursor": None})
        except ConfigError as error:
            raise PluginError(f"{error} Stop the connector and alter or reset its offsets.") from None
        found = offset or {}
        cursor = found.get("cursor")
        return cls(first if cursor is None else cursor, found.get("taken", 0), found.get("caught_up", False))

    def offset(self) -> dict[str, Any]:
        """What is committed: ``cursor`` always, the rest where it says something."""
        more = {"taken": self.taken, "caught_up": self.caught_up}
        return {"cursor": self.cursor, **{key: value for key, value in more.items() if value}}

    def after(self, page: Page, grows: bool) -> Position:
        """Where to go on. The last page is asked for again later; what is added to it by then is new.

        Without ``grows`` there is a single page, which is new as a whole each time.
        """
        if not grows:
            return Position(caught_up=True)
        if page.next is None or str(page.next) == str(self.cursor):
            return Position(self.cursor, len(page.records), caught_up=True)
        return Position(page.next, caught_up=not page.records)


def check_offset(offset: Mapping[str, Any]) -> None:
    """Raise ``ConfigError`` unless an offset is one that the source could have made."""
    if "cursor" not in offset or not set(offset) <= _KEYS:
        raise ConfigError(f"An offset must have 'cursor', and may have 'taken' and 'caught_up': {dict(offset)}.")
    cursor, taken, caught_up = offset["cursor"], offset.get("taken", 0), offset.get("caught_up", False)
    if isinstance(cursor, bool) or not isinstance(cursor, str | int | float | None):
        raise ConfigError(f"'cursor' must be text, a number or null, not {cursor!r}.")
    if isinstance(taken, bool) or not isinstance(taken, int) or taken < 0:
        raise ConfigError(f"'taken' must be the number of records known of the page, 0 or more, not {taken!r}.")
    if not isinstance(caught_up, bool):
        raise ConfigError(f"'caught_up' must be true or false, not {caught_up!r}.")
