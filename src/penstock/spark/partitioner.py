"""Which partition of a topic a record goes to, decided for whole columns at once."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.api.errors import PluginError

STICKY_RECORDS = 4096
"""So many records without a key go to one partition before the next one takes over."""

_SEED = 0x9747B28C
_MIX = np.uint32(0x5BD1E995)
_SHIFT = np.uint32(24)


class PartitionError(PluginError):
    """A record names a partition that its topic does not have."""

    def __init__(self, topic: str, partition: int, count: int) -> None:
        super().__init__(
            f"A record names partition {partition} of topic {topic}, which has {count} partition(s), numbered from 0. "
            f"Add partitions to the topic, or leave the record's partition empty."
        )


def assign(
    topic: str,
    count: int,
    keys: pa.Array,
    explicit: pa.Array | None = None,
    first: Callable[[int], int] = random.randrange,
) -> npt.NDArray[np.int32]:
    """The partition of each record of a topic with ``count`` partitions.

    A record's own (``explicit``) partition wins; else a record with key bytes goes where Kafka's default
    partitioner sends it; else partitions take turns, ``STICKY_RECORDS`` at a time, from ``first(count)`` on.
    """
    chosen = np.zeros(len(keys), dtype=np.int32)
    free = np.ones(len(keys), dtype=bool)
    if explicit is not None and explicit.null_count < len(explicit):
        free = np.asarray(explicit.is_null().to_numpy(zero_copy_only=False))
        named = explicit.drop_null().to_numpy(zero_copy_only=False)
        wrong = (named < 0) | (named >= count)
        if wrong.any():
            raise PartitionError(topic, int(named[wrong][0]), count)
        chosen[~free] = named
    if count == 1:
        return chosen
    keyed = free.copy() if keys.null_count == 0 else free & np.asarray(keys.is_valid().to_numpy(zero_copy_only=False))
    if keyed.any():
        hashes = murmur2(keys if keyed.all() else keys.filter(pa.array(keyed)))
        chosen[keyed] = (hashes & np.uint32(0x7FFFFFFF)) % np.uint32(count)
    keyless = free & ~keyed
    turns = np.arange(int(keyless.sum())) // STICKY_RECORDS
    chosen[keyless] = (turns + first(count)) % count
    return chosen


def murmur2(keys: pa.Array) -> npt.NDArray[np.uint32]:
    """Kafka's murmur2 of each value of a binary array without nulls, as unsigned 32-bit numbers."""
    keys = keys.cast(pa.binary())
    buffers = keys.buffers()
    offsets = np.frombuffer(buffers[1], dtype=np.int32)[keys.offset : keys.offset + len(keys) + 1].astype(np.int64)
    starts, lengths = offsets[:-1], np.diff(offsets)
    raw = np.frombuffer(buffers[2], dtype=np.uint8) if buffers[2] is not None else np.zeros(0, dtype=np.uint8)
    data = raw.astype(np.uint32)
    hashes: npt.NDArray[np.uint32] = np.bitwise_xor(np.uint32(_SEED), lengths.astype(np.uint32))
    with np.errstate(over="ignore"):
        _whole_words(hashes, data, starts, lengths)
        _last_bytes(hashes, data, starts, lengths)
        hashes ^= hashes >> np.uint32(13)
        hashes *= _MIX
        hashes ^= hashes >> np.uint32(15)
    return hashes


def _whole_words(
    hashes: npt.NDArray[np.uint32],
    data: npt.NDArray[np.uint32],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
) -> None:
    words = lengths // 4
    for step in range(int(words.max(initial=0))):
        rows = np.flatnonzero(words > step)
        at = starts[rows] + 4 * step
        word = data[at] | data[at + 1] << 8 | data[at + 2] << 16 | data[at + 3] << 24
        word *= _MIX
        word ^= word >> _SHIFT
        word *= _MIX
        hashes[rows] = (hashes[rows] * _MIX) ^ word


def _last_bytes(
    hashes: npt.NDArray[np.uint32],
    data: npt.NDArray[np.uint32],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
) -> None:
    left = lengths % 4
    tail = starts + lengths - left
    for extra in (3, 2, 1):
        rows = np.flatnonzero(left >= extra)
        hashes[rows] ^= data[tail[rows] + extra - 1] << np.uint32(8 * (extra - 1))
    rows = np.flatnonzero(left > 0)
    hashes[rows] *= _MIX
