"""A hook of mkdocs: the button beside a session at a shell copies its commands, without prompts and output."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from html import escape, unescape
from typing import Any

SESSION = re.compile(r'<div class="language-console highlight">(?P<code>.*?)</div>', re.S)
TAG = re.compile(r"<[^>]+>")
PROMPT = "$ "


def on_page_content(html: str, **_: Any) -> str:
    return SESSION.sub(_with_commands, html)


def _with_commands(session: re.Match[str]) -> str:
    shown = unescape(TAG.sub("", session["code"])).strip()
    copied = escape("\n".join(_commands(shown)))
    return f'<div class="language-console highlight" data-copy="{copied}">{session["code"]}</div>'


def _commands(shown: str) -> Iterator[str]:
    """What was typed: a line with a prompt, and those below it until no quotation and no backslash is open."""
    lines = iter(shown.splitlines())
    for line in lines:
        if line.startswith(PROMPT):
            command = line.removeprefix(PROMPT)
            while not _is_whole(command):
                command = f"{command}\n{next(lines)}"
            yield command


def _is_whole(command: str) -> bool:
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return not command.endswith("\\")
