"""The transforms of a connector, applied one after the other to one record at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from penstock.api.plugin import Plugin
from penstock.api.record import Record
from penstock.api.transform import FrameTransform, Predicate, TableTransform, Transform

from .errors import ErrorHandler, Origin, Stage


def reported_name(plugin: Plugin) -> str:
    """The class name that error reports show for a plugin."""
    return plugin.java_class or f"{type(plugin).__module__}.{type(plugin).__qualname__}"


@dataclass(slots=True)
class Link:
    """One transform and the predicate that guards it."""

    transform: Transform
    predicate: Predicate | None = None
    negate: bool = False

    @property
    def takes_tables(self) -> bool:
        """Whether the transform takes many records at a time as an Arrow table."""
        return isinstance(self.transform, TableTransform) and self.transform.takes_tables

    def chooses(self, record: Record) -> bool:
        """Whether the transform is for this record."""
        return self.predicate is None or bool(self.predicate.test(record)) is not self.negate

    def apply(self, record: Record) -> Record | None:
        """The record after this link: changed, as it was when the predicate says so, or ``None`` when dropped."""
        if self.predicate is not None and bool(self.predicate.test(record)) is self.negate:
            return record
        return self.transform.apply(record)


class Chain:
    """All links of a connector. Empty when it has no transforms."""

    def __init__(self, links: Sequence[Link]) -> None:
        self._steps = [(link, reported_name(link.transform)) for link in links]

        self.links = tuple(links)

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def takes_many(self) -> bool:
        """Whether some link takes many records at a time, so that ``apply`` cannot do it."""
        return any(link.takes_tables or isinstance(link.transform, FrameTransform) for link in self.links)

    def apply(self, record: Record, errors: ErrorHandler, origin: Callable[[], Origin]) -> Record | None:
        """The record at the end of the chain, or ``None`` when a link dropped it.

        Raises what :meth:`ErrorHandler.recover` raises for a record that fails.
        """
        for link, name in self._steps:
            try:
                changed = link.apply(record)
            except Exception as error:
                changed = errors.recover(error, Stage.TRANSFORMATION, name, partial(link.apply, record), origin)
            if changed is None:
                return None
            record = changed
        return record
