"""Kafka's variable-length numbers, many at once: zigzag, seven bits a byte, the lowest first."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]

LONGEST = 10


class Malformed(ValueError):
    """Bytes that are no number, or point out of the data."""


def read(data: Bytes, at: Numbers) -> tuple[Numbers, Numbers]:
    """The numbers that begin at some places, and where each of them ends."""
    first = data[at]
    value = first.astype(np.int64)
    after = at + 1
    if len(value) and int(first.max()) >= 0x80:
        value &= 0x7F
        _read_more(data, value, after, np.flatnonzero(first >= 0x80))
    return (value >> 1) & 0x7FFFFFFFFFFFFFFF ^ -(value & 1), after


def _read_more(data: Bytes, value: Numbers, after: Numbers, rows: Numbers) -> None:
    everywhere = len(rows) == len(value)
    for shift in range(7, 7 * LONGEST, 7):
        if everywhere:
            more = data[after]
            value |= (more & 0x7F).astype(np.int64) << shift
            after += 1
        else:
            more = data[after[rows]]
            value[rows] |= (more & 0x7F).astype(np.int64) << shift
            after[rows] += 1
        going_on = more >= 0x80
        count = int(np.count_nonzero(going_on))
        if not count:
            return
        if count < len(more):
            rows = (np.flatnonzero(going_on) if everywhere else rows[going_on]).astype(np.int64)
            everywhere = False
    raise Malformed("a number has too many bytes")


def read_one(data: Bytes | bytes | memoryview, at: int) -> tuple[int, int]:
    """One number, and where it ends."""
    value = shift = 0
    while True:
        byte = int(data[at])
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
        if shift >= 7 * LONGEST:
            raise Malformed("a number has too many bytes")


def write_one(value: int) -> bytes:
    """One number."""
    left = (value << 1) ^ (value >> 63)
    found = bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    found.append(left)
    return bytes(found)


def sizes(values: Numbers) -> Numbers:
    """How many bytes numbers take."""
    left = zigzag(values)
    found = np.ones(len(values), np.int64)
    limit, largest = 0x80, int(left.max()) if len(left) else 0
    for _ in range(1, LONGEST):
        if largest < limit:
            break
        found += left >= np.uint64(limit)
        limit <<= 7
    return found


def write(values: Numbers, size: Numbers, data: Bytes, at: Numbers) -> None:
    """Put numbers of these sizes to some places."""
    left = zigzag(values)
    longest = int(size.max()) if len(size) else 0
    for place in range(longest):
        last = size == place + 1
        byte = (left & np.uint64(0x7F)).astype(np.uint8)
        if last.all():
            data[at + place] = byte
            return
        data[(at + place)[~last]] = byte[~last] | np.uint8(0x80)
        data[(at + place)[last]] = byte[last]
        keep = ~last
        values_left = left[keep] >> np.uint64(7)
        left, at, size = values_left, at[keep], size[keep]


def zigzag(values: Numbers) -> npt.NDArray[np.uint64]:
    return ((values << 1) ^ (values >> 63)).view(np.uint64)
