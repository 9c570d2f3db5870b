"""The codecs of record batches, by Arrow."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODES = {"none": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}

_STREAMS = {GZIP: "gzip", LZ4: "lz4", ZSTD: "zstd"}
_XERIAL = b"\x82SNAPPY\0"
_XERIAL_HEADER_BYTES = 16
_LZ4_HEADER = bytes.fromhex("04224d18604082")
"""A frame of independent blocks (the only ones that Kafka reads) of up to 64 KB, without checksums."""
_LZ4_BLOCK_BYTES = 64 << 10
_LZ4_AS_IS = 0x80000000


class UnknownCodec(ValueError):
    """A batch says it is compressed with something else."""


def decompress(code: int, data: memoryview) -> Any:
    """The records of a batch, as bytes or an Arrow buffer."""
    if code == SNAPPY:
        return _unsnap(data.cast("B"))
    if code not in _STREAMS:
        raise UnknownCodec(f"Unknown compression type id: {code}")
    with pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(data)), _STREAMS[code]) as stream:
        return stream.read()


def _unsnap(data: memoryview) -> Any:
    """Snappy has no frames of its own: Java's clients have theirs, all others do without."""
    if bytes(data[: len(_XERIAL)]) != _XERIAL:
        return _unsnap_block(data)
    blocks, at = [], _XERIAL_HEADER_BYTES
    while at < len(data):
        (size,) = struct.unpack_from(">i", data, at)
        blocks.append(_unsnap_block(data[at + 4 : at + 4 + size]))
        at += 4 + size
    return b"".join(blocks)


def _unsnap_block(data: memoryview) -> Any:
    size = shift = 0
    for byte in data[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return pa.decompress(pa.py_buffer(data), decompressed_size=size, codec="snappy")


def compressor(code: int) -> Callable[[Any], Any]:
    """What makes the records of a batch smaller."""
    if code == LZ4:
        return _lz4
    codec = pa.Codec({GZIP: "gzip", SNAPPY: "snappy", ZSTD: "zstd"}[code])
    return codec.compress  # type: ignore[no-any-return]


def _lz4(data: Any) -> bytes:
    view = memoryview(data)
    parts = [_LZ4_HEADER]
    for start in range(0, len(view), _LZ4_BLOCK_BYTES):
        block = view[start : start + _LZ4_BLOCK_BYTES]
        smaller = pa.compress(pa.py_buffer(block), codec="lz4_raw", asbytes=True)
        if len(smaller) < len(block):
            parts += [struct.pack("<I", len(smaller)), smaller]
        else:
            parts += [struct.pack("<I", len(block) | _LZ4_AS_IS), bytes(block)]
    return b"".join([*parts, bytes(4)])
