"""Records as columns on their way through a chain, as far as they go; whoever falls out goes one by one.

Nothing here changes the outcome for a record: a record that would fail, or that columns cannot hold, is in no group at
the end, and its raw form takes the plain way instead. So does a record whose column form raises, but that is a fault:
it is counted, since nobody would notice otherwise that the fast way is dead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.batch import Batch, Column, Part
from penstock.api.converter import Converter
from penstock.api.record import Header, Record, Schema
from penstock.api.transform import RowsDeclined

from .chain import Chain, Link, keeps_pace, reported_name
from .column_faults import ColumnFaults

Rows = npt.NDArray[np.int64]

_CHAIN_PAIRS = (("apply", "apply_batch"), ("change", "change_column"))
_OWN = __name__
_MAX_BYTES = 2**31 - 1
"""Arrow's 32-bit offsets reach no further: columns of less never overflow when they become one."""


@dataclass(slots=True)
class Group:
    """Some rows of a piece, in ascending order, and the batch they have become."""

    rows: Rows
    batch: Batch


@dataclass(slots=True)
class Passed:
    """What came through a chain as columns, and which rows it dropped."""

    groups: list[Group] = field(default_factory=list)
    dropped: list[Rows] = field(default_factory=list)

    def rest(self, size: int) -> Rows:
        """The rows, of so many, that must go one by one."""
        missing = np.ones(size, bool)
        for rows in (*(group.rows for group in self.groups), *self.dropped):
            missing[rows] = False
        return np.flatnonzero(missing)

    @property
    def dropped_count(self) -> int:
        return sum(map(len, self.dropped))


class ColumnChain:
    """The links of a chain, for columns. ``usable`` tells whether all of them can take columns at all."""

    def __init__(self, chain: Chain, faults: ColumnFaults) -> None:
        self._links = chain.links
        self._faults = faults
        self.usable = all(map(_takes_columns, chain.links))

    def run(self, groups: Sequence[Group]) -> Passed:
        """Take groups through all links. Whatever goes wrong with a group, its rows are left to go one by one."""
        passed = Passed()
        for group in groups:
            found = Passed()
            try:
                self._run(group, 0, found)
            except Exception as error:
                self._faults.count(_OWN, "ColumnChain.run", len(group.rows), error)
                continue
            passed.groups += found.groups
            passed.dropped += found.dropped
        return passed

    def _run(self, group: Group, place: int, passed: Passed) -> None:
        """From the link at ``place`` on."""
        if not len(group.rows):
            return
        if place == len(self._links):
            passed.groups.append(group)
            return
        link = self._links[place]
        sides = self._divided(link, group)
        if sides is None:
            return
        chosen, others = sides
        changed = None if chosen is None else self._changed(link, chosen, passed)
        for part in (changed, others):
            if part is not None:
                self._run(part, place + 1, passed)

    def _divided(self, link: Link, group: Group) -> tuple[Group | None, Group | None] | None:
        """The records that the transform of a link is for, and the others; ``None``: find out one by one."""
        if link.predicate is None:
            return group, None
        try:
            found = link.predicate.test_batch(group.batch)
            if found is None:
                return None
            if isinstance(found, pa.Array):
                sides = _filtered(group, found), _filtered(group, pc.invert(found))
                return sides[::-1] if link.negate else sides
            if not isinstance(found, (bool, np.bool_)):
                raise TypeError(f"neither a bool nor an Arrow array nor None, but {type(found).__name__}")
        except Exception as error:
            self._faults.count(reported_name(link.predicate), "test_batch", len(group.rows), error)
            return None
        return (group, None) if bool(found) is not link.negate else (None, group)

    def _changed(self, link: Link, group: Group, passed: Passed) -> Group | None:
        """The group after a transform; ``None`` when nothing is left of it, or nothing that columns can hold."""
        while len(group.rows):
            try:
                try:
                    changed = link.transform.apply_batch(group.batch)
                except RowsDeclined as declined:
                    group = _without(group, declined.rows)
                    continue
                if changed is None:
                    return None
                if len(changed) == len(group.rows):
                    return Group(group.rows, changed)
                if len(changed):
                    raise ValueError(f"{len(changed)} records came out of {len(group.rows)}: all or none must")
            except Exception as error:
                self._faults.count(reported_name(link.transform), "apply_batch", len(group.rows), error)
                return None
            passed.dropped.append(group.rows)
            return None
        return None


