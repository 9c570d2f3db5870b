"""What generated records look like. All of a record follows from its number: the same number, the same record."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.api import Column, Field, Schema, SchemaType
from penstock.api.record import STRING

Numbers = npt.NDArray[np.int64]

INT64 = Schema(SchemaType.INT64)
ORDER = Schema(
    SchemaType.STRUCT,
    name="order",
    fields=(
        Field("order_id", INT64),
        Field("ordered_at", INT64),
        Field("customer", STRING),
        Field("item", STRING),
        Field("quantity", Schema(SchemaType.INT32)),
        Field("price", Schema(SchemaType.FLOAT64)),
    ),
)

_FIRST_ORDER_AT = 1_700_000_000_000
_CUSTOMERS = [f"customer-{number:03}" for number in range(250)]
_ITEMS = ["valve", "pipe", "pump", "gauge", "seal", "flange", "filter", "turbine", "sluice", "gate"]
_DIGITS = 20
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def counter(numbers: Numbers, size: int) -> Column:
    """The number itself."""
    return Column(pa.array(numbers), INT64)


def text(numbers: Numbers, size: int) -> Column:
    """The number in 20 digits, then letters, ``size`` bytes in all (shorter ones keep the last digits)."""
    digits = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), _DIGITS, "0")
    if size < _DIGITS:
        return Column(pc.utf8_slice_codeunits(digits, _DIGITS - size, _DIGITS), STRING)
    letters = (_LETTERS * (size // len(_LETTERS) + 1))[: size - _DIGITS]
    return Column(pc.binary_join_element_wise(digits, letters, ""), STRING)


def order(numbers: Numbers, size: int) -> Column:
    """A purchase: a struct of six fields."""
    dice = _scattered(numbers)
    columns = [
        pa.array(numbers),
        pa.array(_FIRST_ORDER_AT + numbers * 250),
        pa.array(_CUSTOMERS).take(pa.array(dice % len(_CUSTOMERS))),
        pa.array(_ITEMS).take(pa.array((dice >> np.uint64(8)) % len(_ITEMS))),
        pa.array(((dice >> np.uint64(16)) % 9 + 1).astype(np.int32)),
        pa.array(((dice >> np.uint64(24)) % 100_000).astype(np.float64) / 100),
    ]
    return Column(pa.StructArray.from_arrays(columns, names=[field.name for field in ORDER.fields]), ORDER)


SHAPES: dict[str, Callable[[Numbers, int], Column]] = {"counter": counter, "text": text, "order": order}


def keys(numbers: Numbers, count: int) -> Column:
    """One of ``count`` different keys."""
    chosen = _scattered(numbers) % np.uint64(count)
    return Column(pc.binary_join_element_wise("key", pa.array(chosen).cast(pa.string()), "-"), STRING)


def _scattered(numbers: Numbers) -> npt.NDArray[np.uint64]:
    """Numbers that look random, the same for the same input."""
    with np.errstate(over="ignore"):
        mixed = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(mixed ^ (mixed >> np.uint64(31)))
