"""The order in which a Java HashMap walks through its keys."""

from __future__ import annotations

from collections.abc import Collection


def hash_map_order(keys: Collection[str]) -> list[str]:
    """The keys, given in the order in which they were put into a fresh map, in the order of its buckets."""
    buckets = 16
    while len(keys) > buckets * 3 // 4:
        buckets *= 2
    return sorted(keys, key=lambda key: _spread(key) & (buckets - 1))


def _spread(text: str) -> int:
    code = 0
    data = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(data), 2):
        code = (code * 31 + (data[at] << 8 | data[at + 1])) & 0xFFFFFFFF
    return code ^ (code >> 16)
