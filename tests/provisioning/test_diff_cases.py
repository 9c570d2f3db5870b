"""Every difference between a file and a worker: what the plan says, and what applying it does. Over the real API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.provisioning.declared import DeclaredProbe, Files, pipeline, shown
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

Step = Callable[[Files, DeclaredProbe], None]
NOTHING: list[tuple[str, str, list[str]]] = []


def _request(method: str, path: str, body: Any = None) -> Step:
    def ask(files: Files, probe: DeclaredProbe) -> None:
        answer = files.worker.http.request(method, f"/connectors/{probe.name}{path}", json=body)
        assert answer.status_code < 300, answer.text

    return ask


def _wait(state: str, tasks: int | None = None) -> Step:
    return lambda files, probe: files.worker.wait_state(probe.name, state, tasks) and None


def _accepted(key: str, value: str) -> Step:
    """Wait until the hook has not only been called: what it was called with is the active configuration."""

    def wait(files: Files, probe: DeclaredProbe) -> None:
        lifecycle = f"/connectors/{probe.name}/lifecycle"
        wait_until(lambda: files.worker.http.get(lifecycle).json()["active"][key] == value, f"{key} is {value}")

    return wait


def _cleaned_up(files: Files, probe: DeclaredProbe) -> None:
    """Wait until the deletion hook has not only been called: a new connector of the name waits for its clean-up."""

    def names() -> list[str]:
        return [cleanup["connector"] for cleanup in files.worker.http.get("/lifecycle/cleanups").json()]

    wait_until(lambda: probe.name not in names(), "it is cleaned up")


@dataclass(frozen=True)
class Case:
    """``first`` and ``second`` are what the file says of a connector and of its pipeline; ``None``: it is not there.

    In between ``steps`` are taken. ``changes`` are (action, effect, expected hooks) of the second plan, ``hooks`` those
    called in the end.
    """

    name: str
    first: dict[str, Any] | None
    second: dict[str, Any] | None
    changes: list[tuple[str, str, list[str]]]
    hooks: list[str]
    status: tuple[str | None, str | None] = (None, None)
    keys: list[str] = field(default_factory=list)
    steps: tuple[Step, ...] = ()
    kinds: tuple[str, str] = ("ProbeSource", "ProbeSource")


RUNS = _wait("RUNNING", 1)
CASES = [
    Case("a new connector", None, {}, [("create", "starts", ["created"])], ["on_created"]),
    Case("a new connector, paused", None, {}, [("create", "nothing", ["created"])], [], (None, "paused")),
    Case("a new connector, stopped", None, {}, [("create", "nothing", ["created"])], [], (None, "stopped")),
    Case("nothing changed", {}, {}, NOTHING, ["on_created"], steps=(RUNS,)),
    Case("a key has another value", {"count": "1"}, {"count": "2"}, [("update", "restarts", ["updated"])],
         ["on_created", "on_updated"], keys=["count"], steps=(RUNS,)),
    Case("a key is new", {}, {"count": "2"}, [("update", "restarts", ["updated"])],
         ["on_created", "on_updated"], keys=["count"], steps=(RUNS,)),
    Case("a key is gone", {"count": "1"}, {}, [("update", "restarts", ["updated"])],
         ["on_created", "on_updated"], keys=["count"], steps=(RUNS,)),
    Case("a key changes before the first start", {}, {"count": "2"}, [("update", "nothing", ["created"])], [],
         ("stopped", "stopped"), keys=["count"]),
    Case("a key changes while paused", {}, {"count": "2"}, [("update", "nothing", ["updated"])], ["on_created"],
         ("paused", "paused"), keys=["count"], steps=(_request("PUT", "/resume"), RUNS, _request("PUT", "/pause"))),
    Case("a key and the status change", {}, {"count": "2"}, [("update", "starts", ["created"])], ["on_created"],
         ("stopped", "running"), keys=["count"]),
    Case("running becomes paused", {}, {}, [("state", "pauses", [])], ["on_created"], ("running", "paused"),
         steps=(RUNS,)),
    Case("running becomes stopped", {}, {}, [("state", "stops", [])], ["on_created"], ("running", "stopped"),
         steps=(RUNS,)),
    Case("stopped becomes running", {}, {}, [("state", "starts", ["created"])], ["on_created"],
         ("stopped", "running")),
    Case("the API paused it, the file says running", {}, {}, [("state", "starts", [])], ["on_created"],
         ("running", "running"), steps=(RUNS, _request("PUT", "/pause"))),
    Case("the API paused it, the file does not care", {}, {}, NOTHING, ["on_created"],
         steps=(RUNS, _request("PUT", "/pause"))),
    Case("the API changed a key", {"count": "1"}, {"count": "1"}, [("update", "restarts", ["updated"])],
         ["on_created", "on_updated", "on_updated"], keys=["count"],
         steps=(RUNS, _request("PATCH", "/config", {"count": "7"}),
                _accepted("count", "7"))),
    Case("the API made the change of the file before", {}, {"count": "7"}, [("claim", "nothing", [])],
         ["on_created", "on_updated"],
         steps=(RUNS, _request("PATCH", "/config", {"count": "7"}),
                _accepted("count", "7"))),
    Case("the API deleted it", {}, {}, [("create", "starts", ["created"])],
         ["on_created", "on_deleted", "on_created"],
         steps=(RUNS, _request("DELETE", ""), lambda files, probe: probe.wait_hooks("on_created", "on_deleted"),
                _cleaned_up)),
    Case("gone from the file", {}, None, [("delete", "ends", ["deleted"])], ["on_created", "on_deleted"],
         steps=(RUNS,)),
    Case("gone from the file before its first start", {}, None, [("delete", "ends", [])], [], ("stopped", None)),
    Case("another class", {}, {}, [("update", "restarts", ["deleted", "created"])],
         ["on_created", "on_deleted", "on_created"], keys=["connector.class"], steps=(RUNS,),
         kinds=("ProbeSource", "OtherSource")),
    Case("a class without hooks", {}, {"count": "1"}, [("update", "restarts", [])], [], keys=["count"],
         steps=(RUNS,), kinds=("PlainSource", "PlainSource")),
]  # fmt: skip


def _declare(files: Files, probe: DeclaredProbe, config: dict[str, Any] | None, status: str | None, kind: str) -> None:
    probe.kind = kind
    connectors = [] if config is None else [probe.entry(config)]
    more = {} if status is None else {"status": status}
    files.declare("a.yaml", pipeline(f"pipeline-of-{probe.name}", *connectors, **more))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_plan_says_what_applying_does(case: Case, files: Files, tmp_path: Path) -> None:
    probe = DeclaredProbe(tmp_path)
    if case.first is not None:
        _declare(files, probe, case.first, case.status[0], case.kinds[0])
        files.apply()
        for step in case.steps:
            step(files, probe)
    _declare(files, probe, case.second, case.status[1], case.kinds[1])

    plan = files.plan()
    assert plan["problems"] == []
    assert shown(plan["changes"]) == [(action, probe.name, effect, hooks) for action, effect, hooks in case.changes]
    if case.keys:
        assert [key["key"] for key in plan["changes"][0]["keys"]] == case.keys

    assert files.apply(plan=plan["hash"]) == plan["changes"]
    probe.wait_hooks(*case.hooks)
    again = files.plan()
    assert again["changes"] == []
    assert again["unchanged"] == (0 if case.second is None else 1)
    if case.second is None:
        wait_until(lambda: _status_code(files, probe) == 404, "it is gone")
    else:
        _settles(files, probe, case.status[1])


def _status_code(files: Files, probe: DeclaredProbe) -> int:
    return files.worker.http.get(f"/connectors/{probe.name}/status").status_code


def _settles(files: Files, probe: DeclaredProbe, status: str | None) -> None:
    if status is not None:
        files.worker.wait_state(probe.name, status.upper(), tasks=None)
    found = files.worker.http.get("/pipelines").json()["pipelines"]
    (own,) = [entry for entry in found if entry["id"] == f"pipeline-of-{probe.name}"]
    assert own["file"] == f"{files.root}/a.yaml"
    assert own["origin"] == "api"
    assert [(connector["name"], connector["drift"]) for connector in own["connectors"]] == [(probe.name, [])]


def test_hooks_get_the_configurations_that_the_plan_shows(files: Files, tmp_path: Path) -> None:
    probe = DeclaredProbe(tmp_path)
    files.declare("a.yaml", pipeline(probe.name, probe.entry({"count": "1"}))).apply()
    probe.wait_hooks("on_created")
    files.declare("a.yaml", pipeline(probe.name, probe.entry({"count": "2"}))).apply(plan=files.plan()["hash"])
    probe.wait_hooks("on_created", "on_updated")
    _accepted("count", "2")(files, probe)
    files.declare("a.yaml", pipeline(probe.name))
    (deleted,) = files.plan()["changes"][0]["hooks"]
    assert deleted["before"]["count"] == "2"
    assert deleted["after"] is None
    files.apply()
    probe.wait_hooks("on_created", "on_updated", "on_deleted")
    _, updated, gone = probe.calls()
    assert (updated["old"]["count"], updated["new"]["count"]) == ("1", "2")
    assert gone["old"] == deleted["before"]


def test_secrets_are_hidden_in_keys_and_hooks(files: Files, tmp_path: Path) -> None:
    probe = DeclaredProbe(tmp_path)
    files.declare("a.yaml", pipeline(probe.name, probe.entry({"secret": "hunter2", "api.token": "t0ps3cret"})))
    text = str(files.plan())
    assert "hunter2" not in text
    assert "t0ps3cret" not in text
    files.apply()
    probe.wait_hooks("on_created")
    files.declare("a.yaml", pipeline(probe.name, probe.entry({"secret": "swordfish", "api.token": "${env:HOME}"})))
    plan = files.plan()
    assert plan["changes"][0]["keys"] == [
        {"key": "api.token", "before": "[hidden]", "after": "${env:HOME}", "drift": False},
        {"key": "secret", "before": "[hidden]", "after": "[hidden]", "drift": False},
    ]
    assert "swordfish" not in str(plan)


def test_topics_are_created_and_their_settings_changed(files: Files) -> None:
    name = f"topic-of-{files.root[1:]}"
    files.declare("a.yaml", pipeline(name, topics=[{"name": name, "partitions": 2, "retention": "7d"}]))
    (change,) = files.plan()["changes"]
    assert (change["action"], change["name"]) == ("create-topic", name)
    assert {key["key"]: key["after"] for key in change["keys"]} == {"partitions": "2", "retention.ms": "604800000"}
    files.apply()
    assert files.plan()["changes"] == []

    files.declare("a.yaml", pipeline(name, topics=[{"name": name, "partitions": 2, "retention": "1h"}]))
    (change,) = files.plan()["changes"]
    assert change["action"] == "change-topic"
    assert change["keys"] == [{"key": "retention.ms", "before": "604800000", "after": "3600000", "drift": False}]
    assert change["notes"] == ["Records beyond the new retention.ms are removed for good."]
    files.apply()
    assert files.plan()["changes"] == []

    files.declare("a.yaml", pipeline(name, topics=[{"name": name, "partitions": 3}]))
    (problem,) = files.plan()["problems"]
    assert problem["path"] == "pipelines[0].topics[0]"
    assert problem["message"] == f"The topic '{name}' has 2 partitions, which cannot become another number."

    files.declare("a.yaml", pipeline(name))
    assert files.plan()["changes"] == []


def test_initial_offsets_are_written_at_creation_only(files: Files, tmp_path: Path) -> None:
    probe = DeclaredProbe(tmp_path)
    start = [{"partition": {"task": 0}, "offset": {"next": 5}}]
    files.declare("a.yaml", pipeline(probe.name, probe.entry(offsets=start), status="stopped"))
    (change,) = files.plan()["changes"]
    assert change["notes"] == ["It begins at the offsets of the file, 1 partition."]
    files.apply()
    offsets = f"/connectors/{probe.name}/offsets"
    assert files.worker.http.get(offsets).json() == {"offsets": start}
    files.worker.wait_state(probe.name, "STOPPED", tasks=0)
    moved = {"offsets": [{"partition": {"task": 0}, "offset": {"next": 9}}]}
    assert files.worker.http.patch(offsets, json=moved).status_code == 200
    assert files.plan()["changes"] == []

    files.declare("a.yaml", pipeline(probe.name)).apply()
    files.declare("a.yaml", pipeline(probe.name, probe.entry(), status="stopped"))
    (change,) = files.plan()["changes"]
    assert change["notes"] == ["It goes on from the offsets that an earlier connector of this name left."]


def test_a_renamed_connector_starts_after_the_old_one_was_cleaned_up(files: Files, tmp_path: Path) -> None:
    """The two share something outside: what the old one removes must not be what the new one just made."""
    old, new = DeclaredProbe(tmp_path), DeclaredProbe(tmp_path)
    new.journal = old.journal
    files.declare("a.yaml", pipeline(old.name, old.entry({"slow": "on_deleted"}))).apply()
    old.wait_hooks("on_created")
    files.worker.wait_state(old.name, "RUNNING")
    files.declare("a.yaml", pipeline(old.name, new.entry()))
    assert [change["action"] for change in files.apply()] == ["delete", "create"]
    old.wait_hooks("on_created", "on_deleted", "on_created")
