"""Connectors moved between two workers: done, refused, undone, interrupted and gone on with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.client.conftest import STRING, Client
from tests.support.waiting import wait_until
from tests.support.worker import SOURCE, PenstockProcess

pytestmark = pytest.mark.integration


class Pair:
    """Two workers, and a file source at the first one."""

    def __init__(self, old: PenstockProcess, new: PenstockProcess, folder: Path) -> None:
        self.old, self.new, self.folder = old, new, folder
        self.name = f"moving-{uuid.uuid4().hex[:6]}"
        self.lines = 0
        self.append(5)
        config = {"connector.class": "FileStreamSource", "file": str(folder / "in.txt"), "topic": self.name}
        old.create(self.name, {**config, "value.converter": STRING})
        wait_until(lambda: self.count(old) == 5, "five lines are read")

    def append(self, count: int) -> None:
        with (self.folder / "in.txt").open("a") as file:
            file.writelines(f"line {self.lines + number}\n" for number in range(count))
        self.lines += count

    def arguments(self, *more: str) -> list[str]:
        return ["migrate", self.name, "--from", self.old.url, "--to", self.new.url, "--timeout", "60", *more]

    def count(self, worker: PenstockProcess) -> int:
        found = worker.http.get(f"/topics/{self.name}")
        return 0 if found.status_code == 404 else int(found.json()["partitions"][0]["end"])

    def there(self, worker: PenstockProcess) -> bool:
        return worker.http.get(f"/connectors/{self.name}").status_code == 200

    def is_moved(self) -> None:
        """It runs at the new worker alone, which reads only what the old one did not."""
        assert not self.there(self.old)
        self.append(3)
        wait_until(lambda: self.count(self.new) == 3, "the new lines are read at the target")
        first = self.new.http.get(f"/topics/{self.name}/records").json()["records"][0]
        assert first["value"] == {"text": "line 5"}
        assert self.count(self.old) == 5

    def is_back(self) -> None:
        """It runs at the old worker as before, and nothing is left at the new one."""
        self.old.wait_state(self.name, "RUNNING")
        assert not self.there(self.new)
        self.append(3)
        wait_until(lambda: self.count(self.old) == 8, "the new lines are read at the origin")

    def journals(self, client: Client) -> list[Path]:
        return list((client.folder / "config" / "migrations").glob("*"))


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    with PenstockProcess(tmp_path_factory.mktemp("target"), {"spark.master": "local[2]"}) as process:
        yield process


@pytest.fixture
def pair(client_worker: PenstockProcess, target: PenstockProcess, tmp_path: Path) -> Iterator[Pair]:
    made = Pair(client_worker, target, tmp_path)
    yield made
    for worker in (client_worker, target):
        worker.http.delete(f"/connectors/{made.name}")


def test_a_connector_moves_with_its_offsets(client: Client, pair: Pair) -> None:
    assert client.ok(*pair.arguments("--dry-run")).out == f"✓ {pair.name} checked\n"
    assert not pair.there(pair.new)
    assert client.ok(*pair.arguments()).out == f"✓ {pair.name} migrated\n"
    pair.is_moved()
    assert pair.journals(client) == []


def test_a_paused_connector_stays_paused(client: Client, pair: Pair) -> None:
    pair.old.http.put(f"/connectors/{pair.name}/pause")
    pair.old.wait_state(pair.name, "PAUSED")
    client.ok(*pair.arguments())
    assert pair.new.status(pair.name)["connector"]["state"] == "PAUSED"


def test_a_sink_moves_to_a_worker_that_has_the_same_topics(client: Client, pair: Pair) -> None:
    """A second source has filled the topic at the target with the same records."""
    sink, copy, out = f"{pair.name}-out", f"{pair.name}-copy", pair.folder / "out.txt"
    source = pair.old.http.get(f"/connectors/{pair.name}/config").json()
    pair.new.create(copy, {**source, "name": copy})
    wait_until(lambda: pair.count(pair.new) == 5, "the target has the records")
    config = {"connector.class": "FileStreamSink", "file": str(out), "topics": pair.name, "value.converter": STRING}
    pair.old.create(sink, config)
    wait_until(lambda: len(out.read_text().splitlines()) == 5, "the lines are written")
    move = ["migrate", sink, "--from", pair.old.url, "--to", pair.new.url, "--timeout", "60"]
    assert client.ok(*move, "--anyway").out == f"✓ {sink} migrated\n"
    assert pair.old.http.get(f"/connectors/{sink}").status_code == 404
    pair.append(3)
    wait_until(lambda: len(out.read_text().splitlines()) >= 8, "the new lines are written")
    assert out.read_text().splitlines() == [f"line {number}" for number in range(8)]
    for name in (sink, copy):
        pair.new.http.delete(f"/connectors/{name}")


def test_what_cannot_be_done_is_refused_before_anything_is_touched(client: Client, pair: Pair) -> None:
    pair.new.create(pair.name, {"connector.class": "FileStreamSource", "topic": "x"}, initial_state="STOPPED")
    taken = client(*pair.arguments())
    assert (taken.code, f"has a connector {pair.name} already" in taken.err) == (1, True)
    assert pair.old.status(pair.name)["connector"]["state"] == "RUNNING"
    assert pair.there(pair.new)
    sink = f"{pair.name}-out"
    pair.old.create(sink, {"connector.class": "FileStreamSink", "topics": pair.name}, initial_state="STOPPED")
    other = client("migrate", sink, "--from", pair.old.url, "--to", pair.new.url)
    assert (other.code, "reads other topics" in other.err) == (1, True)
    pair.old.http.delete(f"/connectors/{sink}")
    assert client("migrate", pair.name, "--from", pair.old.url, "--to", pair.old.url).code == 1
    assert client("migrate", pair.name, "--from", pair.old.url).code == 1


@contextmanager
def broken(pair: Pair) -> Iterator[None]:
    """Nobody's predicate, which validation lets pass and the connector does not; mended at the origin afterwards."""
    config = pair.old.http.get(f"/connectors/{pair.name}/config").json()
    changed = {**config, "transforms": "t", "transforms.t.type": "org.apache.kafka.connect.transforms.Filter"}
    changed.update({"transforms.t.predicate": "nobody"})
    assert pair.old.http.put(f"/connectors/{pair.name}/config", json=changed).status_code == 200
    yield
    assert pair.old.http.put(f"/connectors/{pair.name}/config", json=config).status_code == 200


