"""Memory that the machine hands out before a pass, and not in the middle of it."""

from __future__ import annotations

from pathlib import Path

_BLOCK = bytes(4 << 20)


def touch(folder: Path, size: int) -> None:
    """Use so many bytes for pages of a file that is then gone.

    The memory of a virtual machine that was free for a while is its host's: whoever uses it first waits for it, up to
    thirty times as long as writing a page takes otherwise. That says nothing about the systems that are measured.
    """
    scratch = folder / ".touched"
    with scratch.open("wb", buffering=0) as file:
        for _ in range(size // len(_BLOCK) + 1):
            file.write(_BLOCK)
    scratch.unlink()
