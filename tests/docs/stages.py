"""What must be there before the commands of a page make sense: connectors it speaks of, servers, files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2

from tests.docs.sandbox import Sandbox
from tests.support.probes import states_in
from tests.support.waiting import wait_until

TEXT = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"}


PIPELINE = "pipelines: [{{id: {0}, connectors: [{{name: {0}, class: Generator, config: {{topic: {0}}}}}]}}]\n"
"""A file that declares one connector, and calls everything by its name."""


def nothing(sandbox: Sandbox) -> None:
    """The page says it all."""


def create(sandbox: Sandbox, name: str, config: Mapping[str, str]) -> None:
    answer = httpx2.post(f"{sandbox.url}/connectors", json={"name": name, "config": config}, timeout=120)
    assert answer.status_code == 201, answer.text


def ask(sandbox: Sandbox, path: str) -> Any:
    answer = httpx2.get(f"{sandbox.url}{path}", timeout=120)
    assert answer.status_code == 200, answer.text
    return answer.json()


def states(sandbox: Sandbox, name: str) -> list[str]:
    """The states of a connector and of its tasks."""
    return states_in(ask(sandbox, f"/connectors/{name}/status"))


def clear(sandbox: Sandbox) -> None:
    """Leave nothing of a page to the next one."""
    for name in ask(sandbox, "/connectors"):
        httpx2.delete(f"{sandbox.url}/connectors/{name}", params={"includeOffsets": "true"}, timeout=120)


def orders(sandbox: Sandbox) -> None:
    """A source of orders and a sink that has written some."""
    create(sandbox, "orders", {"connector.class": "Generator", "topic": "orders", "rate": "50"})
    file = str(sandbox.folder / "orders.jsonl")
    create(sandbox, "orders-sink", {"connector.class": "FileStreamSink", "topics": "orders", "file": file, **TEXT})
    wait_until(lambda: ask(sandbox, "/connectors/orders-sink/offsets")["offsets"], "orders are written")


def orders_and_attempts(sandbox: Sandbox) -> None:
    """The same, one that was only an attempt, and the certificate of an authority."""
    orders(sandbox)
    sandbox.save("ca.pem", "")
    create(sandbox, "try-1", {"connector.class": "Generator", "topic": "tried"})


def dead_letter_queue(topic: str) -> dict[str, str]:
    """The settings of a sink that keeps what it cannot read, with its reasons."""
    return {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": topic,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }


def dead_letters(sandbox: Sandbox) -> None:
    """A sink with twenty lines that it could not read as JSON; now it takes any text."""
    lines = sandbox.folder / "lines.txt"
    lines.write_text("not an order\n" * 20)
    source = {"connector.class": "FileStreamSource", "topic": "lines", "file": str(lines), **TEXT}
    create(sandbox, "lines", source)
    queue = dead_letter_queue("dead-lines")
    sink = {"connector.class": "FileStreamSink", "topics": "lines", "file": str(sandbox.folder / "out.txt")}
    create(sandbox, "orders-sink", {**sink, **JSON, **queue})
    wait_until(
        lambda: len(ask(sandbox, "/connectors/orders-sink/dead-letters?limit=50")["dead_letters"]) == 20,
        "all are dead letters",
    )
    config = {"name": "orders-sink", **sink, **TEXT, **queue}
    changed = httpx2.put(f"{sandbox.url}/connectors/orders-sink/config", json=config, timeout=120)
    assert changed.status_code == 200, changed.text


def pipelines(sandbox: Sandbox) -> None:
    """A second file that the page removes, one with mistakes, and one as JSON."""
    old = {"name": "old-orders", "class": "FileStreamSource", "config": {"file": "old.txt", "topic": "old"}}
    sandbox.save("pipelines/old.yaml", json.dumps({"pipelines": [{"id": "old", "connectors": [old]}]}))
    sandbox.save("orders.json", json.dumps({"pipelines": [{"id": "sent", "connectors": [{**old, "name": "sent"}]}]}))
    sandbox.save(
        "orders.yaml",
        "pipelines:\n  - id: wrong\n    description: Two mistakes\n    status: runing\n    connectors:\n"
        "      - name: wrong\n        class: FileStreamSorce\n        config: {file: a, topic: b}\n",
    )


def failing_cleanup(sandbox: Sandbox, folder: Path) -> str:
    """Delete the connector of the guide when its hook cannot do its work; the id of the clean-up."""
    owner = folder / ".owner"
    wait_until(owner.exists, "the folder is made")
    owner.unlink()
    owner.mkdir()
    httpx2.delete(f"{sandbox.url}/connectors/invoices", timeout=120).raise_for_status()
    (cleanup,) = wait_until(lambda: ask(sandbox, "/lifecycle/cleanups"), "a clean-up is to be done")
    return str(cleanup["id"])


def worker_with_orders(sandbox: Sandbox) -> None:
    """A worker whose folder is worth a back-up."""
    sandbox.do("penstock run examples/orders.yaml")
    wait_until(lambda: ask(sandbox, "/connectors/orders-out/offsets")["offsets"], "orders are written")
