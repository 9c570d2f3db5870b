"""``/topics``: what topics there are, and the records in them."""

from __future__ import annotations

import base64

import msgspec

from penstock.runtime.herder import Herder
from penstock.runtime.topic_views import EARLIEST, RecordPage, TopicRecord

from .answers import Answer, ok
from .dead_letters import Data, HeaderView
from .problems import HttpProblem, bad_request
from .request import Request
from .waiting import answer_of

DEFAULT_LIMIT = 100


class RecordView(msgspec.Struct):
    """A record as it lies in its topic."""

    partition: int
    offset: int
    timestamp: int
    key: Data | None
    value: Data | None
    headers: list[HeaderView]


class RecordsView(msgspec.Struct):
    """Some records. ``next`` is ``from`` of the following page, ``more`` tells whether it has something now."""

    topic: str
    records: list[RecordView]
    next: str
    more: bool


class OffsetsAtView(msgspec.Struct):
    """Offsets of a topic at a time: those of partition 0, 1 and so on."""

    topic: str
    offsets: list[int]


async def list_topics(herder: Herder, request: Request) -> Answer:
    found = await answer_of(herder.topics())
    return ok(list(found))


async def get_topic(herder: Herder, request: Request) -> Answer:
    return ok(await answer_of(herder.topic(request.name)))


async def get_topic_offsets(herder: Herder, request: Request) -> Answer:
    found = await answer_of(herder.topic_offsets(request.name, request.first("at") or EARLIEST))
    return ok(OffsetsAtView(request.name, list(found)))


async def get_records(herder: Herder, request: Request) -> Answer:
    if not request.sees_secrets and herder.holds_secrets(request.name):
        raise HttpProblem(403, f"{request.name} holds configurations with their secrets: this needs the role admin.")
    limit = request.first("limit")
    if limit is not None and not (limit.isascii() and limit.isdigit() and len(limit) < 10):
        raise bad_request(f"limit must be a number, not '{limit[:40]}'")
    wanted = DEFAULT_LIMIT if limit is None else int(limit)
    start = request.first("from")
    if start is None:
        topic = await answer_of(herder.topic(request.name))
        places: dict[int, int | None] = {found.partition: None for found in topic.partitions}
    else:
        places = dict(_places(start))
    return ok(_page(await answer_of(herder.topic_records(request.name, places, wanted))))


def _places(text: str) -> list[tuple[int, int | None]]:
    """``0:17,1:4``: the partitions to read and the offsets to begin at; without an offset at the earliest."""
    found: list[tuple[int, int | None]] = []
    for part in text.split(","):
        partition, colon, offset = part.strip().partition(":")
        if not _is_number(partition, 9) or (colon and not _is_number(offset, 18)):
            raise bad_request(f"from must look like 0:17,1:4 (partition and offset), not '{text[:40]}'")
        found.append((int(partition), int(offset) if colon else None))
    return found


def _is_number(text: str, digits: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= digits


def _page(page: RecordPage) -> RecordsView:
    following = ",".join(f"{partition}:{offset}" for partition, offset in sorted(page.next.items()))
    return RecordsView(page.topic, [_record(record) for record in page.records], following, page.more)


def _record(record: TopicRecord) -> RecordView:
    headers = [HeaderView(name, shown(data)) for name, data in record.headers]
    return RecordView(
        record.partition, record.offset, record.timestamp, shown(record.key), shown(record.value), headers
    )


def shown(data: bytes | None) -> Data | None:
    """Text where the bytes are text."""
    if data is None:
        return None
    try:
        return Data(text=data.decode())
    except UnicodeDecodeError:
        return Data(base64=base64.b64encode(data).decode())
