"""Where the records of a batch begin.

Each begins with its length, so nobody knows where the next one is without having looked at this one. Records are often
as long as the one before, though, and whether that is so can be checked for many at once.
"""

from __future__ import annotations

import numpy as np

from .varints import Bytes, Malformed, Numbers, read_one

_STEPS = 512
"""Records that are walked one by one when the next ones differ in length."""
_PROBE = 32
_WORTH_WHILE = 16
_FEW = 256


def starts(data: Bytes, first: int, end: int, count: int) -> Numbers:
    """Where each of ``count`` records begins that fill the data from ``first`` to ``end``. Raises ``Malformed``."""
    if count <= _FEW:
        steps = _walk(data[first:end].tobytes(), 0, count)
        if steps[-1] != end - first:
            raise Malformed(f"the records end at byte {first + steps[-1]} and not at {end}")
        return np.array(steps[:-1], np.int64) + first
    found: list[Numbers] = []
    plain: bytes | None = None
    at, tried = first, _PROBE
    while count:
        same = _alike(data, at, end, min(count, tried))
        found.append(same[:-1])
        at, count = int(same[-1]), count - len(same) + 1
        tried = count if len(same) > tried else _PROBE
        if count and len(same) <= _WORTH_WHILE:
            plain = data[first:end].tobytes() if plain is None else plain
            steps = _walk(plain, at - first, min(count, _STEPS))
            found.append(np.array(steps[:-1], np.int64) + first)
            at, count = steps[-1] + first, count - len(steps) + 1
    if at != end:
        raise Malformed(f"the records end at byte {at} and not at {end}")
    return np.concatenate(found) if len(found) != 1 else found[0]


def _alike(data: Bytes, at: int, end: int, count: int) -> Numbers:
    """The starts of the records that are as long as the first one, and where the last of them ends."""
    size, after = read_one(data, at)
    stride = after - at + size
    if size <= 0 or at + stride > end:
        raise Malformed(f"a record at byte {at} is longer than its batch")
    places = at + stride * np.arange(min(count, (end - at) // stride) + 1, dtype=np.int64)
    same = np.ones(len(places) - 1, bool)
    for byte in range(after - at):
        same &= data[places[:-1] + byte] == data[at + byte]
    other = int(np.argmin(same))
    return places if same[other] else places[: other + 1]


def _walk(data: bytes, at: int, count: int) -> list[int]:
    """One record after the other. ``at`` counts from the beginning of the data."""
    places = [at]
    add = places.append
    try:
        for _ in range(count):
            byte = data[at]
            if byte < 0x80:
                at += 1 + (byte >> 1)
            else:
                more = data[at + 1]
                if more < 0x80:
                    at += 2 + (((byte & 0x7F) | (more << 7)) >> 1)
                else:
                    size, at = read_one(data, at)
                    at += max(size, 0)
            add(at)
    except IndexError:
        raise Malformed("a record is longer than its batch") from None
    if at > len(data):
        raise Malformed("a record is longer than its batch")
    return places
