"""Memory that the machine hands out before a pass, and not in the middle of it."""

from __future__ import annotations

import mmap


def touch(size: int) -> None:
    """Use so many bytes for a moment.

    The memory of a virtual machine that was free for a while is its host's: whoever uses it first waits for it, up to
    twenty times as long as a file's page takes otherwise. That says nothing about the systems that are measured.
    """
    if not size:
        return
    with mmap.mmap(-1, size) as area, memoryview(area) as view, view[:: mmap.PAGESIZE] as pages:
        pages[:] = bytes(len(pages))
