"""Dead letters of a worker over HTTP, and how they look on a terminal."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote

import httpx
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .exit_codes import FAILED_AGAIN, OK, REFUSED
from .pipelines_client import Refused, refusal_text

SECONDS = 120.0
WIDEST_VALUE = 60


def show_list(url: str, connector: str, limit: int, after: str | None, as_json: bool) -> int:
    """Print a page of dead letters."""
    query: dict[str, str | int] = {"limit": limit}
    if after is not None:
        query["after"] = after
    try:
        page = _call("GET", url, connector, "", params=query)
    except Refused as error:
        return _refused(error)
    if as_json:
        _print_json(page)
        return OK
    console = _console()
    if not page["dead_letters"]:
        console.print(f"No dead letters of [bold]{escape(connector)}[/] in topic {escape(page['topic'])}.")
        return OK
    console.print(_table(page["dead_letters"]))
    if page["next"]:
        console.print(f"There are more: penstock dlq list {escape(connector)} --after {page['next']}")
    return OK


def show_one(url: str, connector: str, letter: str, as_json: bool) -> int:
    """Print all of one dead letter."""
    try:
        (found,) = _call("GET", url, connector, "", params={"id": letter})["dead_letters"]
    except Refused as error:
        return _refused(error)
    if as_json:
        _print_json(found)
    else:
        _print_letter(_console(), found)
    return OK


def replay(url: str, connector: str, letters: Sequence[str], value: bytes | None, as_json: bool) -> int:
    """Replay some dead letters, or all without a name."""
    body: dict[str, Any] = {"all": True}
    if letters:
        edit = {} if value is None else {"value": {"base64": base64.b64encode(value).decode()}}
        body = {"dead_letters": [{"id": letter, **edit} for letter in letters]}
    try:
        outcome = _call("POST", url, connector, "/replay", json=body)
    except Refused as error:
        return _refused(error)
    if as_json:
        _print_json(outcome)
    else:
        again = outcome["failed"]
        told = f"[green]{outcome['replayed']} replayed[/]"
        console = _console()
        console.print(told if not again else f"{told}, [red]{again} failed again[/] and are dead letters again")
    return FAILED_AGAIN if outcome["failed"] else OK


def _call(method: str, url: str, connector: str, path: str, **request: Any) -> Any:
    target = f"{url.rstrip('/')}/connectors/{quote(connector, safe='')}/dead-letters{path}"
    try:
        answer = httpx.request(method, target, timeout=SECONDS, **request)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Refused(0, f"Cannot reach a worker at {url}: {error}. --url chooses another one.") from error
    if answer.status_code != httpx.codes.OK:
        raise Refused(answer.status_code, refusal_text(answer))
    return answer.json()


def _refused(error: Refused) -> int:
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"[bold red]error[/]  {escape(str(error))}")
    return REFUSED


def _console() -> Console:
    return Console(highlight=False)


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def _table(letters: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("ID", "TIME", "FROM", "STAGE", "ERROR", "VALUE"):
        table.add_column(column, overflow="ellipsis", no_wrap=column != "ERROR")
    for letter in letters:
        shown = [letter["id"], _time(letter["timestamp"]), _place(letter["original"]), letter["error"]["stage"] or "?"]
        reason = letter["error"]["message"] or letter["error"]["exception"] or "?"
        style = "dim" if letter["replayed"] else None
        cells = [*shown, f"{'(replayed) ' if letter['replayed'] else ''}{reason}", _short(letter["value"])]
        table.add_row(*(escape(cell) for cell in cells), style=style)
    return table


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
        return datetime.fromtimestamp(millis / 1000, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return str(millis)


def _place(place: Mapping[str, Any]) -> str:
    parts = [place["topic"], place["partition"], place["offset"]]
    return "-".join(str(part) for part in parts if part is not None) or "?"


def _whole(data: Mapping[str, str] | None) -> str:
    if data is None:
        return "null"
    return data["text"] if "text" in data else f"base64:{data['base64']}"


def _short(data: Mapping[str, str] | None) -> str:
    text = _whole(data).replace("\n", " ")
    return text if len(text) <= WIDEST_VALUE else f"{text[: WIDEST_VALUE - 1]}…"
