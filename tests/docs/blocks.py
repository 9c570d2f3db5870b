"""The fenced blocks of a page: what they are, what comments beside them say, and the commands in them.

An HTML comment right above a block tells the tests about it, unseen by readers:

- ``<!-- file: NAME -->`` the page asks to save the block under this name;
- ``<!-- not run: REASON -->`` its commands need something that tests do not have;
- ``<!-- exit code: N -->`` its commands end with this code;
- ``<!-- sketch: REASON -->`` it shows a shape, with parts left out, and is not parsed.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
SHELLS = frozenset({"bash", "sh", "console"})

_BLOCK = re.compile(
    r"(?P<comments>(?:^[ ]*<!--[^\n]*-->\n)*)"
    r"^(?P<indent>[ ]*)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```$",
    re.M | re.S,
)
_COMMENT = re.compile(r"<!-- (file|not run|exit code|sketch): (.+?) -->")


@dataclass(frozen=True)
class Command:
    """A command with the output that the page shows below it."""

    text: str
    shown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    text: str
    told: dict[str, str] = field(default_factory=dict)

    @property
    def is_shell(self) -> bool:
        return self.language in SHELLS

    @property
    def commands(self) -> list[Command]:
        """In ``console`` blocks commands begin with ``$``, and what follows one is its output; else each is a line."""
        found: list[Command] = []
        lines = self.text.splitlines()
        while lines:
            line = lines.pop(0)
            if self.language == "console" and not line.startswith("$ "):
                if line.strip() and found:
                    found[-1] = Command(found[-1].text, (*found[-1].shown, line))
                continue
            command = line.removeprefix("$ ")
            while lines and _goes_on(command):
                command += "\n" + lines.pop(0)
            if command.strip() and not command.lstrip().startswith("#"):
                found.append(Command(command))
        return found


def blocks_of(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    text = page.read_text()
    name = str(page.relative_to(ROOT))
    found = []
    for match in _BLOCK.finditer(text):
        inner = re.sub(rf"^{match['indent']}", "", match["text"], flags=re.M)
        line = text.count("\n", 0, match.start("indent")) + 1
        found.append(Block(name, line, match["language"], inner, dict(_COMMENT.findall(match["comments"]))))
    return found


def every_block() -> list[Block]:
    return [block for page in PAGES for block in blocks_of(page)]


def _goes_on(command: str) -> bool:
    """Whether the command is not complete yet: an open quotation, or a backslash at its end."""
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return True
    return command.endswith("\\")
