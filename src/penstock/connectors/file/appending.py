"""Appending to a file so that a repeated append after a crash leaves no duplicate."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator

Block = bytes | memoryview
"""A piece of what is to be appended."""

_COMPARED_AT_ONCE = 1 << 20
_BEGUN_AT_ONCE = 4 << 20
_BEGIN_TO_WRITE = 2
"""Linux's ``SYNC_FILE_RANGE_WRITE``."""

_sync = getattr(os, "fdatasync", os.fsync)


def append(path: str, blocks: Iterator[Block], committed: int | None) -> int:
    """Append blocks of bytes, wait until the disk has them, and return the length up to which the file is ours.

    ``committed`` is the length after the last append that counted. If the bytes after it are the beginning of what is
    to be appended now (or all of it and more of the same run), that part is already there and is not written again.
    Any other bytes there belong to somebody else: they stay and the blocks go after them.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        size = os.fstat(descriptor).st_size
        if committed is None or size <= committed:
            return _write_all(descriptor, blocks, size)
        return _append_after(descriptor, blocks, committed, size)
    finally:
        os.close(descriptor)


def _append_after(descriptor: int, blocks: Iterator[Block], committed: int, size: int) -> int:
    """Skip what the file already has from ``committed`` on, write the rest."""
    position = committed
    skipped: list[Block] = []
    for block in blocks:
        known = min(len(block), size - position)
        if not _same(descriptor, position, block[:known]):
            return _write_all(descriptor, _chain(skipped, block, blocks), size)
        position += known
        if known < len(block):
            return _write_all(descriptor, _chain([], block[known:], blocks), size)
        skipped.append(block)
    return position


def _chain(first: list[Block], block: Block, rest: Iterator[Block]) -> Iterator[Block]:
    yield from first
    yield block
    yield from rest


def _same(descriptor: int, position: int, expected: Block) -> bool:
    for start in range(0, len(expected), _COMPARED_AT_ONCE):
        part = bytes(expected[start : start + _COMPARED_AT_ONCE])
        if os.pread(descriptor, len(part), position + start) != part:
            return False
    return True


def _write_all(descriptor: int, blocks: Iterator[Block], size: int) -> int:
    begun = written = size
    for block in blocks:
        view = memoryview(block)
        while view:
            count = os.write(descriptor, view)
            view, written = view[count:], written + count
        if written - begun >= _BEGUN_AT_ONCE:
            _begin_sync(descriptor, begun, written - begun)
            begun = written
    _sync(descriptor)
    return os.fstat(descriptor).st_size


def _sync_beginner() -> Callable[[int, int, int], object]:
    """What makes the disk begin with a part of a file, so that there is little to wait for at the end.

    Only a hint: where a system has no such call, or it fails, the sync at the end does all the work.
    """
    call = getattr(ctypes.CDLL(None), "sync_file_range", None)
    if call is None:
        return lambda descriptor, start, size: None
    call.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    return lambda descriptor, start, size: call(descriptor, start, size, _BEGIN_TO_WRITE)


_begin_sync = _sync_beginner()
