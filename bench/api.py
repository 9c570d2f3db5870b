"""The REST API that both systems speak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx2

from .waiting import wait_for

STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
CONVERTERS: Mapping[str, Mapping[str, str]] = {
    "String": {"key.converter": STRING, "value.converter": STRING},
    "JSON": {
        "key.converter": JSON,
        "key.converter.schemas.enable": "false",
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
    },
}


def file_source(file: object, topic: str, converter: str = "String") -> dict[str, str]:
    """A connector that brings lines of a file into a topic."""
    connector = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    return {"connector.class": connector, "file": str(file), "topic": topic, **CONVERTERS[converter]}


def file_sink(file: object, topic: str, converter: str = "String") -> dict[str, str]:
    """A connector that writes a topic into a file."""
    connector = "org.apache.kafka.connect.file.FileStreamSinkConnector"
    return {"connector.class": connector, "file": str(file), "topics": topic, **CONVERTERS[converter]}


class Api:
    """Requests of a benchmark; each fails loudly."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = httpx2.Client(base_url=url, timeout=120.0)

    def close(self) -> None:
        self._http.close()

    def answers(self) -> bool:
        """Whether ``GET /`` answers."""
        try:
            return self._http.get("/", timeout=2.0).status_code == 200
        except httpx2.TransportError:
            return False

    def create(self, name: str, config: Mapping[str, str]) -> None:
        """Create a connector. A worker that is busy with its group (409) is asked again, as scripts do."""

        def created() -> bool:
            answer = self._http.post("/connectors", json={"name": name, "config": dict(config)})
            if answer.status_code == 409 and "rebalance" in answer.text:
                return False
            return _checked(answer)

        wait_for(created, f"POST of {name}", 60.0, pause=0.01)

    def delete(self, name: str) -> None:
        def deleted() -> bool:
            answer = self._http.delete(f"/connectors/{name}")
            return answer.status_code == 404 or (answer.status_code != 409 and _checked(answer))

        wait_for(deleted, f"DELETE of {name}", 60.0, pause=0.01)

    def put(self, path: str) -> None:
        _checked(self._http.put(path))

    def post(self, path: str) -> None:
        _checked(self._http.post(path))

    def patch(self, path: str, body: Any) -> None:
        _checked(self._http.patch(path, json=body))

    def names(self) -> list[str]:
        return list(self._get("/connectors"))

    def states(self, name: str) -> tuple[str, ...]:
        """The state of the connector, then those of its tasks; empty when there is no status yet."""
        answer = self._http.get(f"/connectors/{name}/status")
        return () if answer.status_code == 404 else _states(answer.json())

    def all_states(self) -> dict[str, tuple[str, ...]]:
        found = self._get("/connectors?expand=status")
        return {name: _states(parts["status"]) for name, parts in found.items()}

    def placement(self) -> dict[str, str]:
        """Which worker runs each connector (``name``) and each task (``name-0``); only those that are RUNNING."""
        found = self._get("/connectors?expand=status")
        parts = ((name, part) for name, each in found.items() for part in _parts(each["status"]))
        return {
            name if part.get("id") is None else f"{name}-{part['id']}": part["worker_id"]
            for name, part in parts
            if part["state"] == "RUNNING"
        }

    def position(self, name: str) -> int:
        """How far into its file a file source has committed."""
        offsets: Sequence[Any] = self._get(f"/connectors/{name}/offsets")["offsets"]
        return int(offsets[0]["offset"]["position"]) if offsets else 0

    def records_in(self, topic: str) -> int:
        """How many records a topic of one partition holds; 0 when it does not exist yet. Only Penstock has this."""
        answer = self._http.get(f"/topics/{topic}/offsets", params={"at": "latest"})
        return 0 if answer.status_code == 404 else sum(answer.raise_for_status().json()["offsets"])

    def wait_running(self, name: str, seconds: float = 60.0) -> None:
        """Wait until the connector and its one task run."""
        wait_for(lambda: self.states(name) == ("RUNNING", "RUNNING"), f"{name} RUNNING", seconds)

    def _get(self, path: str) -> Any:
        answer = self._http.get(path)
        _checked(answer)
        return answer.json()


def _states(status: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(part["state"] for part in _parts(status))


def _parts(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What is told of the connector, then of its tasks."""
    return [status["connector"], *status["tasks"]]


def _checked(answer: httpx2.Response) -> bool:
    if answer.is_error:
        raise RuntimeError(f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text}")
    return True
