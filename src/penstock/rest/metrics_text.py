"""Metrics in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"


@dataclass
class Family:
    """One metric with its samples. ``kind`` is ``gauge`` or ``counter``."""

    name: str
    kind: str
    help: str
    samples: list[tuple[Mapping[str, str], float]] = field(default_factory=list)

    def add(self, value: float, **labels: object) -> None:
        """A sample; labels without a value are left out."""
        self.samples.append(({key: str(given) for key, given in labels.items() if given is not None}, value))

    def text(self) -> str:
        lines = [f"# HELP {self.name} {_escaped(self.help)}", f"# TYPE {self.name} {self.kind}"]
        lines += [f"{self.name}{_labels(labels)} {_number(value)}" for labels, value in self.samples]
        return "\n".join(lines) + "\n"


def exposition(families: list[Family]) -> bytes:
    """All families that have samples. Text that is not valid Unicode is replaced."""
    return "".join(family.text() for family in families if family.samples).encode("utf-8", "replace")


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{key}="{_quoted(value)}"' for key, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
