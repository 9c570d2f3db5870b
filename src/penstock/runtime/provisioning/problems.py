"""What is wrong with pipeline files: collected, each with its place and a way out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

Places = Mapping[str, tuple[int, int]]
"""Path in a document → line and column, both from 1."""

ERROR = "error"
WARNING = "warning"


@dataclass(frozen=True)
class Problem:
    """One thing to mend. ``path`` is such as ``pipelines[0].connectors[1].config.topic``.

    ``document`` counts the YAML documents of a file, from 0. ``pipeline`` is the id of the pipeline it spoils; one
    without it spoils the whole file. A warning spoils nothing.
    """

    message: str
    file: str = ""
    path: str = ""
    suggestion: str = ""
    severity: str = ERROR
    document: int = 0
    line: int | None = None
    column: int | None = None
    pipeline: str | None = None

    @property
    def is_error(self) -> bool:
        return self.severity == ERROR

    def located(self, places: Places) -> Problem:
        """The same with line and column of its path, or of the nearest part of it that is written down."""
        path = self.path
        while path and path not in places:
            path = _parent(path)
        if path not in places:
            return self
        line, column = places[path]
        return replace(self, line=line, column=column)

    def __str__(self) -> str:
        place = self.file
        if self.line is not None:
            place += f":{self.line}:{self.column}"
        where = f"{place}: " if place else ""
        path = f"{self.path}: " if self.path else ""
        return f"{where}{path}{self.message}" + (f" {self.suggestion}" if self.suggestion else "")


def _parent(path: str) -> str:
    return path[: max(path.rfind("."), path.rfind("["), 0)]


def did_you_mean(given: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """A sentence with the likeliest of the known words, or nothing."""
    by_lower = {word.lower(): word for word in known}
    near = difflib.get_close_matches(given.lower(), list(by_lower), n=1, cutoff=likeness)
    return f"Did you mean '{by_lower[near[0]]}'?" if near else ""


def errors_text(problems: Iterable[Problem]) -> str:
    """All errors, one a line."""
    return "\n".join(str(problem) for problem in problems if problem.is_error)