def decode_parts(converter: Converter, topic: str, data: pa.Array, faults: ColumnFaults) -> Sequence[Part]:
    """The rows of a column that the converter can read as columns."""
    if not keeps_pace(converter, "to_data", "decode"):
        return ()
    inherited = type(converter).decode_parts is Converter.decode_parts
    if not inherited and not keeps_pace(converter, "to_data", "decode_parts"):
        return ()
    try:
        return converter.decode_parts(topic, data)
    except Exception as error:
        faults.count(reported_name(converter), "decode_parts", len(data), error)
        return ()


def decode_whole(converter: Converter, topic: str, data: pa.Array, faults: ColumnFaults) -> Column | None:
    """A whole column; ``None`` when its values must go one by one."""
    if not keeps_pace(converter, "to_data", "decode"):
        return None
    try:
        return converter.decode(topic, data)
    except Exception as error:
        faults.count(reported_name(converter), "decode", len(data), error)
        return None


def encode_whole(converter: Converter, topic: str, column: Column, faults: ColumnFaults) -> pa.Array | None:
    """A whole column as bytes; ``None`` when its values must go one by one."""
    if not keeps_pace(converter, "from_data", "encode"):
        return None
    try:
        return converter.encode(topic, column)
    except Exception as error:
        faults.count(reported_name(converter), "encode", len(column.array), error)
        return None


def interleaved(groups: Sequence[Group], rows: Sequence[int], records: Sequence[Record]) -> Iterator[Batch | Record]:
    """Groups and single records in the order of their rows."""
    if not rows and len(groups) == 1:
        yield groups[0].batch
        return
    owners, owned = _owners(groups, rows)
    edges = [0, *(np.flatnonzero(np.diff(owners)) + 1).tolist(), len(owners)]
    for start, end in pairwise(edges):
        if start == end:
            continue
        owner, first = int(owners[start]), int(owned[start])
        if owner == len(groups):
            yield from records[first : first + end - start]
        else:
            yield groups[owner].batch.slice(first, end - start)


def count_runs(groups: Sequence[Group], rows: Sequence[int]) -> int:
    """In how many pieces :func:`interleaved` would cut the groups."""
    owners, _ = _owners(groups, rows)
    return int(np.count_nonzero(np.diff(owners))) + 1


def _owners(groups: Sequence[Group], rows: Sequence[int]) -> tuple[Rows, Rows]:
    """For each row that is left, in order: the number of its group (or of the records), and its place in there."""
    everything = [*(group.rows for group in groups), np.asarray(rows, np.int64)]
    order = np.argsort(np.concatenate(everything), kind="stable")
    owners = np.repeat(np.arange(len(everything)), [len(some) for some in everything])
    owned = np.concatenate([np.arange(len(some)) for some in everything])
    return owners[order], owned[order]


def pairs(keys: Sequence[Part], values: Sequence[Part], size: int) -> Iterator[tuple[Rows, Part, Part]]:
    """Rows that have both a key and a value as columns; the parts hold just these rows."""
    for value in values:
        for key in keys:
            if len(key.rows) == size:
                yield value.rows, _restricted(key, value.rows), value
                continue
            rows = np.intersect1d(key.rows, value.rows, assume_unique=True)
            if len(rows):
                yield rows, _restricted(key, rows), _restricted(value, rows)


def merged(groups: list[Group], faults: ColumnFaults) -> list[Group]:
    """Groups whose records can share columns become one, unless they do not fit into one."""
    if len(groups) < 2 or sum(map(_size, groups)) > _MAX_BYTES:
        return groups
    try:
        return _merged(groups)
    except Exception as error:
        faults.count(_OWN, "merged", sum(len(group.rows) for group in groups), error)
        return groups


