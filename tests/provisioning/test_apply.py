"""Applying all or nothing: whose connectors they are, plans out of date, and what happens when a step fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.provisioning.declared import DeclaredProbe, Files, pipeline, shown
from tests.support.probes import message

pytestmark = pytest.mark.integration


def test_a_connector_of_the_api_is_never_touched(files: Files, tmp_path: Path) -> None:
    probe = DeclaredProbe(tmp_path)
    worker = files.worker
    worker.create(probe.name, {"connector.class": "ProbeSource", "topic": "t", "journal": str(probe.journal)})
    worker.wait_state(probe.name, "RUNNING")
    files.declare("a.yaml", pipeline(probe.name, probe.entry({"count": "9"})))
    plan = files.plan()
    (problem,) = plan["problems"]
    assert plan["hash"] is None
    assert plan["changes"] == []
    assert problem["path"] == "pipelines[0].connectors[0].name"
    assert problem["message"] == f"Connector '{probe.name}' is there already and was made by the API, not by a file."
    assert probe.name in message(files.post(), 400)
    files.declare("a.yaml", pipeline(probe.name)).apply()
    assert worker.http.get(f"/connectors/{probe.name}").status_code == 200
    assert probe.hooks() == ["on_created"]


def test_a_file_may_adopt_a_connector_of_the_api_when_told_so(files: Files, tmp_path: Path) -> None:
    probe = DeclaredProbe(tmp_path)
    entry = probe.entry()
    files.worker.create(probe.name, {"connector.class": "ProbeSource", **entry["config"]})
    files.worker.wait_state(probe.name, "RUNNING")
    files.declare("a.yaml", pipeline(probe.name, entry))
    assert shown(files.apply(adopt=True)) == [("claim", probe.name, "nothing", [])]
    assert [call["call"] for call in probe.calls("start")] == ["start"]
    files.declare("a.yaml", pipeline(probe.name))
    assert shown(files.apply()) == [("delete", probe.name, "ends", ["deleted"])]
    probe.wait_hooks("on_created", "on_deleted")


def test_a_connector_of_another_set_of_files_is_a_clash(files: Files, tmp_path: Path) -> None:
    probe = DeclaredProbe(tmp_path)
    files.declare("a.yaml", pipeline(f"first-{probe.name}", probe.entry())).apply()
    others = Files(files.worker, f"{files.root}-others")
    others.declare("b.yaml", pipeline(f"second-{probe.name}", probe.entry()))
    (problem,) = others.plan()["problems"]
    assert f"belongs to pipeline 'first-{probe.name}' of {files.root}/a.yaml" in problem["message"]


def test_files_of_others_do_not_count_as_gone(files: Files, tmp_path: Path) -> None:
    probe = DeclaredProbe(tmp_path)
    files.declare("a.yaml", pipeline(probe.name, probe.entry())).apply()
    assert Files(files.worker, f"{files.root}-others").apply() == []
    assert files.worker.http.post("/pipelines/apply", json={"pipelines": []}).json()["changes"] == []
    assert files.plan()["unchanged"] == 1


def test_a_file_that_is_gone_takes_its_connectors_along(files: Files, tmp_path: Path) -> None:
    stays, goes = DeclaredProbe(tmp_path), DeclaredProbe(tmp_path)
    files.declare("a.yaml", pipeline(stays.name, stays.entry())).declare("b.yaml", pipeline(goes.name, goes.entry()))
    files.apply()
    goes.wait_hooks("on_created")
    files.declare("b.yaml")
    assert shown(files.apply()) == [("delete", goes.name, "ends", ["deleted"])]
    goes.wait_hooks("on_created", "on_deleted")
    stays.wait_hooks("on_created")


def test_moving_to_another_pipeline_or_file_restarts_nothing(files: Files, tmp_path: Path) -> None:
    probe = DeclaredProbe(tmp_path)
    files.declare("a.yaml", pipeline(f"first-{probe.name}", probe.entry())).apply()
    files.worker.wait_state(probe.name, "RUNNING")
    files.declare("a.yaml").declare("b.yaml", pipeline(f"second-{probe.name}", probe.entry()))
    assert shown(files.apply()) == [("claim", probe.name, "nothing", [])]
    assert [call["call"] for call in probe.calls("start")] == ["start"]
    found = {entry["id"]: entry for entry in files.worker.http.get("/pipelines").json()["pipelines"]}
    assert f"first-{probe.name}" not in found
    assert found[f"second-{probe.name}"]["file"] == f"{files.root}/b.yaml"


def test_drift_is_shown_and_put_back(files: Files, tmp_path: Path) -> None:
    probe = DeclaredProbe(tmp_path)
    files.declare("a.yaml", pipeline(probe.name, probe.entry({"count": "1"}), status="running")).apply()
    files.worker.wait_state(probe.name, "RUNNING")
    http = files.worker.http
    assert http.patch(f"/connectors/{probe.name}/config", json={"count": "5", "batch": "3"}).status_code == 200
    assert http.put(f"/connectors/{probe.name}/pause").status_code == 202
    (own,) = [entry for entry in http.get("/pipelines").json()["pipelines"] if entry["id"] == probe.name]
    assert own["connectors"] == [{"name": probe.name, "state": "paused", "drift": ["batch", "count", "status"]}]
    (change,) = files.plan()["changes"]
    assert [(key["key"], key["before"], key["after"], key["drift"]) for key in change["keys"]] == [
        ("batch", "3", None, True),
        ("count", "5", "1", True),
    ]
    assert change["state"] == {"before": "paused", "after": "running", "drift": True}
    assert "which undoes what somebody changed by the API" in change["summary"]
    files.apply()
    files.worker.wait_state(probe.name, "RUNNING")
    assert http.get(f"/connectors/{probe.name}/config").json()["count"] == "1"
    assert files.plan()["changes"] == []


def test_what_the_file_and_the_api_change_at_once_is_told_apart(files: Files, tmp_path: Path) -> None:
    probe = DeclaredProbe(tmp_path)
    files.declare("a.yaml", pipeline(probe.name, probe.entry({"count": "1", "batch": "1"}))).apply()
    path = f"/connectors/{probe.name}/config"
    assert files.worker.http.patch(path, json={"batch": "3"}).status_code == 200
    files.declare("a.yaml", pipeline(probe.name, probe.entry({"count": "2", "batch": "1"})))
    (change,) = files.plan()["changes"]
    assert {key["key"]: key["drift"] for key in change["keys"]} == {"count": False, "batch": True}


def _change_count(files: Files, probe: DeclaredProbe) -> None:
    files.worker.http.patch(f"/connectors/{probe.name}/config", json={"count": "6"})


def _pause(files: Files, probe: DeclaredProbe) -> None:
    files.worker.http.put(f"/connectors/{probe.name}/pause")


def _change_the_file(files: Files, probe: DeclaredProbe) -> None:
    files.declare("a.yaml", pipeline(probe.name, probe.entry({"count": "3"})))


def _delete(files: Files, probe: DeclaredProbe) -> None:
    files.worker.http.delete(f"/connectors/{probe.name}")


@pytest.mark.parametrize("change", [_change_count, _pause, _change_the_file, _delete])
def test_a_plan_that_is_out_of_date_is_refused(files: Files, tmp_path: Path, change: Any) -> None:
    probe = DeclaredProbe(tmp_path)
    files.declare("a.yaml", pipeline(probe.name, probe.entry({"count": "1"}))).apply()
    files.worker.wait_state(probe.name, "RUNNING")
    files.declare("a.yaml", pipeline(probe.name, probe.entry({"count": "2"})))
    before = files.plan()["hash"]
    assert files.plan()["hash"] == before
    change(files, probe)
    text = message(files.post(plan=before), 409)
    assert text.startswith(f"The plan {before} is out of date")
    assert "and it would be" in text
    assert files.worker.http.get(f"/connectors/{probe.name}/config").json().get("count") != "2"


def test_where_files_lie_does_not_make_a_plan_out_of_date(files: Files, tmp_path: Path) -> None:
    """A plan is made in one job of a CI system and applied in another, from another folder."""
    probe = DeclaredProbe(tmp_path)
    files.declare("a.yaml", pipeline(probe.name, probe.entry())).apply()
    files.worker.wait_state(probe.name, "RUNNING")
    one, other = Files(files.worker, f"{files.root}/one"), Files(files.worker, f"{files.root}/other")
    for place in (one, other):
        place.declare("a.yaml", pipeline(probe.name, probe.entry({"count": "2"})))
    assert other.apply(plan=one.plan()["hash"])


class Fleet:
    """One connector for each kind of action, and one whose creation fails after all of them."""

    def __init__(self, files: Files, folder: Path) -> None:
        self.files = files
        self.kept, self.changed, self.stopped, self.deleted, self.idle, self.new, self.refused = (
            DeclaredProbe(folder) for _ in range(7)
        )
        self.id = f"fleet-{self.kept.name}"
        self.topic = f"{self.id}-topic"
        self.other_topic = f"{self.id}-other"

    def first(self) -> list[dict[str, Any]]:
        running = [self.kept, self.changed, self.stopped, self.deleted]
        read = [{"partition": {"task": 0}, "offset": {"next": 3}}]
        return [
            pipeline(
                self.id,
                *(probe.entry({"count": "3"}, offsets=read) for probe in running),
                self.idle.entry(status="stopped"),
                topics=[{"name": self.topic, "retention": "7d"}],
            )
        ]

    def second(self, alter: str) -> list[dict[str, Any]]:
        start = [{"partition": {"task": 0}, "offset": {"next": 1}}]
        return [
            pipeline(
                self.id,
                self.kept.entry({"count": "3"}),
                self.changed.entry({"count": "5"}),
                self.stopped.entry({"count": "3"}, status="stopped"),
                self.new.entry(offsets=start),
                self.refused.entry({"alter.offsets": alter}, offsets=start),
                topics=[{"name": self.topic, "retention": "1d"}, {"name": self.other_topic}],
            )
        ]

    def set_up(self) -> None:
        self.files.declare("a.yaml", *self.first()).apply()
        for probe in (self.kept, self.changed, self.stopped, self.deleted):
            self.files.worker.wait_state(probe.name, "RUNNING", tasks=1)

    def offsets(self, probe: DeclaredProbe) -> Any:
        return self.files.worker.http.get(f"/connectors/{probe.name}/offsets").json().get("offsets")

    def state(self) -> dict[str, Any]:
        """All that can be seen of the worker's connectors of this fleet."""
        http = self.files.worker.http
        found: dict[str, Any] = {}
        for name, entry in http.get("/connectors?expand=info&expand=status").json().items():
            if name in {probe.name for probe in vars(self).values() if isinstance(probe, DeclaredProbe)}:
                parts = ("offsets", "lifecycle", "tasks")
                found[name] = [entry, *(http.get(f"/connectors/{name}/{part}").json() for part in parts)]
        return found


