"""``/connectors/{name}/dead-letters``: what failed, and once more through the connector."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from penstock.runtime.dead_letters import DeadLetter, DeadLetterPage, Edit, ReplayOutcome, ReplayRequest
from penstock.runtime.herder import Herder

from .answers import Answer, ok
from .json_text import parse
from .problems import bad_request
from .request import Request
from .waiting import answer_of

DEFAULT_LIMIT = 100


class Data(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Bytes: as text if they are UTF-8, else in base64."""

    text: str | None = None
    base64: str | None = None


class HeaderView(msgspec.Struct):
    """A header of the failed record."""

    key: str
    value: Data | None


class Place(msgspec.Struct):
    """Where the failed record is; null where it is not known."""

    topic: str | None
    partition: int | None
    offset: int | None


class ErrorView(msgspec.Struct):
    """Why it failed; null where it is not known."""

    stage: str | None
    class_name: str | None
    exception: str | None
    message: str | None
    trace: str | None


class DeadLetterView(msgspec.Struct):
    """A failed record. ``id`` is its partition and offset in the dead letter queue."""

    id: str
    timestamp: int
    replayed: bool
    task: int | None
    original: Place
    error: ErrorView
    key: Data | None
    value: Data | None
    headers: list[HeaderView]


class DeadLettersView(msgspec.Struct):
    """Dead letters of a connector, oldest first. ``next`` is ``after`` of the following page, null on the last."""

    topic: str
    dead_letters: list[DeadLetterView]
    next: str | None


class ReplayLetter(msgspec.Struct, forbid_unknown_fields=True):
    """A dead letter to replay. A key or value that is given replaces its own; null makes it null."""

    id: Annotated[str, msgspec.Meta(pattern=r"^\d{1,9}-\d{1,18}$")]
    key: Data | msgspec.UnsetType | None = msgspec.UNSET
    value: Data | msgspec.UnsetType | None = msgspec.UNSET


class ReplayBody(msgspec.Struct, forbid_unknown_fields=True):
    """Which dead letters to replay: some, or with ``all`` every one that was not replayed yet."""

    dead_letters: list[ReplayLetter] | None = None
    all: bool = False


async def list_dead_letters(herder: Herder, request: Request) -> Answer:
    ids = request.query.get("id")
    if ids:
        return ok(_page(await answer_of(herder.find_dead_letters(request.name, ids))))
    limit = request.first("limit")
    if limit is not None and not (limit.isascii() and limit.isdigit() and len(limit) < 10):
        raise bad_request(f"limit must be a number, not '{limit[:40]}'")
    wanted = DEFAULT_LIMIT if limit is None else int(limit)
    return ok(_page(await answer_of(herder.dead_letters(request.name, request.first("after"), wanted))))


async def replay_dead_letters(herder: Herder, request: Request) -> Answer:
    outcome: ReplayOutcome = await answer_of(herder.replay_dead_letters(request.name, request.body))
    return ok(outcome)


def replay_body(body: bytes) -> ReplayRequest:
    """``POST …/dead-letters/replay``."""
    value = parse(body)
    if not isinstance(value, Mapping):
        raise bad_request("The request body must be an object with 'dead_letters' or 'all'")
    unknown = [key for key in value if key not in ReplayBody.__struct_fields__]
    if unknown:
        raise bad_request(f"Unknown key '{unknown[0]}' in the request body; there are dead_letters and all")
    letters, everything = value.get("dead_letters"), value.get("all", False)
    if not isinstance(everything, bool):
        raise bad_request("'all' must be true or false")
    if everything == (letters is not None):
        raise bad_request("Name the dead letters to replay in 'dead_letters', or set 'all' to true")
    return ReplayRequest(None if everything else _edits(letters))


def _edits(letters: Any) -> dict[str, Edit]:
    if not isinstance(letters, list) or not letters:
        raise bad_request("'dead_letters' must be a list with at least one element")
    edits: dict[str, Edit] = {}
    for number, letter in enumerate(letters):
        where = f"dead_letters[{number}]"
        if not isinstance(letter, Mapping) or type(letter.get("id")) is not str:
            raise bad_request(f"{where} must be an object with an 'id' such as \"0-17\"")
        unknown = [key for key in letter if key not in ReplayLetter.__struct_fields__]
        if unknown:
            raise bad_request(f"Unknown key '{unknown[0]}' in {where}; there are id, key and value")
        changes = {name: _data(letter[name], f"{where}.{name}") for name in ("key", "value") if name in letter}
        if edits.setdefault(letter["id"], Edit(**changes)) != Edit(**changes):
            raise bad_request(f"{letter['id']} is in 'dead_letters' twice, with different edits")
    return edits


def _data(value: Any, where: str) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, Mapping) and len(value) == 1:
        (kind, content) = next(iter(value.items()))
        if kind == "text" and type(content) is str:
            return content.encode("utf-8", "surrogatepass")
        if kind == "base64" and type(content) is str:
            try:
                return base64.b64decode(content, validate=True)
            except (binascii.Error, ValueError):
                raise bad_request(f"{where}.base64 is not base64") from None
    raise bad_request(f'{where} must be null, {{"text": …}} or {{"base64": …}}')


def _page(page: DeadLetterPage) -> DeadLettersView:
    return DeadLettersView(page.topic, [_letter(letter) for letter in page.letters], page.next)


def _letter(letter: DeadLetter) -> DeadLetterView:
    context = letter.context
    return DeadLetterView(
        id=letter.id,
        timestamp=letter.timestamp,
        replayed=letter.replayed,
        task=letter.task,
        original=Place(*letter.original),
        error=ErrorView(
            stage=context.get("stage"),
            class_name=context.get("class.name"),
            exception=context.get("exception.class.name"),
            message=context.get("exception.message"),
            trace=context.get("exception.stacktrace"),
        ),
        key=_shown(letter.key),
        value=_shown(letter.value),
        headers=[HeaderView(name, _shown(data)) for name, data in letter.headers],
    )


def _shown(data: bytes | None) -> Data | None:
    if data is None:
        return None
    try:
        return Data(text=data.decode())
    except UnicodeDecodeError:
        return Data(base64=base64.b64encode(data).decode())
