"""Finding and cutting lines, the way Java's readers see them: ``\\n``, ``\\r\\n`` and ``\\r`` each end a line."""

from __future__ import annotations

import os
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

_BLOCK = 1 << 16


def last_line_end(file: BinaryIO, start: int, size: int) -> int | None:
    """Where the last complete line before ``size`` ends, terminator included; ``None`` when none ends after ``start``.

    A ``\\r`` as the very last byte does not count yet: its ``\\n`` may still come.
    """
    end = size
    while end > start:
        begin = max(start, end - _BLOCK)
        block = _read(file, begin, end)
        if end == size and block.endswith(b"\r"):
            block = block[:-1]
        found = max(block.rfind(b"\n"), block.rfind(b"\r"))
        if found >= 0:
            return begin + found + 1
        end = begin
    return None


def next_line_start(file: BinaryIO, at: int, limit: int) -> int:
    """The first position after ``at`` where a line begins, or ``limit`` when there is none before it."""
    while at < limit and (block := _read(file, at, min(at + _BLOCK, limit))):
        ends = [i for i in (block.find(b"\n"), block.find(b"\r")) if i >= 0]
        if ends:
            after = at + min(ends) + 1
            is_pair = block[min(ends)] == 0x0D and _read(file, after, after + 1) == b"\n"
            return min(after + is_pair, limit)
        at += len(block)
    return limit


def split_lines(data: bytes) -> pa.Array:
    """The lines of ``data`` as an Arrow string array; a last line without terminator counts.

    Bytes that are not UTF-8 become U+FFFD.
    """
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            data = data.decode("utf-8", "replace").encode()
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    length = len(data) - data.endswith(b"\n")
    offsets = pa.array([0, length], pa.int64()).buffers()[1]
    whole = pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(data)])
    lines = pc.split_pattern(whole, b"\n").values.cast(pa.binary())
    return pa.Array.from_buffers(pa.string(), len(lines), lines.buffers(), offset=lines.offset)


def read_range(path: str, start: int, end: int) -> bytes:
    """The bytes of a file from ``start`` to ``end``; fewer when the file has become shorter."""
    parts = []
    with open(path, "rb", buffering=0) as file:
        while start < end and (part := _read(file, start, end)):
            parts.append(part)
            start += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _read(file: BinaryIO, start: int, end: int) -> bytes:
    return os.pread(file.fileno(), end - start, start)
