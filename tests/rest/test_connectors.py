"""The routes under /connectors: codes, bodies, headers."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

import penstock
from penstock.rest import waiting
from penstock.runtime.assembly import StandaloneWorker
from penstock.runtime.requests import RequestError, State, TargetState
from penstock.storage.unfinished_records import Step, Unfinished
from tests.rest.conftest import WORKER_ID
from tests.rest.troubled_herder import TroubledHerder
from tests.support.waiting import wait_until


def error(answer: httpx2.Response) -> tuple[int, Any]:
    body = answer.json()
    assert set(body) == {"error_code", "message"}
    assert body["error_code"] == answer.status_code
    assert answer.headers["content-type"] == "application/json"
    return answer.status_code, body["message"]


def create(api: httpx2.Client, name: str, config: dict[str, str], **more: Any) -> httpx2.Response:
    return api.post("/connectors", json={"name": name, "config": config, **more})


def test_a_connector_is_created_with_its_address(api: httpx2.Client, config: dict[str, str]) -> None:
    answer = create(api, "orders", config)
    assert answer.status_code == 201
    assert answer.headers["location"] == f"{api.base_url}/connectors/orders"
    assert answer.json() == {"name": "orders", "config": {**config, "name": "orders"}, "tasks": [], "type": "source"}
    assert api.get("/connectors").json() == ["orders"]


def settled(api: httpx2.Client, name: str, state: str = "RUNNING") -> dict[str, Any]:
    """The status of a connector once it and its one task are in a state."""

    def reached() -> dict[str, Any] | None:
        found = api.get(f"/connectors/{name}/status").json()
        parts = [found.get("connector", {}), *found.get("tasks", [])]
        return found if len(parts) == 2 and all(part.get("state") == state for part in parts) else None

    found = wait_until(reached, f"{name} is {state}")
    assert found is not None
    return found


def test_status_shows_a_trace_only_when_there_is_one(
    api: httpx2.Client, herder: TroubledHerder, config: dict[str, str]
) -> None:
    create(api, "orders", config)
    running = {"state": "RUNNING", "worker_id": WORKER_ID, "version": "0.1.0"}
    assert settled(api, "orders") == {
        "name": "orders",
        "connector": running,
        "tasks": [{"id": 0, **running}],
        "type": "source",
    }
    herder.real.services.statuses.connector("orders", State.FAILED, "broken \udce4 text").exception(10)
    assert api.get("/connectors/orders/status").json()["connector"]["trace"] == "broken \udce4 text"


def test_offsets_in_a_creation_request_are_there_from_the_start(api: httpx2.Client, config: dict[str, str]) -> None:
    given = [{"partition": {"filename": config["file"]}, "offset": {"position": 7}}]
    assert create(api, "orders", config, offsets=given).status_code == 201
    assert api.get("/connectors/orders/offsets").json() == {"offsets": given}


@pytest.mark.parametrize("field", ["initial_offsets", "offsets"])
def test_initial_offsets_replace_those_of_an_earlier_connector(
    api: httpx2.Client, config: dict[str, str], field: str
) -> None:
    place, other = {"filename": config["file"]}, {"filename": "/elsewhere"}
    first = [{"partition": place, "offset": {"position": 7}}, {"partition": other, "offset": {"position": 8}}]
    made = create(api, "orders", config, initial_state="STOPPED", **{field: first})
    altered = "The offsets for this connector have been altered successfully"
    assert (made.status_code, made.json()["offsets_status"]) == (201, altered)
    assert list(made.json()) == ["name", "config", "tasks", "type", "offsets_status"]
    assert "offsets_status" not in api.get("/connectors/orders").json()
    api.delete("/connectors/orders")
    second = [{"partition": place, "offset": {"position": 3}}]
    assert create(api, "orders", config, initial_state="STOPPED", **{field: second}).status_code == 201
    assert api.get("/connectors/orders/offsets").json() == {"offsets": second}
    api.delete("/connectors/orders")
    assert "offsets_status" not in create(api, "orders", config, initial_state="STOPPED").json()
    assert api.get("/connectors/orders/offsets").json() == {"offsets": second}


def test_deletion_takes_the_offsets_along_only_when_asked(api: httpx2.Client, config: dict[str, str]) -> None:
    given = [{"partition": {"filename": config["file"]}, "offset": {"position": 7}}]
    for name, query, kept in (
        ("a", "", given),
        ("b", "?includeOffsets=TRUE", []),
        ("c", "?includeOffsets=yes", given),
    ):
        create(api, name, config, offsets=given)
        answer = api.delete(f"/connectors/{name}{query}")
        assert answer.status_code == 204
        assert answer.content == b""
        assert "content-length" not in answer.headers
        create(api, name, config, initial_state="STOPPED")
        assert api.get(f"/connectors/{name}/offsets").json() == {"offsets": kept}


def test_expansion_shows_what_was_asked_for(api: httpx2.Client, config: dict[str, str]) -> None:
    create(api, "a", config)
    settled(api, "a")
    shown = api.get("/connectors?expand=info&expand=status&expand=other").json()
    assert set(shown) == {"a"}
    assert set(shown["a"]) == {"info", "status"}
    assert api.get("/connectors?expand").json() == {"a": {}}


@pytest.mark.parametrize(
    "name",
    [
        "with space", "a/b", "a%b", "100%25", "%2F", "q?h#x", "plus+and&", ";semi=colon", "..", ".", "ünï✓", "\\", "~",
        "a//b", "status", "quote\"'", "x" * 3000,
    ],
)  # fmt: skip
def test_every_name_that_can_be_created_can_be_addressed(api: httpx2.Client, config: dict[str, str], name: str) -> None:
    created = create(api, name, config)
    assert created.status_code == 201
    path = "/connectors/" + quote(name, safe="")
    raw = created.headers["location"].removeprefix(str(api.base_url))
    for target in (path, path + "/", raw):
        assert send(api, "GET", target).json()["name"] == name
    wait_until(lambda: send(api, "GET", path + "/status").json().get("name") == name, "there is a status")
    assert send(api, "PUT", path + "/config", json=config).status_code == 200
    assert send(api, "PUT", path + "/pause").status_code == 202
    assert send(api, "DELETE", path).status_code == 204
    assert error(send(api, "GET", path)) == (404, f"Connector {name} not found")


def send(api: httpx2.Client, method: str, target: str, **more: Any) -> httpx2.Response:
    """Sends the target as it is written: httpx2 would tidy dots and escapes."""
    request = api.build_request(method, "/", extensions={"target": target.encode("ascii")}, **more)
    return api.send(request)


def test_a_slash_in_the_path_never_creates(api: httpx2.Client, config: dict[str, str]) -> None:
    code, message = error(send(api, "PUT", "/connectors/a%2Fb/config", json=config))
    assert code == 400
    assert "POST /connectors" in message
    assert api.get("/connectors").json() == []


def test_the_name_in_the_config_must_be_the_one_in_the_path(api: httpx2.Client, config: dict[str, str]) -> None:
    answer = api.put("/connectors/a/config", json={**config, "name": "b"})
    assert error(answer) == (400, "Connector name configuration (b) doesn't match connector name in the URL (a)")
    assert api.put("/connectors/a/config", json={**config, "name": None}).status_code == 201


@pytest.mark.parametrize("task", ["abc", "1.5", "99999999999", "2147483648", "٣", "0x1", ""])
def test_a_task_that_is_no_number_is_no_path(api: httpx2.Client, config: dict[str, str], task: str) -> None:
    create(api, "a", config)
    assert api.get(f"/connectors/a/tasks/{quote(task)}/status").status_code in (400, 404)


@pytest.mark.parametrize(("task", "code"), [("0", 200), ("00", 200), ("+0", 200), ("-1", 404), ("1", 404)])
def test_a_task_is_found_by_number(api: httpx2.Client, config: dict[str, str], task: str, code: int) -> None:
    create(api, "a", config)
    settled(api, "a")
    answer = api.get(f"/connectors/a/tasks/{task}/status")
    assert answer.status_code == code
    if code == 404:
        assert error(answer)[1] == f"No status found for task a-{int(task)}"


@pytest.mark.parametrize(
    ("query", "code"),
    [("", 204), ("?includeTasks=false", 204), ("?includeTasks=maybe", 204), ("?includeTasks=True", 202),
     ("?onlyFailed=true", 202), ("?onlyFailed=true&includeTasks=true&forward=false", 202)],
)  # fmt: skip
def test_restart_answers_with_a_plan_when_it_was_asked_for_more(
    api: httpx2.Client, config: dict[str, str], query: str, code: int
) -> None:
    create(api, "a", config)
    settled(api, "a")
    answer = api.post(f"/connectors/a/restart{query}")
    assert answer.status_code == code
    assert (answer.json()["name"] == "a") if code == 202 else not answer.content


def test_a_request_that_takes_too_long_is_given_up_but_goes_on(
    api: httpx2.Client, herder: TroubledHerder, monkeypatch: pytest.MonkeyPatch
) -> None:
    herder.stuck = Future()
    monkeypatch.setattr(waiting.answer_of, "__defaults__", (0.05,))
    assert error(api.get("/connectors/a/offsets")) == (500, "Request timed out")
    assert not herder.stuck.cancelled()
    herder.stuck.set_exception(RequestError("too late for anybody"))
    assert api.get("/connectors").json() == []


def test_a_stuck_herder_is_unhealthy_while_reads_still_answer(
    api: httpx2.Client, herder: TroubledHerder, config: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    create(api, "a", config)
    settled(api, "a")
    herder.stuck = Future()
    monkeypatch.setattr("penstock.rest.worker.HEALTH_SECONDS", 0.05)
    answer = api.get("/health")
    assert answer.status_code == 500
    assert answer.json() == {
        "status": "unhealthy",
        "message": "Worker was unable to handle this request and may be unable to handle other requests.",
    }
    assert api.get("/").status_code == 200
    assert api.get("/connectors/a/status").status_code == 200


def test_an_error_of_ours_tells_the_client_little_and_the_log_all(
    api: httpx2.Client, herder: TroubledHerder, caplog: pytest.LogCaptureFixture
) -> None:
    herder.failure = ZeroDivisionError("secret detail")
    code, message = error(api.get("/connectors/a"))
    assert code == 500
    assert "secret" not in message
    assert "secret detail" in caplog.text
    assert "GET /connectors/a failed" in caplog.text


def test_a_herder_that_shuts_down_is_told_to_the_client(api: httpx2.Client, herder: TroubledHerder) -> None:
    herder.stuck = Future()
    herder.stuck.cancel()
    assert error(api.get("/connectors/a/offsets")) == (500, "Worker is shutting down")


def test_a_predicate_that_nobody_declared_fails_the_task_and_not_the_connector(
    api: httpx2.Client, config: dict[str, str]
) -> None:
    filtered = {"transforms": "f", "transforms.f.type": "Filter", "transforms.f.predicate": "nobody"}
    assert create(api, "filtered", {**config, **filtered}).status_code == 201

    def seen() -> list[str]:
        status = api.get("/connectors/filtered/status").json()
        return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]

    wait_until(lambda: seen() == ["RUNNING", "FAILED"], "the task has failed")
    trace = api.get("/connectors/filtered/tasks/0/status").json()["trace"]
    assert "Unknown configuration 'predicates.nobody.plugin.version'" in trace


def test_internal_requests_need_a_signature(api: httpx2.Client) -> None:
    assert error(api.post("/connectors/a/tasks", json=[])) == (400, "Internal request missing required signature")
    assert error(api.put("/connectors/a/fence")) == (400, "Internal request missing required signature")
    signed = {"X-Connect-Authorization": "AAAA", "X-Connect-Request-Signature-Algorithm": "HmacSHA256"}
    code, text = error(api.put("/connectors/a/fence", headers=signed))
    assert (code, text) == (500, "Kafka Connect in standalone mode does not support exactly-once source connectors.")
    code, text = error(api.post("/connectors/a/tasks", json=[], headers=signed))
    assert (code, "externally setting task configurations" in text) == (500, True)


@pytest.mark.parametrize(
    ("signature", "algorithm", "text"),
    [
        ("made up", "HmacSHA256", "The signature is not base64"),
        ("AAAA", "HmacMadeUp", "The algorithm HmacMadeUp is not known"),
        ("AAAA", None, "Internal request missing required signature"),
        (None, "HmacSHA256", "Internal request missing required signature"),
    ],
)
def test_what_cannot_be_a_signature_is_the_callers_mistake_on_a_worker_of_its_own_too(
    api: httpx2.Client, signature: str | None, algorithm: str | None, text: str
) -> None:
    given = {"X-Connect-Authorization": signature, "X-Connect-Request-Signature-Algorithm": algorithm}
    headers = {name: value for name, value in given.items() if value is not None}
    for answer in (api.put("/connectors/a/fence", headers=headers), api.post("/connectors/a/tasks", headers=headers)):
        code, said = error(answer)
        assert (code, text in said) == (400, True), said


def test_a_worker_that_is_alone_lists_itself(api: httpx2.Client, config: dict[str, str]) -> None:
    me = {"worker_id": "worker.example:8083", "url": "http://worker.example:8083/", "leader": True}
    assert api.get("/workers").json() == [{**me, "connectors": 0, "tasks": 0, "version": penstock.__version__}]
    create(api, "orders", config)
    settled(api, "orders")
    assert api.get("/workers").json() == [{**me, "connectors": 1, "tasks": 1, "version": penstock.__version__}]


def test_where_there_are_no_users_everybody_may_do_everything(api: httpx2.Client) -> None:
    assert api.get("/user").json() == {"name": None, "role": "admin"}


def test_loggers_are_set_here_or_everywhere(api: httpx2.Client) -> None:
    assert api.put("/admin/loggers/a.b", json={"level": "debug"}).json() == ["a.b"]
    shown = api.get("/admin/loggers/a.b").json()
    assert shown["level"] == "DEBUG"
    assert shown["last_modified"] > 0
    assert api.put("/admin/loggers/a.b?scope=CLUSTER", json={"level": "warn"}).status_code == 204
    assert api.get("/admin/loggers/a.b").json()["level"] == "WARN"
    assert api.put("/admin/loggers/a.b?scope=town", json={"level": "off"}).json() == ["a.b"]
    assert {"root"} <= set(api.get("/admin/loggers").json())
    assert error(api.put("/admin/loggers/a.b", json={"level": "LOUD"})) == (404, "invalid log level 'LOUD'.")


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_new_connector_has_a_status_as_soon_as_it_is_there(
    api: httpx2.Client, config: dict[str, str], method: str
) -> None:
    for number in range(5):
        name = f"new-{number}"
        body = {"name": name, "config": config} if method == "POST" else config
        path = "/connectors" if method == "POST" else f"/connectors/{name}/config"
        assert api.request(method, path, json=body).status_code == 201
        assert api.get(f"/connectors/{name}/status").status_code == 200


def test_a_deletion_that_failed_after_the_offsets_were_gone_can_only_be_brought_to_its_end(
    api: httpx2.Client, config: dict[str, str], real_worker: StandaloneWorker
) -> None:
    create(api, "orders", config, initial_state="STOPPED")
    noted = Unfinished("orders", Step.DELETING, {**config, "name": "orders"}, state=TargetState.STARTED)
    real_worker.herder.services.configs.put_unfinished(noted).result(60)
    for verb, path in [("PUT", "resume"), ("PUT", "pause"), ("PUT", "stop"), ("DELETE", "offsets")]:
        code, message = error(api.request(verb, f"/connectors/orders/{path}"))
        assert (code, "is being deleted" in message) == (409, True), (path, message)
    assert api.delete("/connectors/orders").status_code == 204
    assert api.get("/connectors").json() == []
    assert api.delete("/connectors/orders").status_code == 404
