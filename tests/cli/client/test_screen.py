"""Tables: whole values for whoever reads lines, and what a terminal cannot show is seen to be cut."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from penstock.cli import dlq_view
from penstock.cli.client.formats import Format
from penstock.cli.client.offset_views import changes_table, offsets_table
from penstock.cli.client.screen import Screen, answers, state_text
from penstock.cli.takeover import run_takeover
from penstock.runtime import distributed_settings, takeover
from penstock.runtime.takeover import ConnectorTakeover, Takeover

NAME = "example-orders-out"
FILE = {"filename": "data/example/notes-of-somebody-with-a-long-name.txt"}
ENTRY = {"partition": FILE, "offset": {"position": 77}}


@pytest.fixture(autouse=True)
def _the_screen_is_made_anew() -> Iterator[None]:
    """It learns its width when it is made."""
    answers.cache_clear()
    yield
    answers.cache_clear()


class Terminal(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", self.getvalue()).splitlines()]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal of 60 columns."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm-256color")
    return Terminal()


@pytest.fixture(params=["80", "20"])
def narrow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the environment says of the width, though no terminal is there."""
    monkeypatch.setenv("COLUMNS", request.param)


class DeadLetters:
    """A worker that has one, with this value."""

    def __init__(self, value: str) -> None:
        self._value = value

    def only_penstock(self, what: str) -> AbstractContextManager[None]:
        return nullcontext()

    def get(self, *path: str, **query: Any) -> dict[str, Any]:
        letter = {
            "id": "0-17",
            "timestamp": 0,
            "original": {"topic": "orders-of-all-countries-of-the-world", "partition": 0, "offset": 17},
            "error": {"stage": "VALUE_CONVERTER", "message": "not\nJSON", "exception": None},
            "replayed": False,
            "value": {"text": self._value},
        }
        return {"dead_letters": [letter], "next": "0-17", "topic": "dead"}


@pytest.mark.usefixtures("narrow")
def test_values_are_whole_where_the_output_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    offsets_table({NAME: [ENTRY]})
    row = capsys.readouterr().out.splitlines()[1]
    assert row.split(maxsplit=1)[0] == NAME
    assert f'{{"filename": "{FILE["filename"]}"}}' in row
    assert row.rstrip().endswith('{"position": 77}')


@pytest.mark.usefixtures("narrow")
def test_a_pipe_that_takes_colours_gets_whole_values_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    changes_table(NAME, [(FILE, {"position": 77}, {"position": 12345})])
    shown = capsys.readouterr()
    assert all(part in shown.out for part in (NAME, FILE["filename"], '{"position": 77}', '{"position": 12345}'))
    assert (shown.err, "…" in shown.out) == ("", False)


@pytest.mark.usefixtures("narrow")
def test_dead_letters_are_one_whole_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    worker = DeadLetters(f"{{\n{'x' * 100}\n}}")
    dlq_view.show_list(worker, NAME, 20, None, Format.TEXT)  # type: ignore[arg-type]
    header, row, more = capsys.readouterr().out.splitlines()
    assert header.split() == ["ID", "TIME", "FROM", "STAGE", "ERROR", "VALUE"]
    assert "orders-of-all-countries-of-the-world-0-17" in row
    assert "not JSON" in row
    assert row.rstrip().endswith(f"{{ {'x' * 100} }}")
    assert more == f"There are more: penstock dlq list {NAME} --after 0-17"


@pytest.mark.usefixtures("narrow")
def test_takeover_shows_whole_names(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    long = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    moved = Takeover("moved", [ConnectorTakeover(NAME, long, "source", "RUNNING", 2, 5)])
    monkeypatch.setattr(distributed_settings, "load_distributed", lambda file: None)
    monkeypatch.setattr(takeover, "examine", lambda config: moved)
    assert run_takeover(tmp_path / "worker.properties", dry_run=True) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[2].split() == [NAME, long, "RUNNING", "2", "5", "source", "partitions"]


def test_a_terminal_shows_where_values_are_cut_and_how_to_see_them(
    terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    with redirect_stdout(terminal):
        offsets_table({NAME: [ENTRY]})
    row = terminal.lines[1]
    assert (len(row) <= 60, row.startswith(NAME), row.endswith('{"position": 77}')) == (True, True, True)
    assert "…" in row
    assert "cut to the width of the terminal: -o json shows them whole" in capsys.readouterr().err


def test_the_widest_columns_give_way_first(terminal: Terminal) -> None:
    with redirect_stdout(terminal):
        Screen().table(["NAME", "STATE", "FILE"], [["orders", state_text("RUNNING"), "f" * 200]])
    assert terminal.lines == ["NAME    STATE    FILE", f"orders  RUNNING  {'f' * 42}…"]


def test_what_fits_is_not_cut(terminal: Terminal, capsys: pytest.CaptureFixture[str]) -> None:
    with redirect_stdout(terminal):
        Screen().table(["NAME", "VALUE"], [["n", "v" * 54]])
    assert terminal.lines == ["NAME  VALUE", f"n     {'v' * 54}"]
    assert capsys.readouterr().err == ""
