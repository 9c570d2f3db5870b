"""Topics on a screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .screen import answers


def topics_table(used: Mapping[str, Sequence[str]]) -> None:
    """Which connector has used which topics."""
    rows = [[name, topic] for name, topics in used.items() for topic in topics]
    if rows:
        answers().table(["CONNECTOR", "TOPIC"], rows)
    else:
        answers().line("No topics have been used.")


def topic_list(topics: Sequence[Mapping[str, Any]]) -> None:
    """Topics with how much is in them."""
    rows = [
        [
            topic["name"],
            str(len(topic["partitions"])),
            str(sum(part["end"] - part["start"] for part in topic["partitions"])),
            ", ".join(f"{key}={value}" for key, value in sorted(topic["settings"].items())),
        ]
        for topic in topics
    ]
    if rows:
        answers().table(["TOPIC", "PARTITIONS", "RECORDS", "SETTINGS"], rows)
    else:
        answers().line("No topics.")
