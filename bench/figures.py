"""What a run of the benchmark finds out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Better = Literal["more", "less"]

_AND = " and "


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, with what is needed to print and judge it. ``key`` is the same for every system and run.

    ``target`` is a value to reach, ``times`` how many times better than the peer it has to be.
    """

    key: str
    title: str
    unit: str
    value: float
    better: Better = "less"
    target: float | None = None
    times: float | None = None

    @property
    def step(self) -> str:
        return self.key.partition(".")[0]

    def reached(self, peer: Figure | None) -> bool | None:
        """Whether the target is reached; ``None`` without one, or without a peer to compare with."""
        if self.times is not None:
            found = self.times_better_than(peer) if peer else None
            return None if found is None else found >= self.times
        if self.target is None:
            return None
        return self.value >= self.target if self.better == "more" else self.value <= self.target

    def times_better_than(self, other: Figure) -> float | None:
        """How many times better this is: 2 means twice as fast, or half of the memory. ``None`` when nobody can say."""
        best, worst = (self.value, other.value) if self.better == "more" else (other.value, self.value)
        return None if worst <= 0 or best <= 0 else best / worst


@dataclass(slots=True)
class Findings:
    """The figures of one system, in the order in which they were found, and the steps that failed."""

    system: str
    version: str
    date: str
    machine: str
    figures: dict[str, Figure] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def add(self, figures: Iterable[Figure]) -> None:
        self.figures.update((figure.key, figure) for figure in figures)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "figures": [asdict(figure) for figure in self.figures.values()]}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Findings:
        figures = [Figure(**figure) for figure in found["figures"]]
        return cls(**{**found, "figures": {figure.key: figure for figure in figures}})


def both_versions(first: str, second: str) -> str:
    """What figures of two runs are said to be of: each version once."""
    return _AND.join(sorted({*first.split(_AND), *second.split(_AND)}))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that ``share`` (0 to 1) of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def median(values: Sequence[float]) -> float:
    return percentile(values, 0.5)
