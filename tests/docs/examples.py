"""The examples in the help of the command line, as its reference shows them."""

from __future__ import annotations

import re

from tests.docs.blocks import ROOT, Block

NAME = "docs/reference/cli.md"
PAGE = ROOT / NAME

OF_WORKERS = (
    "penstock run",
    "penstock standalone",
    "penstock distributed",
    "penstock takeover",
    "penstock migrate",
    "penstock offsets restore",
)
"""Verbs that start workers, or need more than one, or one of a cluster."""


def examples() -> dict[str, list[str]]:
    """The examples of each verb, without the remarks beside some of them."""
    found: dict[str, list[str]] = {}
    verb, inside = "", False
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            verb = line.removeprefix("## ")
        elif line.startswith("```"):
            inside = not inside
        elif inside and line.strip():
            found.setdefault(verb, []).append(re.sub(r"(?<=\S) {4,}\S.*$", "", line))
    return found


def block_of(example: str) -> Block:
    """An example as a block of its page, to be run."""
    return Block(NAME, 0, "sh", example)
