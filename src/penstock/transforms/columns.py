"""Structs and maps as columns: taken apart into their members, and put together again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from penstock.api.batch import Column
from penstock.api.errors import DataError
from penstock.api.record import Field, Millis, Schema, SchemaType
from penstock.api.transform import RowsDeclined

Members = dict[str, pa.Array]


def members_of(column: Column) -> Members | None:
    """The members of maps, or of structs in the order of their schema; ``None`` for anything that is no such thing."""
    array, schema = column.array, column.schema
    if not pa.types.is_struct(array.type) or array.null_count:
        return None
    found = {member.name: array.field(at) for at, member in enumerate(array.type)}
    if schema is None:
        return found
    if schema.type is not SchemaType.STRUCT or found.keys() != {field.name for field in schema.fields}:
        return None
    return {field.name: found[field.name] for field in schema.fields}


def is_nothing(column: Column) -> bool:
    """Whether every value is null."""
    array = column.array
    return bool(array.null_count == len(array))


def column_of(members: Mapping[str, pa.Array], schema: Schema | None = None) -> Column | None:
    """Maps or structs of the given members; ``None`` when there are none."""
    if not members:
        return None
    return Column(pa.StructArray.from_arrays(list(members.values()), names=list(members)), schema)


def same(value: Any, kind: pa.DataType, size: int) -> pa.Array:
    """One value, so many times."""
    return pa.repeat(pa.scalar(value, kind), size)


def mapped(column: Column, change: Callable[[Any], Any], kind: pa.DataType) -> pa.Array:
    """What a function makes of each value, as an array of a type. Rows with values that it refuses are declined."""
    results: list[Any] = []
    bad: list[int] = []
    for value in column.values():
        try:
            result = change(value)
        except DataError:
            result = None
            bad.append(len(results))
        if type(result) is Millis:
            bad.append(len(results))
        results.append(result)
    if not bad:
        return pa.array(results, kind)
    flags = [False] * len(results)
    for row in bad:
        flags[row] = True
    raise RowsDeclined(pa.array(flags, pa.bool_()))


def are_complete(members: Members, fields: Iterable[Field], with_default: bool) -> bool:
    """Whether no field is null that must not be, or that has a default which would take the place of null."""
    return not any(
        members[field.name].null_count
        for field in fields
        if not field.schema.optional or (with_default and field.schema.default_value is not None)
    )
