"""The primitive types of Kafka's protocol, in the versions whose lengths are fixed numbers and not varints."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import TypeVar

Cell = TypeVar("Cell")

_INT8, _INT16, _INT32, _INT64 = (struct.Struct(f">{code}") for code in "bhiq")


class Unreadable(ValueError):
    """An answer that ends too early, or is not what it should be."""


def int8(value: int) -> bytes:
    return _INT8.pack(value)


def int16(value: int) -> bytes:
    return _INT16.pack(value)


def int32(value: int) -> bytes:
    return _INT32.pack(value)


def int64(value: int) -> bytes:
    return _INT64.pack(value)


def string(text: str | None) -> bytes:
    """``None`` is Kafka's null string."""
    if text is None:
        return int16(-1)
    data = text.encode()
    return int16(len(data)) + data


def array(cells: Iterable[bytes]) -> bytes:
    found = list(cells)
    return int32(len(found)) + b"".join(found)


class Answer:
    """Reads an answer field by field."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.at = 0

    def int8(self) -> int:
        return self._number(_INT8)

    def int16(self) -> int:
        return self._number(_INT16)

    def int32(self) -> int:
        return self._number(_INT32)

    def int64(self) -> int:
        return self._number(_INT64)

    def string(self) -> str | None:
        size = self.int16()
        return None if size < 0 else str(self._take(size), "utf-8", "replace")

    def text(self) -> str:
        return self.string() or ""

    def blob(self) -> tuple[int, int]:
        """Where bytes begin and end; null is the same as empty."""
        size = max(0, self.int32())
        self._take(size)
        return self.at - size, self.at

    def array(self, cell: Callable[[], Cell]) -> list[Cell]:
        return [cell() for _ in range(self.int32())]

    def _number(self, form: struct.Struct) -> int:
        return int(form.unpack(self._take(form.size))[0])

    def _take(self, size: int) -> memoryview:
        end = self.at + size
        if end > len(self.data):
            raise Unreadable("Kafka's answer ends too early")
        found = self.data[self.at : end]
        self.at = end
        return found
