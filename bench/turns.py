"""Steps in which the systems take turns: what disturbs the machine for a while disturbs both."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import TypeVar

from .figures import Figure

Turns = Generator[None, None, list[Figure]]
"""What a system does in a step. At every ``yield`` it is idle, and it is the next one's turn."""

System = TypeVar("System")


def turns_of(step: Callable[[], list[Figure] | Turns]) -> Turns:
    """A step as turns; one that gives its figures at once has a single turn."""
    found = step()
    if isinstance(found, list):
        return found
    return (yield from found)


def take_turns(
    steps: Mapping[System, Turns],
    done: Callable[[System, Sequence[Figure]], None],
    failed: Callable[[System, Exception], None],
) -> None:
    """One turn of each system after the other until all have ended.

    One that fails does not keep the others from going on. However this ends, all that the steps had started is stopped.
    """
    with ExitStack() as stack:
        left = {system: stack.enter_context(closing(turns)) for system, turns in steps.items()}
        while left:
            for system, turns in list(left.items()):
                try:
                    next(turns)
                except StopIteration as end:
                    done(system, end.value)
                    del left[system]
                except Exception as error:
                    failed(system, error)
                    del left[system]
