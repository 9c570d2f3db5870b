"""A topic as a file: lines of JSON, or Parquet with the bytes as they are."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

from .problems import Wrong
from .topic_reading import Reading, Record, text_of

ROWS = 10_000


def export_records(reading: Reading, target: Path, parquet: bool, force: bool) -> int:
    """Write what is there now; the number of records. A file appears when it is complete, or not at all."""
    if str(target) == "-":
        if parquet:
            raise Wrong("Parquet needs a file.", "Name one, or use --format jsonl.")
        return _write_lines(reading.records(), sys.stdout)
    if target.exists() and not force:
        raise Wrong(f"{target} is there already.", "--force writes over it.")
    draft = target.with_name(f".{target.name}.part")
    try:
        if parquet:
            written = _write_parquet(reading.records(), draft)
        else:
            with draft.open("w", encoding="utf-8") as file:
                written = _write_lines(reading.records(), file)
        os.replace(draft, target)
    except OSError as error:
        raise Wrong(f"Cannot write {target}: {error}") from error
    finally:
        draft.unlink(missing_ok=True)
    return written


def _write_lines(records: Iterator[Record], file: IO[str]) -> int:
    count = 0
    for record in records:
        headers = {header["key"]: text_of(header["value"]) for header in record["headers"]}
        line = {**record, "key": text_of(record["key"]), "value": text_of(record["value"]), "headers": headers}
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
        count += 1
    return count


def _write_parquet(records: Iterator[Record], path: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    schema = pa.schema(
        [
            ("partition", pa.int32()),
            ("offset", pa.int64()),
            ("timestamp", pa.timestamp("ms", tz="UTC")),
            ("key", pa.binary()),
            ("value", pa.binary()),
            ("headers", pa.list_(header)),
        ]
    )
    count = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while rows := [_row(record) for record in islice(records, ROWS)]:
            writer.write_table(pa.Table.from_pylist(rows, schema))
            count += len(rows)
    return count


def _row(record: Record) -> dict[str, Any]:
    headers: Sequence[Mapping[str, Any]] = record["headers"]
    return {
        **record,
        "key": _bytes(record["key"]),
        "value": _bytes(record["value"]),
        "headers": [{"key": header["key"], "value": _bytes(header["value"])} for header in headers],
    }


def _bytes(data: Mapping[str, str] | None) -> bytes | None:
    if data is None:
        return None
    return data["text"].encode() if "text" in data else base64.b64decode(data["base64"])