def test_a_connector_that_fails_at_the_target_goes_back(client: Client, pair: Pair) -> None:
    with broken(pair):
        failed = client(*pair.arguments())
        assert failed.code == 8, failed
        assert "will not be RUNNING" in failed.err
        assert not pair.there(pair.new)
        assert pair.journals(client) == []
    pair.is_back()


def command_line(client: Client, pair: Pair, **more: str) -> tuple[list[str], dict[str, str]]:
    """The migration as a process of its own, and its environment."""
    variables = {key: value for key, value in client.variables.items() if value is not None}
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), **variables, **more}
    return [sys.executable, "-m", "penstock", *pair.arguments()], environment


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_migration_tells_where_it_stands_and_the_ways_out(
    client: Client, pair: Pair, number: signal.Signals
) -> None:
    """A connector that fails at the target keeps the command waiting there for some seconds before it is undone."""
    command, environment = command_line(client, pair)
    with broken(pair):
        with subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as migrating:
            assert migrating.stderr is not None
            assert any("waiting until it is RUNNING" in line for line in migrating.stderr)
            migrating.send_signal(number)
            out, told = migrating.communicate(timeout=120)
        assert (migrating.returncode, out) == (130, "")
        again = f"penstock migrate {pair.name} --from {pair.old.url} --to {pair.new.url}"
        assert f"The migration of {pair.name} was interrupted: it is stopped at {pair.old.url}" in told
        assert f"→ {again} goes on with it, {again} --undo takes it back." in told
        assert pair.old.status(pair.name)["connector"]["state"] == "STOPPED"
        assert pair.there(pair.new)
        client.ok(*pair.arguments("--undo"))
    pair.is_back()
    assert pair.journals(client) == []


POINTS = ["migrate-stopped", "migrate-created", "migrate-altered", "migrate-resumed", "migrate-deleted"]


def killed(client: Client, pair: Pair, point: str) -> None:
    command, environment = command_line(client, pair, PENSTOCK_FAULT=point)
    assert subprocess.run(command, env=environment, capture_output=True, timeout=120).returncode == -9
    assert len(pair.journals(client)) == 1


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_migration_goes_on_with_the_same_command(client: Client, pair: Pair, point: str) -> None:
    killed(client, pair, point)
    client.ok(*pair.arguments())
    pair.is_moved()
    assert pair.journals(client) == []


@pytest.mark.parametrize("point", POINTS[:4])
def test_a_killed_migration_can_be_taken_back(client: Client, pair: Pair, point: str) -> None:
    killed(client, pair, point)
    client.ok(*pair.arguments("--undo"))
    pair.is_back()
    assert pair.journals(client) == []
    assert client(*pair.arguments("--undo")).code == 7