def test_a_failing_apply_leaves_everything_as_it_was(files: Files, tmp_path: Path) -> None:
    fleet = Fleet(files, tmp_path)
    fleet.set_up()
    before = fleet.state()
    assert fleet.offsets(fleet.deleted) == [{"partition": {"task": 0}, "offset": {"next": 3}}]
    declared = files.worker.http.get("/pipelines").json()
    files.declare("a.yaml", *fleet.second("raise"))
    actions = [change["action"] for change in files.plan()["changes"]]
    assert actions == ["create-topic", "delete", "delete", "update", "state", "create", "create", "change-topic"]

    text = message(files.post(), 400)
    assert text.startswith(f"The files were not applied: create connector {fleet.refused.name} failed: ")
    assert "these offsets are refused" in text
    assert "What was done before it (6) was undone." in text

    assert fleet.state() == before
    assert files.worker.http.get("/pipelines").json() == declared
    assert fleet.offsets(fleet.new) is None
    assert [change["action"] for change in files.plan()["changes"]] == actions
    for probe in (fleet.kept, fleet.changed, fleet.stopped, fleet.deleted):
        assert probe.hooks() == ["on_created"]
        assert [call["call"] for call in probe.calls("start") + probe.calls("stop")] == ["start"]
        files.worker.wait_state(probe.name, "RUNNING", tasks=1)
    assert files.worker.http.get("/lifecycle/cleanups").json() == []

    files.declare("a.yaml", *fleet.second("true")).apply()
    assert files.plan()["changes"] == []
    fleet.changed.wait_hooks("on_created", "on_updated")
    fleet.deleted.wait_hooks("on_created", "on_deleted")
    assert fleet.kept.hooks() == ["on_created"]


