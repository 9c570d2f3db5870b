"""What can go wrong for a user of the client: a text, what to do next, and the exit code."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import typer

from ..exit_codes import INTERRUPTED, NOT_FOUND, NOT_REACHED, REFUSED, STALE, UNSUPPORTED, USAGE

F = TypeVar("F", bound=Callable[..., Any])


class ClientError(Exception):
    """``hint`` says what to do next."""

    code = REFUSED

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


class Refused(ClientError):
    """The worker did not do it; ``status`` is its HTTP code, 0 when it could not be reached."""

    def __init__(self, status: int, text: str, hint: str = "") -> None:
        super().__init__(text, hint)
        self.status = status
        self.code = NOT_FOUND if status == 404 else REFUSED


class Unsupported(ClientError):
    """The worker has no such endpoint."""

    code = UNSUPPORTED


class Missing(ClientError):
    """Something that was named is not there."""

    code = NOT_FOUND


class Wrong(ClientError):
    """What the user gave cannot be used."""

    code = USAGE


class Outdated(ClientError):
    """Somebody else was faster."""

    code = STALE


class NotReached(ClientError):
    """A state was waited for in vain."""

    code = NOT_REACHED


class Interrupted(ClientError):
    """The user ended it half way."""

    code = INTERRUPTED


def tell(error: ClientError) -> None:
    """The error and the way out, on standard error."""
    from .screen import errors

    errors().problem(str(error), error.hint)


def told(command: F) -> F:
    """A command whose errors become a message and an exit code; what it returns is the exit code."""

    @wraps(command)
    def run(*arguments: Any, **named: Any) -> None:
        try:
            code = command(*arguments, **named)
        except ClientError as error:
            tell(error)
            raise typer.Exit(error.code) from None
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        raise typer.Exit(code or 0)

    return run  # type: ignore[return-value]
