"""Other offsets for a connector: what they would be, and carrying it out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .documents import NotReadable, native_values
from .offset_checks import check_topics
from .offset_views import Entry
from .problems import Refused, Unsupported, Wrong
from .states import state, status_of
from .waiting import GOALS, STOPPED, wait_for

if TYPE_CHECKING:
    from .api import ConnectApi

T = TypeVar("T")

_LOOK = 'They look like {"offsets": [{"partition": {…}, "offset": {…}}]}, as penstock offsets get -o json shows.'


@dataclass(frozen=True)
class Move:
    """The offsets of a connector now, and those that should change. ``reset`` forgets all of them.

    With ``doubts`` it is not carried out.
    """

    name: str
    before: Sequence[Entry]
    after: Sequence[Entry]
    reset: bool = False
    doubts: Wrong | None = None


def file_entries(file: Path) -> list[Entry]:
    """Offsets of a file, in the shape of the API. Raises :class:`Wrong`."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        content = native_values(text, str(file))
    except (OSError, UnicodeDecodeError, NotReadable) as error:
        raise Wrong(f"Cannot read offsets from {file}: {error}", _LOOK) from error
    entries = content.get("offsets") if isinstance(content, Mapping) else content
    if not isinstance(entries, list) or not entries or not all(_is_entry(entry) for entry in entries):
        raise Wrong(f"{file} holds no offsets.", _LOOK)
    return entries


def entries_of(topic: str | None, partition: str | None, offset: str | None) -> Entry:
    """One offset from options. Raises :class:`Wrong`."""
    if partition is None or offset is None:
        raise Wrong("Which offset?", "Give --file, or --partition and --offset (and --topic for a sink).")
    if topic is None:
        return {"partition": _json("--partition", partition), "offset": _json("--offset", offset)}
    if not partition.isdigit() or not (offset.isdigit() or offset == "null"):
        raise Wrong("--partition and --offset of a topic are numbers.")
    place = {"kafka_topic": topic, "kafka_partition": int(partition)}
    return {"partition": place, "offset": None if offset == "null" else {"kafka_offset": int(offset)}}


def forgotten(name: str, before: Sequence[Entry]) -> Move:
    """All offsets of a connector reset."""
    return Move(name, before, [{"partition": entry["partition"], "offset": None} for entry in before], reset=True)


def rewound(api: ConnectApi, name: str, when: str, topics: Sequence[str]) -> Move:
    """The offsets of a connector at ``earliest``, ``latest`` or milliseconds. Raises where that cannot be known."""
    before = api.get("connectors", name, "offsets")["offsets"]
    if api.get("connectors", name).get("type") != "sink":
        if when != "earliest" or topics:
            raise Unsupported(
                f"{name} is a source: only it knows what its offsets mean, so they cannot be found by time or topic.",
                f"penstock offsets get {name} shows them, penstock offsets set {name} changes them.",
            )
        return forgotten(name, before)
    check_topics(api, name, topics)
    if not api.is_penstock:
        return _at_start(api, name, before, when, topics)
    after: list[Entry] = []
    for topic in topics or sorted(_topics(api, name, before)):
        for number, offset in enumerate(api.get("topics", topic, "offsets", at=when)["offsets"]):
            place = {"kafka_topic": topic, "kafka_partition": number}
            after.append({"partition": place, "offset": {"kafka_offset": offset}})
    if not after:
        raise Wrong(f"{name} has read no topic yet.", "There is nothing to rewind.")
    return Move(name, before, after)


def moved(api: ConnectApi, move: Move, stop: bool, timeout: float) -> str:
    """Carry it out, stopping the connector around it if asked to; the message of the worker. Raises its doubts."""
    if move.doubts is not None:
        raise move.doubts
    return while_stopped(api, move.name, stop, timeout, lambda: _written(api, move))


def while_stopped(api: ConnectApi, name: str, stop: bool, timeout: float, change: Callable[[], T]) -> T:
    """Do something for which a connector must be stopped: with ``stop`` it is, and taken back to its state after."""
    was = state(status_of(api, name))
    if not stop or was == "STOPPED":
        return change()
    back, goal = ("pause", "PAUSED") if was == "PAUSED" else ("resume", "RUNNING")
    api.put("connectors", name, "stop")
    try:
        wait_for(api, name, STOPPED, timeout)
        found = change()
    finally:
        api.put("connectors", name, back)
    wait_for(api, name, GOALS[goal], timeout)
    return found


def _written(api: ConnectApi, move: Move) -> str:
    if move.reset:
        answer = api.delete("connectors", move.name, "offsets")
    else:
        answer = api.patch("connectors", move.name, "offsets", body={"offsets": list(move.after)})
    return str((answer or {}).get("message", ""))


def _at_start(api: ConnectApi, name: str, before: Sequence[Entry], when: str, topics: Sequence[str]) -> Move:
    """Kafka Connect forgets a position when it is set to null; the consumer then begins as it is configured to."""
    if when != "earliest":
        api.require_penstock(
            f"Rewinding to {when}", "kafka-consumer-groups.sh --reset-offsets does it while the connector is stopped."
        )
    if not topics:
        return forgotten(name, before)
    places = [entry["partition"] for entry in before if entry["partition"]["kafka_topic"] in topics]
    return Move(name, before, [{"partition": place, "offset": None} for place in places])


def _topics(api: ConnectApi, name: str, before: Sequence[Entry]) -> set[str]:
    known = {topic["name"] for topic in api.get("topics")}
    used = {entry["partition"]["kafka_topic"] for entry in before}
    config = api.get("connectors", name, "config")
    named = {topic.strip() for topic in (config.get("topics") or "").split(",") if topic.strip()}
    try:
        active = set(api.get("connectors", name, "topics").get(name, {}).get("topics", ()))
    except Refused:
        active = set()
    dead = config.get("errors.deadletterqueue.topic.name")
    return ((used | named | active) & known) - {dead}


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, Mapping)
        and isinstance(entry.get("partition"), Mapping)
        and isinstance(entry.get("offset"), (Mapping, type(None)))
    )


def _json(option: str, text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Wrong(f"{option} of a source is JSON: {error}", f"{option} '{{\"position\": 0}}'") from error
    if found is not None and not isinstance(found, Mapping):
        raise Wrong(f"{option} of a source is a JSON object, not {text}.")
    return found