def test_after_an_undone_apply_the_next_deletion_calls_the_hook_once(files: Files, tmp_path: Path) -> None:
    """The lifecycle of a connector whose deletion was undone is as before: active, with nothing pending."""
    probe, refused = DeclaredProbe(tmp_path), DeclaredProbe(tmp_path)
    files.declare("a.yaml", pipeline(probe.name, probe.entry())).apply()
    files.worker.wait_state(probe.name, "RUNNING")
    start = [{"partition": {"task": 0}, "offset": {"next": 1}}]
    files.declare("a.yaml", pipeline(probe.name, refused.entry({"alter.offsets": "raise"}, offsets=start)))
    assert files.post().status_code == 400
    files.declare("a.yaml", pipeline(probe.name)).apply()
    probe.wait_hooks("on_created", "on_deleted")


def test_errors_of_configurations_have_a_path_and_a_suggestion(files: Files, tmp_path: Path) -> None:
    probe, other, third = (DeclaredProbe(tmp_path) for _ in range(3))
    probe.kind = "ProbeSorce"
    bad = other.entry({"count": "many", "tasks.max": "0"})
    missing = {"name": third.name, "class": "ProbeSource", "config": {"topics": "x"}}
    transforms = [{"name": "mask", "class": "org.apache.kafka.connect.transforms.MaskFeld$Value"}]
    files.declare("a.yaml", pipeline("a-" + probe.name, probe.entry(), {**bad, "transforms": transforms}, missing))
    plan = files.plan()
    assert plan["hash"] is None
    found = {problem["path"]: (problem["message"], problem["suggestion"]) for problem in plan["problems"]}
    at = "pipelines[0].connectors"
    assert found[f"{at}[0].class"][0] == "There is no connector class 'ProbeSorce' on this worker."
    assert found[f"{at}[0].class"][1] == "Did you mean 'ProbeSource'?"
    assert "Invalid value many for configuration count" in found[f"{at}[1].config.count"][0]
    assert "tasks.max" in found[f"{at}[1].config.tasks.max"][0]
    assert found[f"{at}[1].transforms[0].class"][1].startswith("Did you mean 'org.apache.kafka.connect.transforms.Mask")
    assert 'Missing required configuration "topic"' in found[f"{at}[2].config"][0]
    assert found[f"{at}[2].config"][1] == "Is it meant by 'topics'?"
    text = message(files.post(), 400)
    for problem in plan["problems"]:
        assert (problem["message"] in text) == (problem["severity"] == "error")


