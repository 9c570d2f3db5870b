"""Records of a topic, page by page, and on as they come."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .close_names import did_you_mean
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
    """A place in a topic, by its partitions, and everything behind it."""

    api: ConnectApi
    topic: str
    places: dict[int, int]

    @classmethod
    def since(cls, api: ConnectApi, topic: str, when: str) -> Reading:
        """From a time on: ``earliest``, ``latest`` or milliseconds."""
        offsets = _found(api, topic, lambda: api.get("topics", topic, "offsets", at=when))["offsets"]
        return cls(api, topic, dict(enumerate(offsets)))

    @classmethod
    def last(cls, api: ConnectApi, topic: str, count: int) -> Reading:
        """From ``count`` records before the end of each partition on."""
        partitions = _found(api, topic, lambda: api.get("topics", topic))["partitions"]
        return cls(api, topic, {part["partition"]: max(part["start"], part["end"] - count) for part in partitions})

    def records(self, follow: bool = False) -> Iterator[Record]:
        """What is there when this is called; with ``follow`` also what comes, for ever."""
        return self._all() if follow else self._until(self._ends())

    def _all(self) -> Iterator[Record]:
        while True:
            page = self._page()
            yield from _in_order(page["records"])
            if not page["more"]:
                time.sleep(LOOK_SECONDS)

    def _until(self, ends: Sequence[int]) -> Iterator[Record]:
        """Records before these offsets. Partitions that were read so far are left out, so that others get on."""
        more = True
        while more:
            self.places = {part: offset for part, offset in self.places.items() if offset < ends[part]}
            if not self.places:
                return
            page = self._page()
            yield from _in_order(record for record in page["records"] if record["offset"] < ends[record["partition"]])
            more = page["more"]

    def _ends(self) -> Sequence[int]:
        found: Sequence[int] = self.api.get("topics", self.topic, "offsets", at="latest")["offsets"]
        return found

    def _page(self) -> Mapping[str, Any]:
        start = ",".join(f"{partition}:{offset}" for partition, offset in self.places.items())
        page: Mapping[str, Any] = self.api.get("topics", self.topic, "records", **{"from": start, "limit": PAGE})
        following = (place.split(":") for place in page["next"].split(","))
        self.places = {int(partition): int(offset) for partition, offset in following}
        return page


def _in_order(records: Iterable[Record]) -> list[Record]:
    return sorted(records, key=lambda record: record["timestamp"])


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
            raise Missing(str(error), did_you_mean(topic, names, "penstock topics list shows all.")) from error
