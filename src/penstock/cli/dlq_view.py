"""Dead letters of a worker over HTTP, and how they look on a terminal."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from .client.api import ConnectApi
from .client.formats import Format, print_data
from .client.screen import answers
from .exit_codes import FAILED_AGAIN, OK

NEEDED_FOR = "Looking at dead letters"


def show_list(api: ConnectApi, connector: str, limit: int, after: str | None, output: Format) -> int:
    """Print a page of dead letters."""
    with api.only_penstock(NEEDED_FOR):
        page = api.get("connectors", connector, "dead-letters", limit=limit, after=after)
    if output.is_data:
        print_data(page, output)
        return OK
    console = _console()
    if not page["dead_letters"]:
        console.print(f"No dead letters of [bold]{escape(connector)}[/] in topic {escape(page['topic'])}.")
        return OK
    answers().table(["ID", "TIME", "FROM", "STAGE", "ERROR", "VALUE"], map(_row, page["dead_letters"]))
    if page["next"]:
        console.print(f"There are more: penstock dlq list {escape(connector)} --after {page['next']}")
    return OK


def show_one(api: ConnectApi, connector: str, letter: str, output: Format) -> int:
    """Print all of one dead letter."""
    with api.only_penstock(NEEDED_FOR):
        (found,) = api.get("connectors", connector, "dead-letters", id=letter)["dead_letters"]
    if output.is_data:
        print_data(found, output)
    else:
        _print_letter(_console(), found)
    return OK


def replay(api: ConnectApi, connector: str, letters: Sequence[str], value: bytes | None, output: Format) -> int:
    """Replay some dead letters, or all without a name."""
    body: dict[str, Any] = {"all": True}
    if letters:
        edit = {} if value is None else {"value": {"base64": base64.b64encode(value).decode()}}
        body = {"dead_letters": [{"id": letter, **edit} for letter in letters]}
    with api.only_penstock(NEEDED_FOR):
        outcome = api.post("connectors", connector, "dead-letters", "replay", body=body)
    if output.is_data:
        print_data(outcome, output)
    else:
        again = outcome["failed"]
        told = f"[green]{outcome['replayed']} replayed[/]"
        console = _console()
        console.print(told if not again else f"{told}, [red]{again} failed again[/] and are dead letters again")
    return FAILED_AGAIN if outcome["failed"] else OK


def _console() -> Console:
    return Console(highlight=False, soft_wrap=True)


def _row(letter: Mapping[str, Any]) -> list[Text]:
    shown = [letter["id"], _time(letter["timestamp"]), _place(letter["original"]), letter["error"]["stage"] or "?"]
    reason = letter["error"]["message"] or letter["error"]["exception"] or "?"
    cells = [*shown, f"{'(replayed) ' if letter['replayed'] else ''}{reason}", _whole(letter["value"])]
    return [Text(" ".join(cell.splitlines()), style="dim" if letter["replayed"] else "") for cell in cells]


def _print_letter(console: Console, letter: Mapping[str, Any]) -> None:
    error = letter["error"]
    facts = {
        "id": letter["id"],
        "time": _time(letter["timestamp"]),
        "from": _place(letter["original"]),
        "task": "?" if letter["task"] is None else str(letter["task"]),
        "replayed": "yes" if letter["replayed"] else "no",
        "stage": error["stage"] or "?",
        "class": error["class_name"] or "?",
        "exception": error["exception"] or "?",
        "message": error["message"] or "",
        "key": _whole(letter["key"]),
        "value": _whole(letter["value"]),
        **{f"header {header['key']}": _whole(header["value"]) for header in letter["headers"]},
    }
    width = max(map(len, facts))
    for name, value in facts.items():
        console.print(f"[dim]{escape(name):<{width}}[/]  {escape(value)}", soft_wrap=True)
    if error["trace"]:
        console.print(f"\n{escape(error['trace'])}", soft_wrap=True)


def _time(millis: int) -> str:
    try:
        return datetime.fromtimestamp(millis / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return str(millis)


def _place(place: Mapping[str, Any]) -> str:
    parts = [place["topic"], place["partition"], place["offset"]]
    return "-".join(str(part) for part in parts if part is not None) or "?"


def _whole(data: Mapping[str, str] | None) -> str:
    if data is None:
        return "null"
    return data["text"] if "text" in data else f"base64:{data['base64']}"
