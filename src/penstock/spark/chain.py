"""The transforms of a connector, applied one after the other to one record at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import takewhile
from typing import NamedTuple

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

    def apply_owned(self, record: Record) -> Record | None:
        """Like ``apply``, for a record that may be changed in place."""
        if self.predicate is not None and bool(self.predicate.test(record)) is self.negate:
            return record
        return self.transform.apply_owned(record)

    @property
    def lets_go(self) -> bool:
        """Whether neither the transform nor the predicate can still hold a record that has passed."""
        transform, predicate = self.transform, self.predicate
        own = type(transform).apply_owned is not Transform.apply_owned and keeps_pace(transform, "apply", "apply_owned")
        return own and (predicate is None or keeps_pace(predicate, "test", "test_batch"))


def keeps_pace(plugin: object, plain: str, other: str) -> bool:
    """Whether another form of a plain method still belongs to it: no subclass has changed only the plain one since."""
    return _keeps_pace(type(plugin).__mro__, plain, other)


@lru_cache(maxsize=1024)
def _keeps_pace(kinds: tuple[type, ...], plain: str, other: str) -> bool:
    def first(method: str) -> int:
        return next((at for at, kind in enumerate(kinds) if method in vars(kind)), len(kinds))

    return first(other) <= first(plain)


class Chain:
    """All links of a connector. Empty when it has no transforms."""

    def __init__(self, links: Sequence[Link]) -> None:
        self.links = tuple(links)
        self._plain = [_Step(_function(link), reported_name(link.transform)) for link in links]
        self._owned = list(self._plain)
        for at, link in enumerate(takewhile(lambda link: link.lets_go, links)):
            self._owned[at] = _Step(_function(link, owned=True), self._plain[at].name)

    def __len__(self) -> int:
        return len(self.links)

    @property
    def takes_many(self) -> bool:
        """Whether some link takes many records at a time, so that ``apply`` cannot do it."""
        return any(link.takes_tables or isinstance(link.transform, FrameTransform) for link in self.links)

    @property
    def needs_spark(self) -> bool:
        """Whether some link takes DataFrames, and so a Spark job."""
        return any(isinstance(link.transform, FrameTransform) for link in self.links)

    def apply(
        self, record: Record, errors: ErrorHandler, origin: Callable[[], Origin], owned: bool = False
    ) -> Record | None:
        """The record at the end of the chain, or ``None`` when a link dropped it.

        ``owned`` tells that nobody else holds the record, so that it may be changed in place. Raises what
        :meth:`ErrorHandler.recover` raises for a record that fails.
        """
        for apply, name in self._owned if owned else self._plain:
            try:
                changed = apply(record)
            except Exception as error:
                changed = errors.recover(error, Stage.TRANSFORMATION, name, partial(apply, record), origin)
            if changed is None:
                return None
            record = changed
        return record


class _Step(NamedTuple):
    apply: Callable[[Record], Record | None]
    name: str


def _function(link: Link, owned: bool = False) -> Callable[[Record], Record | None]:
    """What applies a link, without a detour where it has no predicate."""
    target = link if link.predicate is not None else link.transform
    return target.apply_owned if owned else target.apply
