"""Making cases smaller as long as they still show a difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from odd_values import form, read, write

from tests.records.casefile import to_bytes

Case = dict[str, Any]
Compare = Callable[[list[Case]], list[tuple[Case, str]]]
MOST = 80
"""Candidates of one case in a round."""


def smaller(cases: list[Case], compare: Compare, rounds: int) -> list[tuple[Case, str]]:
    """The cases, each as small as the rounds allow; one comparison a round serves all of them."""
    current = {case["name"]: case for case in cases}
    if not cases:
        return []
    for _ in range(rounds):
        candidates = [
            {**candidate, "name": f"{name}\n{index}"}
            for name, case in current.items()
            for index, candidate in zip(range(MOST), _candidates(case), strict=False)
        ]
        best: dict[str, Case] = {}
        for case, _ in compare(candidates) if candidates else []:
            name = case["name"].partition("\n")[0]
            if name not in best or _size(case) < _size(best[name]):
                best[name] = {**case, "name": name}
        if not best:
            break
        current |= best
    return compare(list(current.values()))


def _size(case: Case) -> int:
    return len(str({key: case[key] for key in ("config", "in", "out", "records")}))


def _candidates(case: Case) -> Iterator[Case]:
    records = case["records"]
    if len(records) > 1:
        yield from ({**case, "records": [record]} for record in records)
        return
    plain = {"topic": "orders", "partition": 0, "offset": 0, "timestamp": 1700000000123, "key": None, "headers": []}
    for part, value in plain.items():
        if records[0][part] != value and (part != "partition" or case["kind"] == "sink"):
            yield _with(case, **{part: value})
    for key in case["config"]:
        if not key.endswith(".type"):
            yield {**case, "config": {other: value for other, value in case["config"].items() if other != key}}
    links = case["config"].get("transforms", "").split(",")
    if len(links) > 1:
        for link in links:
            yield _without_link(case, link, links)
    for side in ("in", "out"):
        for key in case[side]:
            if key.count(".") > 1:
                yield {**case, side: {other: value for other, value in case[side].items() if other != key}}
    for part in ("key", "value"):
        yield from (_with(case, **{part: content}) for content in _smaller_bytes(records[0][part]))
    headers = records[0]["headers"]
    for index, (name, content) in enumerate(headers):
        yield _with(case, headers=headers[:index] + headers[index + 1 :])
        for less in _smaller_bytes(content):
            yield _with(case, headers=[*headers[:index], [name, less], *headers[index + 1 :]])


def _with(case: Case, **parts: Any) -> Case:
    return {**case, "records": [{**case["records"][0], **parts}]}


def _without_link(case: Case, link: str, links: list[str]) -> Case:
    prefix = f"transforms.{link.strip()}."
    config = {key: value for key, value in case["config"].items() if not key.startswith(prefix)}
    return {**case, "config": {**config, "transforms": ",".join(other for other in links if other != link)}}


def _smaller_bytes(content: Any) -> Iterator[Any]:
    data = to_bytes(content)
    if not data:
        return
    try:
        value = read(data.decode("utf-8"))
    except (ValueError, RecursionError):
        step = max(1, len(data) // 16)
        for at in range(0, len(data), step):
            yield form(data[:at] + data[at + step :])
        return
    for less in _smaller_values(value):
        yield form(write(less).encode("utf-8", "surrogatepass"))


def _smaller_values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for name in value:
            yield {other: member for other, member in value.items() if other != name}
        for name, member in value.items():
            yield from ({**value, name: less} for less in _smaller_values(member))
    elif isinstance(value, list):
        for index in range(len(value)):
            yield value[:index] + value[index + 1 :]
        for index, item in enumerate(value):
            yield from ([*value[:index], less, *value[index + 1 :]] for less in _smaller_values(item))
