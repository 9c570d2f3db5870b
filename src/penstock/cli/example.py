"""The built-in pipelines of ``penstock run``: something to look at within a minute, and something to play with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.runtime.requests import CreateRequest

NOTES = "notes.txt"
NOTES_COPY = "notes-copy.txt"
ORDERS = "orders.jsonl"


def prepare_example(folder: Path) -> list[CreateRequest]:
    """Make the example's files in ``folder`` and describe its connectors.

    A generator writes orders to a topic and a file sink writes them out; a file source follows a file of notes that
    the user may append to, and another file sink copies them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    notes = folder / NOTES
    if not notes.exists():
        notes.write_text("Append a line to this file and it travels through a topic to notes-copy.txt.\n")
    lines = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
    return [
        _connector("example-orders", "Generator", {"topic": "orders", "rate": "5"}),
        _connector("example-orders-out", "FileStreamSink", {"topics": "orders", "file": str(folder / ORDERS), **lines}),
        _connector("example-notes", "FileStreamSource", {"topic": "notes", "file": str(notes), **lines}),
        _connector(
            "example-notes-out", "FileStreamSink", {"topics": "notes", "file": str(folder / NOTES_COPY), **lines}
        ),
    ]


def example_hints(url: str, folder: Path) -> list[str]:
    """Commands that show the example at work."""
    return [
        f"tail -f {folder / ORDERS}",
        f"echo 'hello' >> {folder / NOTES}; sleep 1; tail -n 1 {folder / NOTES_COPY}",
        f"curl '{url}/connectors?expand=status'",
        f"curl -X PUT {url}/connectors/example-orders/pause",
        f"curl {url}/connectors/example-orders-out/offsets",
    ]


def _connector(name: str, plugin: str, config: Mapping[str, str]) -> CreateRequest:
    return CreateRequest(name, {"name": name, "connector.class": plugin, **config})