def test_an_unknown_key_that_looks_like_a_known_one_is_a_warning(files: Files, tmp_path: Path) -> None:
    probe = DeclaredProbe(tmp_path)
    files.declare("a.yaml", pipeline(probe.name, probe.entry({"task.max": "1", "something.else": "1"})))
    plan = files.plan()
    (warning,) = plan["problems"]
    assert plan["hash"] is not None
    assert (warning["severity"], warning["path"]) == ("warning", "pipelines[0].connectors[0].config.task.max")
    assert warning["suggestion"] == "Did you mean 'tasks.max'?"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "either 'files' or 'pipelines'"),
        ([], "must be an object"),
        ({"pipelines": [], "files": []}, "either 'files' or 'pipelines'"),
        ({"files": [{"file": "a"}]}, "files[0] must be an object with 'file' and 'document'"),
        ({"files": [{"file": "a", "document": {}, "number": -1}]}, "files[0].number must be an integer"),
        ({"pipelines": [], "paths": "x"}, "'paths' must be a list"),
        ({"pipelines": [], "adopt": "x"}, "'adopt' must be true or false"),
        ({"pipelines": [], "pln": "x"}, "Unknown key 'pln'"),
    ],
)
def test_a_body_of_another_shape_is_refused(files: Files, body: Any, text: str) -> None:
    assert text in message(files.worker.http.post("/pipelines/apply", json=body), 400)


def test_a_json_pipeline_file_can_be_posted_as_it_is(files: Files, tmp_path: Path) -> None:
    probe = DeclaredProbe(tmp_path)
    entry = {**probe.entry(), "config": {**probe.entry()["config"], "count": 3, "tasks.max": 1}}
    body = {"pipelines": [pipeline(probe.name, entry)]}
    answer = files.worker.http.post("/pipelines/apply", json=body)
    assert answer.status_code == 200, answer.text
    assert files.worker.http.get(f"/connectors/{probe.name}/config").json()["count"] == "3"


def test_the_schema_is_served(files: Files) -> None:
    schema = files.worker.http.get("/schemas/pipeline.json").json()
    assert schema["title"] == "Penstock pipeline file"
    assert schema["$defs"]["Connector"]["required"] == ["name"]
