"""``--wait``: for what it waits, and what is told when it waits in vain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.client.conftest import Client, generator, new
from tests.support.worker import PenstockProcess

pytestmark = pytest.mark.integration

PLUGINS = Path(__file__).parents[2] / "support" / "plugins"
BROKEN = {"connector.class": "ProbeSource", "fail": "start"}
"""What validation lets pass and the connector does not."""


@pytest.fixture(scope="module")
def client_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    """A worker that has connectors which fail."""
    settings = {"spark.master": "local[2]", "plugin.path": str(PLUGINS)}
    with PenstockProcess(tmp_path_factory.mktemp("waiting"), settings) as process:
        yield process


@pytest.fixture
def trio(client_worker: PenstockProcess) -> Iterator[list[str]]:
    """Three connectors with a common prefix: the first and the last run, the second has failed."""
    prefix = new("trio")
    names = [f"{prefix}-{letter}" for letter in "abc"]
    for name in names:
        client_worker.create(name, generator(**(BROKEN if name == names[1] else {})))
    client_worker.wait_state(names[0], "RUNNING")
    client_worker.wait_state(names[1], "FAILED", 0)
    client_worker.wait_state(names[2], "RUNNING")
    yield names
    for name in names:
        client_worker.http.delete(f"/connectors/{name}")


def mend(worker: PenstockProcess, name: str) -> None:
    assert worker.http.put(f"/connectors/{name}/config", json=generator()).status_code == 200
    worker.wait_state(name, "RUNNING")


def state(worker: PenstockProcess, name: str) -> str:
    return str(worker.status(name)["connector"]["state"])


def test_a_restart_of_what_failed_does_not_wait_for_the_others(
    client: Client, client_worker: PenstockProcess, trio: list[str]
) -> None:
    first, failed, third = trio
    client.ok("pause", first, "--wait")
    client.ok("stop", third, "--wait")
    in_vain = client("restart", "--all", "--failed", "--wait", "--timeout", "60", "-o", "json")
    found = {one["name"]: one["result"] for one in in_vain.data if one["name"] in trio}
    assert (in_vain.code, found) == (
        8,
        {first: "had nothing to restart", third: "had nothing to restart", failed: "failed"},
    )
    mend(client_worker, failed)
    nothing = client.ok("restart", *trio, "--failed", "--wait", "--timeout", "60")
    assert nothing.out == "".join(f"  {name} had nothing to restart\n" for name in trio)
    assert (state(client_worker, first), state(client_worker, third)) == ("PAUSED", "STOPPED")


def test_a_restarted_connector_that_was_paused_or_stopped_is_so_again(
    client: Client, client_worker: PenstockProcess, trio: list[str]
) -> None:
    first, _, third = trio
    client.ok("pause", first, "--wait")
    client.ok("stop", third, "--wait")
    for flags in ([], ["--tasks"]):
        done = client.ok("restart", first, third, *flags, "--wait", "--timeout", "60")
        assert done.out == f"✓ {first} restarted\n✓ {third} restarted\n"
        assert (state(client_worker, first), state(client_worker, third)) == ("PAUSED", "STOPPED")


def test_an_edited_connector_that_is_stopped_stays_so_and_nobody_waits(client: Client, trio: list[str]) -> None:
    client.ok("stop", trio[0], "--wait")
    edited = client.ok("edit", trio[0], "--yes", "--wait", "--timeout", "60", EDITOR="sed -i s/none.txt/some.txt/")
    assert edited.out == f"  ~ file = none.txt → some.txt\n✓ {trio[0]} changed\n"


def test_an_edited_connector_that_fails_is_told_to_be_changed(client: Client, trio: list[str]) -> None:
    edited = client("edit", trio[1], "--yes", "--wait", "--timeout", "60", EDITOR="sed -i s/none.txt/some.txt/")
    assert (edited.code, edited.out.endswith(f"✓ {trio[1]} changed\n")) == (8, True)
    assert f"{trio[1]} will not be RUNNING: its connector has FAILED" in edited.err


def test_one_that_is_waited_for_in_vain_does_not_hide_the_others(client: Client, trio: list[str]) -> None:
    first, failed, third = trio
    paused = client("pause", *trio, "--wait", "--timeout", "60", "-o", "json")
    found = {one["name"]: (one["result"], one["status"]["connector"]["state"]) for one in paused.data}
    assert (paused.code, found) == (
        8,
        {first: ("paused", "PAUSED"), third: ("paused", "PAUSED"), failed: ("failed", "FAILED")},
    )
    assert f"{failed} will not be PAUSED: its connector has FAILED" in paused.data[-1]["message"]
    resumed = client("resume", *trio, "--wait", "--timeout", "60")
    assert (resumed.code, resumed.out) == (8, f"✓ {first} resumed\n✓ {third} resumed\n")
    assert f"error  {failed} will not be RUNNING" in resumed.err


def test_patterns_are_patched_and_those_that_fail_then_are_told_with_their_changes(
    client: Client, client_worker: PenstockProcess, trio: list[str]
) -> None:
    first, failed, third = trio
    arguments = ["patch", f"{first[:-2]}-*", "--wait", "--timeout", "60", "--set"]
    patched = client(*arguments, "topic=other", "-o", "json")
    change = [{"key": "topic", "before": "none", "after": "other"}]
    assert patched.code == 8
    assert [(one["name"], one["action"], one["changes"]) for one in patched.data] == [
        (first, "changed", change),
        (third, "changed", change),
        (failed, "failed", change),
    ]
    configs = [client_worker.http.get(f"/connectors/{name}/config").json() for name in trio]
    assert [config["topic"] for config in configs] == ["other"] * 3
    told = client(*arguments, "topic=third")
    assert (told.code, f"{failed} changed, but not RUNNING:\n" in told.out) == (8, True)
    assert told.out.count("  ~ topic = other → third\n") == 3


def test_one_that_fails_after_its_creation_does_not_hide_the_others(client: Client, tmp_path: Path) -> None:
    bad, good = new("bad"), new("good")
    files: list[str] = []
    for name, more in ((bad, BROKEN), (good, {})):
        (tmp_path / f"{name}.json").write_text(json.dumps({"name": name, "config": generator(**more)}))
        files += ["-f", str(tmp_path / f"{name}.json")]
    created = client("create", *files, "--wait", "--timeout", "60", "-o", "json")
    assert (created.code, [(one["name"], one["result"]) for one in created.data]) == (
        8,
        [(good, "created"), (bad, "failed")],
    )
    client.ok("delete", bad, good, "--wait")
