"""The client against one worker process for all tests in this folder; each test has connectors of its own."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli.client.contexts import CONTEXT_VARIABLE, FILE_VARIABLE, URL_VARIABLE
from penstock.cli.main import app
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

STRING = "org.apache.kafka.connect.storage.StringConverter"


def new(prefix: str = "made") -> str:
    """A name that nobody has."""
    return f"{prefix}-{uuid.uuid4().hex[:6]}"


def generator(**more: str) -> dict[str, str]:
    """A source that reads nothing."""
    return {"connector.class": "FileStreamSource", "file": "none.txt", "topic": "none", **more}


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)

    @property
    def names(self) -> set[str]:
        """The connectors of an answer by name, or of a list of them."""
        return {one["name"] for one in self.data} if isinstance(self.data, list) else set(self.data)


class Client:
    """``penstock`` in this process, with contexts of its own."""

    def __init__(self, folder: Path, url: str | None) -> None:
        self.folder = folder
        self.variables = {
            FILE_VARIABLE: str(folder / "config" / "contexts.yaml"),
            URL_VARIABLE: url,
            CONTEXT_VARIABLE: None,
            "COLUMNS": "160",
            "NO_COLOR": "1",
        }

    def __call__(self, *arguments: str, stdin: str | None = None, **variables: str) -> Done:
        done = CliRunner().invoke(app, list(arguments), input=stdin, env={**self.variables, **variables})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Done(done.exit_code, done.stdout, done.stderr)

    def ok(self, *arguments: str, stdin: str | None = None, **variables: str) -> Done:
        """A command that must succeed."""
        done = self(*arguments, stdin=stdin, **variables)
        assert done.code == 0, (arguments, done)
        return done


@dataclass(frozen=True)
class Lines:
    """A file source and a file sink behind it: ``<name>`` and ``<name>-out``, with lines ``line 0`` to ``line 9``."""

    name: str
    folder: Path

    @property
    def sink(self) -> str:
        return f"{self.name}-out"

    @property
    def copied(self) -> list[str]:
        file = self.folder / "out.txt"
        return file.read_text().splitlines() if file.exists() else []

    def source_config(self) -> dict[str, str]:
        return {
            "connector.class": "FileStreamSource",
            "file": str(self.folder / "in.txt"),
            "topic": self.name,
            "value.converter": STRING,
        }

    def sink_config(self) -> dict[str, str]:
        return {
            "connector.class": "FileStreamSink",
            "file": str(self.folder / "out.txt"),
            "topics": self.name,
            "value.converter": STRING,
        }

    def end(self, worker: PenstockProcess) -> int:
        """How many records the topic has."""
        return int(worker.http.get(f"/topics/{self.name}").json()["partitions"][0]["end"])

    def append(self, count: int) -> None:
        with (self.folder / "in.txt").open("a") as file:
            file.writelines(f"line {number}\n" for number in range(count))


@pytest.fixture(scope="package")
def client_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    with PenstockProcess(tmp_path_factory.mktemp("worker"), {"spark.master": "local[2]"}) as process:
        yield process


@pytest.fixture
def client(client_worker: PenstockProcess, tmp_path: Path) -> Client:
    return Client(tmp_path, client_worker.url)


@pytest.fixture
def nobody(tmp_path: Path) -> Client:
    """A client that knows no worker."""
    return Client(tmp_path, None)


@pytest.fixture
def lines(client_worker: PenstockProcess, tmp_path: Path) -> Iterator[Lines]:
    """Both connectors running, ten lines copied."""
    made = Lines(f"lines-{uuid.uuid4().hex[:6]}", tmp_path)
    made.append(10)
    client_worker.create(made.name, made.source_config())
    client_worker.create(made.sink, made.sink_config())
    client_worker.wait_state(made.name, "RUNNING")
    client_worker.wait_state(made.sink, "RUNNING")
    wait_until(lambda: len(made.copied) == 10, "the lines are copied")
    wait_until(lambda: client_worker.http.get(f"/connectors/{made.sink}/offsets").json()["offsets"], "offsets")
    yield made
    for name in (made.name, made.sink):
        client_worker.http.delete(f"/connectors/{name}")
