"""A reader who is asked something at a terminal, and answers."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.waiting import wait_until

SECONDS = 120.0


def answered(words: Sequence[str], folder: Path, variables: Mapping[str, str], answers: Mapping[str, str]) -> str:
    """Run a command at a terminal of its own, and give each question (a pattern) its answer whenever it comes.

    What the terminal showed. Raises ``AssertionError`` when the command fails or does not end.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        words, cwd=folder, env=dict(variables), stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    shown, new, until = "", "", time.monotonic() + SECONDS
    try:
        while (came := _read(ours, process)) is not None:
            shown, new = shown + came, new + came
            for question, answer in answers.items():
                if re.search(question, new):
                    new = ""
                    wait_until(lambda question=question: _echoes(ours) != _is_secret(question), "it listens")  # type: ignore[misc]
                    os.write(ours, f"{answer}\n".encode())
            assert time.monotonic() < until, f"{words} did not end:\n{shown}"
        assert process.wait(SECONDS) == 0, f"{words} ended with {process.returncode}:\n{shown}"
    finally:
        process.kill()
        os.close(ours)
    return shown


def _is_secret(question: str) -> bool:
    return "Password" in question


def _echoes(terminal: int) -> bool:
    """Whether what is typed is shown. What is typed before a program turns that off, for a secret, is lost."""
    local_flags: int = termios.tcgetattr(terminal)[3]
    return bool(local_flags & termios.ECHO)


def _read(terminal: int, process: subprocess.Popen[bytes]) -> str | None:
    """What is shown next, perhaps nothing for a moment; ``None`` after the end."""
    ready, _, _ = select.select([terminal], [], [], 0.1)
    if not ready:
        return None if process.poll() is not None else ""
    try:
        return os.read(terminal, 65536).decode(errors="replace") or None
    except OSError:
        return None
