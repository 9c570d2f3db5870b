"""CRC-32C, which guards record batches."""

from __future__ import annotations

from .varints import Bytes


def crc32c(data: Bytes, before: int = 0) -> int:
    """The checksum of some data; ``before`` is that of what lies in front of it."""
    import google_crc32c

    return int(google_crc32c.extend(before, data))
