"""Works for the dispatcher's tests: what an executor can do, well or badly."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from penstock.api.errors import RetriableError
from penstock.spark.daemon import how_forked
from penstock.spark.splits import Receipt


@dataclass(frozen=True)
class Count:
    """Answers with its own number."""

    number: int

    def run(self) -> Receipt:
        return Receipt(read=self.number, state={"pid": os.getpid()})


@dataclass(frozen=True)
class Named:
    """A work of a connector, for half a second."""

    connector: str

    def run(self) -> Receipt:
        time.sleep(0.5)
        return Receipt(read=1)


@dataclass(frozen=True)
class Repeat:
    """Says what it was told."""

    text: str

    def run(self) -> Receipt:
        return Receipt(state={"said": self.text.upper(), "forked": how_forked()})


@dataclass(frozen=True)
class Until:
    """Ends when a file is there."""

    file: str

    def run(self) -> Receipt:
        while not Path(self.file).exists():
            time.sleep(0.05)
        return Receipt(read=1)


@dataclass(frozen=True)
class Sleep:
    """Leaves a file when it begins and another when it got to its end."""

    folder: str
    seconds: float

    def run(self) -> Receipt:
        Path(self.folder, f"begun-{os.getpid()}").touch()
        time.sleep(self.seconds)
        Path(self.folder, "ended").touch()
        return Receipt(read=1)


@dataclass(frozen=True)
class Burn:
    """Keeps one core busy."""

    seconds: float

    def run(self) -> Receipt:
        end = time.process_time() + self.seconds
        while time.process_time() < end:
            pass
        return Receipt(read=1)


@dataclass(frozen=True)
class Fail:
    """Raises."""

    text: str
    retriable: bool = False

    def run(self) -> Receipt:
        raise RetriableError(self.text) if self.retriable else ValueError(self.text)


@dataclass(frozen=True)
class Exit:
    """Ends its process, politely or not."""

    politely: bool

    def run(self) -> Receipt:
        if self.politely:
            raise SystemExit(3)
        os._exit(3)


@dataclass(frozen=True)
class Unsendable:
    """Cannot be pickled, or leaves a receipt that cannot be."""

    as_receipt: bool

    def __reduce__(self) -> tuple[type, tuple[bool]]:
        if not self.as_receipt:
            raise TypeError("this work stays where it is")
        return Unsendable, (True,)

    def run(self) -> Receipt:
        return Receipt(state={"secret": lambda: None})
