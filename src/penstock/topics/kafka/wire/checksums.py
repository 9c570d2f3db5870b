"""CRC-32C, which guards record batches."""

from __future__ import annotations

import numpy as np

from .varints import Bytes


def crc32c(data: Bytes) -> int:
    import google_crc32c

    return int(google_crc32c.value(np.ascontiguousarray(data)))
