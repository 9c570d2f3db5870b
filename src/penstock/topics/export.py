"""A copy of a topic for other programs, with the newest records that no file has yet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .embedded_io import EmbeddedReader
from .errors import TopicError
from .interface import Range
from .segments import new_file, with_offsets, write_rows


def export_topic(reader: EmbeddedReader, ranges: Sequence[Range], target: Path) -> int:
    """Write ranges as ``partition=<n>/records.parquet`` with a column ``offset``; the number of records."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise TopicError(f"{target} exists and is not an empty folder. Name a new folder to export to.")
    target.mkdir(parents=True, exist_ok=True)
    count = 0
    for rows in ranges:
        folder = target / f"partition={rows.partition}"
        folder.mkdir()
        with new_file(folder / "records.parquet", explicit=True) as writer:
            for piece in rows.pieces:
                table = with_offsets(piece, reader.read_piece(rows, piece))
                write_rows(writer, table)
                count += table.num_rows
    return count
