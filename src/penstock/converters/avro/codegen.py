"""Python functions made from text: one function a schema, with nothing left to decide while records pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Emitter:
    """Gathers functions that call each other, and the constants that they use by name.

    A function is written from its first line to its last; one that is begun inside another is kept apart.
    """

    def __init__(self, **constants: Any) -> None:
        self._constants: dict[str, Any] = constants
        self._functions: list[list[str]] = []
        self._stack: list[tuple[list[str], int]] = []
        self._lines: list[str] = []
        self._depth = 0
        self._count = 0

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def lines(self, *texts: str) -> None:
        for text in texts:
            self.line(text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """An indented block after ``head``."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    @contextmanager
    def function(self, head: str) -> Iterator[None]:
        """A function, also in the middle of another one."""
        self._stack.append((self._lines, self._depth))
        self._lines, self._depth = [], 0
        with self.block(f"def {head}:"):
            yield
        self._functions.append(self._lines)
        self._lines, self._depth = self._stack.pop()

    def name(self, stem: str) -> str:
        """A name that nothing else has."""
        self._count += 1
        return f"{stem}{self._count}"

    def constant(self, value: Any, stem: str = "c") -> str:
        """A name for a value."""
        name = self.name(stem)
        self._constants[name] = value
        return name

    def compile(self, name: str, about: str) -> Callable[..., Any]:
        """The function of this name, with everything it needs."""
        source = "\n\n".join("\n".join(lines) for lines in self._functions)
        scope = dict(self._constants)
        exec(compile(source, f"<avro {about}>", "exec"), scope)
        made: Callable[..., Any] = scope[name]
        return made
