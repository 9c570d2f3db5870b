"""Which connectors a command is about: names, patterns, or all; and whether the user is sure."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import typer

from .close_names import did_you_mean
from .problems import ClientError, Missing, Wrong
from .screen import errors, is_interactive

if TYPE_CHECKING:
    from .api import ConnectApi

_GLOB = set("*?[")
_FEW = 8


class Declined(ClientError):
    """The user did not want it after all."""

    code = 1


def chosen(api: ConnectApi, names: Sequence[str] | None, everything: bool = False, needed: bool = True) -> list[str]:
    """The names of connectors that are there, sorted for patterns, each once. Raises :class:`Missing`.

    Without names and ``everything`` it is wrong usage, or everything when nothing is ``needed``.
    """
    if names and everything:
        raise Wrong("Name connectors, or use --all.")
    if not names and not everything and needed:
        raise Wrong("Which connectors?", "Name them, give a pattern such as 'orders-*', or use --all.")
    known = sorted(api.get("connectors"))
    if not names:
        return known
    found: dict[str, None] = {}
    for name in names:
        found.update(dict.fromkeys(_matching(name, known)))
    return list(found)


def the_one(api: ConnectApi, name: str) -> str:
    """The name of the connector that a command for a single one is about; a pattern may match no other."""
    found = chosen(api, [name])
    if len(found) > 1:
        raise Wrong(f"'{name}' matches {', '.join(found)}; this is for one connector.", "Name one of them.")
    return found[0]


def is_bulk(names: Sequence[str] | None, everything: bool) -> bool:
    """Whether the user has not spelled out each connector."""
    return everything or any(_GLOB & set(name) for name in names or ())


def counted(names: Sequence[str]) -> str:
    """How many connectors, in words."""
    return f"{len(names)} connector{'s' * (len(names) != 1)}"


def shortened(names: Sequence[str]) -> str:
    """The first of some names."""
    return f"{', '.join(names[:_FEW])}{' …' if len(names) > _FEW else ''}"


def be_sure(question: str, names: Sequence[str], yes: bool) -> None:
    """Ask before something that cannot be undone happens to several. Raises when the answer is no."""
    if yes or not names:
        return
    if not is_interactive():
        raise Wrong(f"{question}: there is nobody to ask. It is about {', '.join(names)}.", "Pass --yes to do it.")
    for name in names:
        errors().line(f"  {name}")
    if not typer.confirm(f"{question}?", err=True):
        raise Declined("Nothing was done.")


def _matching(name: str, known: Sequence[str]) -> list[str]:
    if name in known:
        return [name]
    if _GLOB & set(name):
        found = [one for one in known if fnmatchcase(one, name)]
        if not found:
            raise Missing(f"No connector matches '{name}'.", _there(known))
        return found
    raise Missing(f"Connector {name} not found", did_you_mean(name, known, _there(known)))


def _there(known: Sequence[str]) -> str:
    if not known:
        return "There are no connectors yet: penstock create -f FILE makes one."
    return f"There {'is' if len(known) == 1 else 'are'} {shortened(known)}"
