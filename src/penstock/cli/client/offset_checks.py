"""Offsets of sinks that cannot be right: the worker takes them, as Kafka Connect does, and the sink reads all again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.api.config import java_pattern
from penstock.api.errors import ConfigError

from .close_names import did_you_mean
from .offset_views import Entry, is_sink, place
from .problems import Refused, Unsupported, Wrong

if TYPE_CHECKING:
    from .api import ConnectApi

_OTHER_CLUSTER = "consumer.override.bootstrap.servers"
_HINT = "A sink that stands where nothing is begins anew, where auto.offset.reset says. --force sets them all the same."


def doubts(api: ConnectApi, name: str, entries: Sequence[Entry]) -> Wrong | None:
    """What is wrong with offsets for a sink, as far as the worker tells: topics, partitions, ends.

    Offsets of sources say nothing to anybody else, and to forget one (``null``) is never wrong.
    """
    wanted = [entry for entry in entries if is_sink(entry) and entry.get("offset") is not None]
    config = api.get("connectors", name, "config") if wanted else {}
    found = [problem for entry in wanted for problem in _problems(api, name, config, entry)]
    if not found:
        return None
    return Wrong(f"Offsets of {name} that cannot be right:\n  " + "\n  ".join(found), _HINT)


def check_topics(api: ConnectApi, name: str, topics: Sequence[str]) -> None:
    """Raises :class:`Wrong` for a topic that the sink does not read."""
    config = api.get("connectors", name, "config") if topics else {}
    for topic in topics:
        if not _reads(config, topic):
            raise Wrong(f"{name} does not read topic {topic}.", _subscription(config, topic))


def _problems(api: ConnectApi, name: str, config: Mapping[str, Any], entry: Entry) -> Iterator[str]:
    topic, number = entry["partition"]["kafka_topic"], entry["partition"]["kafka_partition"]
    if not _reads(config, str(topic)):
        yield f"{place(entry)}: {name} does not read topic {topic}. {_subscription(config, str(topic))}"
        return
    if _OTHER_CLUSTER in config:
        return
    try:
        partitions = api.get("topics", topic)["partitions"]
    except Unsupported:
        return
    except Refused as error:
        if error.status != 404:
            raise
        yield f"{place(entry)}: there is no topic {topic}"
        return
    ends = {one["partition"]: one["end"] for one in partitions}
    offset = entry["offset"].get("kafka_offset")
    if number not in ends:
        yield f"{place(entry)}: topic {topic} has {len(ends)} partition{'s' * (len(ends) != 1)}, counted from 0"
    elif isinstance(offset, int) and offset > ends[number]:
        yield f"{place(entry)}: {offset} is beyond the end of the partition, {ends[number]}"


def _reads(config: Mapping[str, Any], topic: str) -> bool:
    """Whether a sink may read a topic: what only the worker understands, as a value kept elsewhere, may name any."""
    topics, pattern = config.get("topics") or "", config.get("topics.regex") or ""
    if "${" in f"{topics}{pattern}" or not (topics or pattern):
        return True
    try:
        return java_pattern(pattern).fullmatch(topic) is not None if pattern else topic in _names(topics)
    except ConfigError:
        return True


def _subscription(config: Mapping[str, Any], topic: str) -> str:
    if config.get("topics.regex"):
        return f"It reads those that match {config['topics.regex']}"
    names = _names(config["topics"])
    return did_you_mean(topic, names, f"It reads {', '.join(names)}", 1)


def _names(topics: str) -> list[str]:
    return [topic.strip() for topic in topics.split(",") if topic.strip()]