def _size(group: Group) -> int:
    key = group.batch.key
    return int(group.batch.value.array.nbytes) + (0 if key is None else int(key.array.nbytes))


def _merged(groups: list[Group]) -> list[Group]:
    found: list[tuple[list[Group], Columns]] = []
    for group in groups:
        own = _columns(group.batch)
        for at, (similar, columns) in enumerate(found):
            shared = _shared(columns, own)
            if shared is not None:
                found[at] = ([*similar, group], shared)
                break
        else:
            found.append(([group], own))
    return [_merge(similar, columns) for similar, columns in found]


class Columns(NamedTuple):
    """What records that share a batch must have in common."""

    topic: str
    headers: Sequence[Header]
    present: Sequence[bool]
    key_schema: Schema | None
    value_schema: Schema | None
    key: pa.DataType
    value: pa.DataType


def _columns(batch: Batch) -> Columns:
    key = Column(pa.nulls(0)) if batch.key is None else batch.key
    value, present = batch.value, [array is not None for array in (batch.partition, batch.timestamp, batch.offset)]
    return Columns(batch.topic, batch.headers, present, key.schema, value.schema, key.array.type, value.array.type)


def _shared(one: Columns, other: Columns) -> Columns | None:
    if one == other:
        return one
    if one._replace(key=None, value=None) != other._replace(key=None, value=None):
        return None
    key, value = common_type(one.key, other.key), common_type(one.value, other.value)
    return None if key is None or value is None else one._replace(key=key, value=value)


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that holds values of both, each unchanged: the same type, where some may be null."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if not (pa.types.is_struct(one) and pa.types.is_struct(other)) or [f.name for f in one] != [f.name for f in other]:
        return None
    members = [(f.name, common_type(f.type, g.type)) for f, g in zip(one, other, strict=True)]
    return None if any(kind is None for _, kind in members) else pa.struct(members)


def _merge(groups: list[Group], columns: Columns) -> Group:
    if len(groups) == 1:
        return groups[0]
    rows = np.concatenate([group.rows for group in groups])
    order = pa.array(np.argsort(rows, kind="stable"))
    batches = [group.batch for group in groups]

    def joined(name: str) -> pa.Array | None:
        arrays = [getattr(batch, name) for batch in batches]
        return None if arrays[0] is None else pa.concat_arrays(arrays).take(order)

    def column(parts: list[Column], kind: pa.DataType, schema: Schema | None) -> Column:
        return Column(pa.concat_arrays([part.array.cast(kind) for part in parts]).take(order), schema)

    keys = [Column(pa.nulls(len(batch))) if batch.key is None else batch.key for batch in batches]
    whole = Batch(
        columns.topic,
        column([batch.value for batch in batches], columns.value, columns.value_schema),
        column(keys, columns.key, columns.key_schema),
        joined("partition"),
        joined("timestamp"),
        joined("offset"),
        columns.headers,
    )
    return Group(np.sort(rows), whole)


def _takes_columns(link: Link) -> bool:
    predicate = link.predicate
    return all(keeps_pace(link.transform, *pair) for pair in _CHAIN_PAIRS) and (
        predicate is None or keeps_pace(predicate, "test", "test_batch")
    )


def _filtered(group: Group, flags: pa.Array) -> Group:
    if len(flags) != len(group.rows):
        raise ValueError(f"{len(flags)} flags for {len(group.rows)} records")
    rows = np.flatnonzero(flags.to_numpy(zero_copy_only=False))
    return Group(group.rows[rows], group.batch.take(pa.array(rows)))


def _without(group: Group, declined: pa.Array) -> Group:
    left = _filtered(group, pc.invert(declined))
    if len(left.rows) == len(group.rows):
        raise ValueError("RowsDeclined declines no row: the same batch would come again, for ever")
    return left


def _restricted(part: Part, rows: Rows) -> Part:
    if len(part.rows) == len(rows):
        return part
    places = pa.array(np.searchsorted(part.rows, rows))
    return Part(rows, Column(part.column.array.take(places), part.column.schema))
