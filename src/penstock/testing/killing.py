"""Code of a connector run in a process that is killed amid it, as an executor may be."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

FINISHED = 0
RAISED = 3


def killed_after(items: Iterable[T], count: int) -> Iterator[T]:
    """The first items; then the process dies with SIGKILL."""
    for number, item in enumerate(items):
        if number == count:
            os.kill(os.getpid(), signal.SIGKILL)
        yield item
    os.kill(os.getpid(), signal.SIGKILL)


def in_child(work: Callable[[], object]) -> bool:
    """Run something in a forked process; whether it was killed. What it raised is an error here."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        _run(work, write)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status) == signal.SIGKILL
    if os.WEXITSTATUS(status) != FINISHED:
        raise AssertionError(f"It raised, where it should have been killed or finished: {told}")
    return False


def _run(work: Callable[[], object], write: int) -> None:
    """The child: never returns, and runs nothing of the parent's at its end."""
    code = RAISED
    try:
        work()
        code = FINISHED
    except BaseException as error:
        os.write(write, f"{type(error).__name__}: {error}".encode())
    finally:
        os._exit(code)
