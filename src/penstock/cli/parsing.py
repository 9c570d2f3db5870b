"""How the command line is parsed, and how it explains itself, whatever the library's version makes of it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

F = TypeVar("F", bound=Callable[..., Any])

_INSTEAD = {"true": "leave true out.", "false": "leave both out."}


class _Plain:
    """Flags are shown without a type and refuse a value; messages have no words of the library."""

    def get_params(self, ctx: Any) -> list[Any]:
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for flag in filter(_is_flag, found):
            flag.metavar = ""
        return found

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Names of what has to be given stand as they are, those that may be left out in brackets."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]  # type: ignore[misc]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        flags = {name for flag in filter(_is_flag, self.get_params(ctx)) for name in (*flag.opts, *flag.secondary_opts)}
        for name, value in pairwise(args):
            if name in flags and value.lower() in _INSTEAD and not ctx.resilient_parsing:
                ctx.fail(f"{name} takes no value: {_INSTEAD[value.lower()]}")
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc, no-any-return]
        except typer.BadParameter as error:
            error.message = _in_plain_words(error)
            raise


class _Command(_Plain, TyperCommand):
    pass


class _Group(_Plain, TyperGroup):
    pass


class Commands(typer.Typer):
    """Commands of ours under one name."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(cls=_Group, rich_markup_mode="rich", **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[F], F]:
        return super().command(name, cls=_Command, **settings)


def _is_flag(parameter: Any) -> bool:
    return bool(getattr(parameter, "is_flag", False))


def _in_plain_words(error: typer.BadParameter) -> str:
    """``Input should be a valid integer, unable to …`` names no value, and is from a validator nobody has heard of."""
    text = error.message.removeprefix("Value error, ")
    if not text.startswith("Input should be "):
        return text
    wanted = text.removeprefix("Input should be ").partition(", unable")[0]
    details = getattr(error.__cause__, "errors", None)
    given = f"'{details()[0]['input']}'" if details is not None else "it"
    return f"{given} is not {wanted}." if wanted.startswith("a ") else f"{given} should be {wanted}."
