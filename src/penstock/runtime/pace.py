"""How soon a source that had nothing is looked at again."""

from __future__ import annotations

SHORTEST_SECONDS = 0.004
LONGEST_SECONDS = 0.5
LONGEST_FIRST_SECONDS = 0.06
SHARE_OF_SILENCE = 1 / 16


class Pace:
    """Pauses that grow as long as there is nothing.

    The first of them is a share of the silence before the last find: a source that has a record a second is not looked
    at every few milliseconds after each. Records that come in the rhythm of the last ones wait no longer for it.
    """

    def __init__(self) -> None:
        self.seconds = SHORTEST_SECONDS
        self._found_at: float | None = None

    def found(self, now: float) -> None:
        """There was something, at this time of a clock that only goes forward."""
        silence = 0.0 if self._found_at is None else now - self._found_at
        self._found_at = now
        self.seconds = min(max(silence * SHARE_OF_SILENCE, SHORTEST_SECONDS), LONGEST_FIRST_SECONDS)

    def found_nothing(self) -> None:
        self.seconds = min(2 * self.seconds, LONGEST_SECONDS)

    def hurry(self) -> None:
        """Begin with short pauses again, whatever was found before."""
        self.seconds = SHORTEST_SECONDS
