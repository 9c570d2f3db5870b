"""Records of a topic, page by page, and on as they come."""

from __future__ import annotations

import difflib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .formats import Format, as_yaml
from .problems import Missing, Refused
from .screen import answers
from .times import time_text

if TYPE_CHECKING:
    from .api import ConnectApi

PAGE = 500
LOOK_SECONDS = 0.5

Record = Mapping[str, Any]


@dataclass
class Reading:
    """A place in a topic, and everything behind it."""

    api: ConnectApi
    topic: str
    place: str

    @classmethod
    def since(cls, api: ConnectApi, topic: str, when: str) -> Reading:
        """From a time on: ``earliest``, ``latest`` or milliseconds."""
        offsets = _found(api, topic, lambda: api.get("topics", topic, "offsets", at=when))["offsets"]
        return cls(api, topic, _place(dict(enumerate(offsets))))

    @classmethod
    def last(cls, api: ConnectApi, topic: str, count: int) -> Reading:
        """From ``count`` records before the end of each partition on."""
        partitions = _found(api, topic, lambda: api.get("topics", topic))["partitions"]
        starts = {part["partition"]: max(part["start"], part["end"] - count) for part in partitions}
        return cls(api, topic, _place(starts))

    def records(self, follow: bool = False) -> Iterator[Record]:
        """What is there; with ``follow`` also what comes, for ever."""
        while True:
            page = self.api.get("topics", self.topic, "records", **{"from": self.place, "limit": PAGE})
            self.place = page["next"]
            yield from sorted(page["records"], key=lambda record: record["timestamp"])
            if not page["more"]:
                if not follow:
                    return
                time.sleep(LOOK_SECONDS)


def text_of(data: Mapping[str, str] | None) -> str | None:
    """Bytes of a record as text, or in base64 with a mark."""
    if data is None:
        return None
    return data["text"] if "text" in data else f"base64:{data['base64']}"


def print_record(record: Record, output: Format) -> None:
    """One record on standard output, at once."""
    if output is Format.TEXT:
        place = f"{record['partition']}-{record['offset']}"
        key = text_of(record["key"])
        answers().line(
            f"{time_text(record['timestamp'])}  {place:<8}  {'' if key is None else f'{key}  '}"
            f"{'null' if record['value'] is None else text_of(record['value'])}"
        )
    elif output is Format.YAML:
        print("---\n" + as_yaml(dict(record)), end="")
    else:
        print(json.dumps(record, ensure_ascii=False))
    sys.stdout.flush()


def _found(api: ConnectApi, topic: str, question: Callable[[], Any]) -> Any:
    """The answer; a topic that is not there is told with those that are."""
    with api.only_penstock("Reading topics", "kafka-console-consumer.sh reads the topics of a Kafka."):
        try:
            return question()
        except Refused as error:
            if error.status != 404:
                raise
            names = [one["name"] for one in api.get("topics")]
            close = difflib.get_close_matches(topic, names, 3)
            hint = f"Did you mean {' or '.join(close)}?" if close else "penstock topics list shows all."
            raise Missing(str(error), hint) from error


def _place(offsets: Mapping[int, int]) -> str:
    return ",".join(f"{partition}:{offset}" for partition, offset in offsets.items())
