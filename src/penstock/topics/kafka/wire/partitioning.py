"""Where Kafka's default partitioner sends a record with a key."""

from __future__ import annotations

_SEED, _MIX, _WORD = 0x9747B28C, 0x5BD1E995, 0xFFFFFFFF


def partition_of(key: bytes, count: int) -> int:
    """The partition of a topic with ``count`` of them."""
    return (murmur2(key) & 0x7FFFFFFF) % count


def murmur2(key: bytes) -> int:
    """For few keys; records go through columns."""
    found = _SEED ^ len(key)
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * _MIX & _WORD
        word = (word ^ word >> 24) * _MIX & _WORD
        found = found * _MIX & _WORD ^ word
    if whole < len(key):
        found = (found ^ int.from_bytes(key[whole:], "little")) * _MIX & _WORD
    found = (found ^ found >> 13) * _MIX & _WORD
    return found ^ found >> 15
