"""Orders as JSON, a line each, and what a file sink must write for them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BAD_LINE = b'{"id":17,"name":"customer-17","email":broken\n'
BAD_EVERY = 100
_LINES_A_BLOCK = 20_000
_CHECKED_CLOSELY = 1000
_NUMBER = re.compile(r"[{ ]id=(\d+)[,}]")


@dataclass(frozen=True, slots=True)
class Orders:
    """A file of orders. ``sizes`` are the bytes that a sink writes for each way of changing them."""

    path: Path
    good: int
    bad: int
    bytes: int
    as_they_are: int
    changed: int

    @property
    def count(self) -> int:
        return self.good + self.bad


def write_orders(path: Path, total_bytes: int, with_bad: bool) -> Orders:
    """Orders of about 100 bytes; with bad ones, every hundredth line is no JSON."""
    good = bad = size = as_they_are = changed = 0
    with path.open("wb") as file:
        while size < total_bytes:
            block = []
            for number in range(good + bad, good + bad + _LINES_A_BLOCK):
                if with_bad and number % BAD_EVERY == BAD_EVERY // 2:
                    block.append(BAD_LINE)
                    bad += 1
                    continue
                order = Order(number)
                block.append(order.json())
                good += 1
                as_they_are += len(order.line(changed=False)) + 1
                changed += len(order.line(changed=True)) + 1
            text = b"".join(block)
            file.write(text)
            size += len(text)
    return Orders(path, good, bad, size, as_they_are, changed)


@dataclass(frozen=True, slots=True)
class Order:
    """One of them; all of it follows from its number."""

    number: int

    @property
    def _customer(self) -> str:
        return f"customer-{self.number % 1000}"

    @property
    def _amount(self) -> float:
        return self.number % 977 * 1.25

    @property
    def _active(self) -> str:
        return "true" if self.number % 2 == 0 else "false"

    def json(self) -> bytes:
        return (
            f'{{"id":{self.number},"name":"{self._customer}","email":"user{self.number}@example.com",'
            f'"amount":{self._amount},"active":{self._active},"note":"some note"}}\n'
        ).encode()

    def line(self, changed: bool) -> str:
        """The text of the map in Java, but for the order of its entries, before or after ``TRANSFORMS``."""
        name, email, last = ("name", f"user{self.number}@example.com", "note=some note")
        if changed:
            name, email, last = ("customer", "***", "source=bench")
        return (
            f"{{id={self.number}, {name}={self._customer}, email={email}, amount={self._amount}, "
            f"active={self._active}, {last}}}"
        )


TRANSFORMS = {
    "transforms": "insert,replace,mask",
    "transforms.insert.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.insert.static.field": "source",
    "transforms.insert.static.value": "bench",
    "transforms.replace.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
    "transforms.replace.exclude": "note",
    "transforms.replace.renames": "name:customer",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.mask.fields": "email",
    "transforms.mask.replacement": "***",
}


def check_lines(output: Path, orders: Orders, changed: bool) -> None:
    """Every good order must be there, in order; the first ones entry by entry, which may stand in any order."""
    numbers = _good_numbers(orders)
    with output.open() as file:
        for at, (line, number) in enumerate(itertools.zip_longest(file, numbers)):
            found = _NUMBER.search(line or "")
            if found is None or int(found[1]) != number:
                raise RuntimeError(f"{output}: line {at} is {line!r} instead of order {number}")
            if at < _CHECKED_CLOSELY and _entries(line) != _entries(Order(number).line(changed)):
                raise RuntimeError(f"{output}: {line.strip()} is not what order {number} should be")


def _good_numbers(orders: Orders) -> Iterator[int]:
    return (n for n in range(orders.count) if not orders.bad or n % BAD_EVERY != BAD_EVERY // 2)


def _entries(line: str) -> list[str]:
    return sorted(line.strip().strip("{}").split(", "))
