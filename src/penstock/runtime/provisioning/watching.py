"""Notices that pipeline files have changed: by what the file system says of them, asked again and again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock.runtime.pipeline_files import files_in

POLL_SECONDS = 0.5

Fingerprint = tuple[tuple[str, int, int, int], ...]


def fingerprint(paths: Sequence[Path]) -> Fingerprint:
    """Another one when a file came, went or was written. Paths that cannot be read count as empty."""
    found = []
    for path in paths:
        try:
            for file in files_in(path):
                state = file.stat()
                found.append((str(file), state.st_mtime_ns, state.st_size, state.st_ino))
        except OSError:
            continue
    return tuple(found)


class Watch:
    """Tells when files have changed and then kept still for one look, so that half-written ones are not used."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._applied = self._last = fingerprint(paths)

    def changed(self) -> bool:
        """Look again. True once for each change."""
        now = fingerprint(self._paths)
        still = now == self._last
        self._last = now
        if not still or now == self._applied:
            return False
        self._applied = now
        return True
