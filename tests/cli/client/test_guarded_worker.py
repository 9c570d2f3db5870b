"""The client against a worker with TLS and users: contexts let it in, and what it may not do is told."""

from __future__ import annotations

import ssl
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.rest.users import PasswordHash, Role, TokenHash, User, new_token
from tests.cli.client.conftest import STRING, Client
from tests.support.certificates import make_certificate
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = pytest.mark.integration

PASSWORD = "correct horse"
TOKEN = new_token()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def guarded(
    certificates: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PenstockProcess]:
    both, ca = certificates
    folder = tmp_path_factory.mktemp("guarded")
    users = (User("ops", Role.ADMIN, PasswordHash.of(PASSWORD)), User("eye", Role.READ_ONLY, TokenHash.of(TOKEN)))
    (folder / "users.txt").write_text("".join(f"{user}\n" for user in users))
    settings = {
        "rest.auth.users.file": str(folder / "users.txt"),
        "listeners.https.ssl.keystore.location": str(both),
        "spark.master": "local[2]",
    }
    worker = PenstockProcess(folder, settings)
    worker.listen_on("127.0.0.1", ssl.create_default_context(cafile=str(ca)))
    with worker:
        yield worker


@pytest.fixture
def guest(nobody: Client, guarded: PenstockProcess, certificates: tuple[Path, Path]) -> Client:
    """A client with the contexts ``ops``, ``eye`` and ``anybody`` for the guarded worker."""
    place = ["--url", guarded.url, "--ca-file", str(certificates[1])]
    nobody.ok("context", "add", "anybody", *place)
    nobody.ok("context", "add", "eye", *place, "--token-env", "EYE")
    nobody.ok("context", "add", "ops", *place, "--use", "--username", "ops", "--password-stdin", stdin=f"{PASSWORD}\n")
    nobody.variables["EYE"] = TOKEN
    return nobody


def test_an_admin_does_everything_and_a_reader_looks(guest: Client) -> None:
    config = '{"name": "guarded", "config": {"connector.class": "Generator", "topic": "made", "rate": "5"}}'
    guest.ok("create", "-f", "-", "--wait", stdin=config)
    assert guest.ok("get", "connectors", "-o", "json", "--context", "eye").data["guarded"]["info"]["type"] == "source"
    assert "Generator" in guest.ok("describe", "guarded", "--context", "eye").out
    refused = guest("pause", "guarded", "--context", "eye")
    assert (refused.code, "→ The user of this context may not do that." in refused.err) == (4, True)
    guest.ok("delete", "guarded")


def test_who_is_unknown_is_told_how_to_come_in(guest: Client) -> None:
    stranger = guest("get", "connectors", "--context", "anybody")
    assert (stranger.code, "→ penstock context add NAME --url URL --username USER" in stranger.err) == (4, True)
    wrong = guest("get", "connectors", "--context", "eye", EYE="penstock_wrong")
    assert wrong.code == 4


def test_a_connector_moves_to_a_guarded_worker_and_back(
    guest: Client, guarded: PenstockProcess, client_worker: PenstockProcess, tmp_path: Path
) -> None:
    name = f"moving-{uuid.uuid4().hex[:6]}"
    (tmp_path / "in.txt").write_text("one\ntwo\n")
    config = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt"), "topic": name}
    client_worker.create(name, {**config, "value.converter": STRING})
    wait_until(lambda: client_worker.http.get(f"/connectors/{name}/offsets").json()["offsets"], "it has read")
    refused = guest("migrate", name, "--from", client_worker.url, "--to", "eye")
    assert refused.code == 4, refused
    client_worker.wait_state(name, "RUNNING")
    assert guest.ok("migrate", name, "--from", client_worker.url, "--to", "ops").out == f"✓ {name} migrated\n"
    moved = guest.ok("offsets", "get", name, "-o", "json").data["offsets"]
    assert [entry["offset"] for entry in moved] == [{"position": 8}]
    guest.ok("migrate", name, "--from", "ops", "--to", client_worker.url)
    client_worker.wait_state(name, "RUNNING")
    client_worker.http.delete(f"/connectors/{name}")
