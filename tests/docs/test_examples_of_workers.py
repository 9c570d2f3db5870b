"""The examples in the help of verbs that start workers, or that need more than one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import httpx2
import pytest

from tests.docs import stages
from tests.docs.examples import OF_WORKERS, block_of, examples
from tests.docs.sandbox import Sandbox
from tests.support.kafka import KafkaBroker
from tests.support.kafka_clients import KafkaClients
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]


@pytest.fixture
def sandbox(docs_broker: KafkaBroker, tmp_path: Path) -> Iterator[Sandbox]:
    here = [("localhost:9092", docs_broker.bootstrap), ("/tmp/try", str(tmp_path / "try"))]
    with Sandbox(tmp_path, here) as prepared:
        prepared.substitutions.append(("-p 9000", f"-p {prepared.port}"))
        yield prepared


def run(sandbox: Sandbox, verb: str, expected: Sequence[Callable[[Sandbox], None]]) -> None:
    """Run the examples of a verb, each followed by a look at what it did."""
    for example, look in zip(examples()[verb], expected, strict=True):
        sandbox.run([block_of(example)])
        look(sandbox)


def has(*names: str) -> Callable[[Sandbox], None]:
    """The worker runs these connectors, beside those of the built-in example."""

    def look(sandbox: Sandbox) -> None:
        wait_until(lambda: _connectors(sandbox) == set(names), f"it has {names}")
        for name in names:
            wait_until(lambda name=name: _is_running(sandbox, name), f"{name} runs")  # type: ignore[misc]

    return look


def _connectors(sandbox: Sandbox) -> set[str]:
    return {name for name in stages.ask(sandbox, "/connectors") if not name.startswith("example-")}


def _is_running(sandbox: Sandbox, name: str) -> bool:
    return stages.states(sandbox, name) == ["RUNNING", "RUNNING"]


def _uses_the_given_folder(sandbox: Sandbox) -> None:
    assert (sandbox.folder / "try" / "penstock.db").exists()


def _is_reached_from_elsewhere(sandbox: Sandbox) -> None:
    """A worker that listens on 127.0.0.1 only does not answer on this machine's other addresses."""
    assert httpx2.get(f"http://127.0.0.2:{sandbox.port}/", timeout=60).status_code == 200


def _cluster_file(sandbox: Sandbox, name: str, group: str) -> None:
    """The smallest file of the help, for one broker, and a cluster of its own."""
    topics = "".join(f"{kind}.storage.topic={group}-{kind}\n" for kind in ("config", "offset", "status"))
    factors = "".join(f"{kind}.storage.replication.factor=1\n" for kind in ("config", "offset", "status"))
    converters = "".join(f"{kind}.converter={stages.JSON['value.converter']}\n" for kind in ("key", "value"))
    text = f"bootstrap.servers=localhost:9092\ngroup.id={group}\n{topics}{factors}{converters}data.dir={group}\n"
    sandbox.save(name, text)


def _make_orders(sandbox: Sandbox) -> None:
    config = {"connector.class": "Generator", "topic": "orders", "rate": "5"}
    stages.create(sandbox, "orders", config)
    has("orders")(sandbox)


def test_every_verb_that_starts_workers_has_examples() -> None:
    assert examples().keys() >= set(OF_WORKERS)


def test_the_examples_of_run(sandbox: Sandbox) -> None:
    sandbox.save("orders.yaml", stages.PIPELINE.format("declared"))
    sandbox.save("pipelines/orders.yaml", stages.PIPELINE.format("watched"))

    def _follows_the_files(sandbox: Sandbox) -> None:
        has("watched")(sandbox)
        sandbox.save("pipelines/orders.yaml", stages.PIPELINE.format("changed"))
        has("changed")(sandbox)

    def _has_the_example(sandbox: Sandbox) -> None:
        wait_until(lambda: _is_running(sandbox, "example-orders-out"), "the example runs")

    run(
        sandbox,
        "penstock run",
        [_has_the_example, has("declared"), _follows_the_files, _uses_the_given_folder, _is_reached_from_elsewhere],
    )


def test_the_examples_of_standalone(sandbox: Sandbox) -> None:
    sandbox.save("lines.txt", "one\ntwo\n")
    sandbox.save("worker.properties", "key.converter=StringConverter\nvalue.converter=StringConverter\ndata.dir=data\n")
    source = {"name": "in", "config": {"connector.class": "FileStreamSource", "file": "lines.txt", "topic": "lines"}}
    sandbox.save("file-source.json", json.dumps(source))
    sandbox.save("file-sink.properties", "name=out\nconnector.class=FileStreamSink\ntopics=lines\nfile=out.txt\n")

    def _moves_lines(sandbox: Sandbox) -> None:
        has("in", "out")(sandbox)
        out = sandbox.folder / "out.txt"
        wait_until(lambda: out.exists() and out.read_text() == "one\ntwo\n", "the lines are there")

    run(sandbox, "penstock standalone", [has(), _moves_lines])


def test_the_examples_of_distributed(sandbox: Sandbox) -> None:
    _cluster_file(sandbox, "worker.properties", "connect-cluster")

    def _work_and_end(sandbox: Sandbox) -> None:
        _make_orders(sandbox)
        sandbox.end_workers()

    run(sandbox, "penstock distributed", [_work_and_end, stages.nothing])


def test_the_examples_of_takeover(sandbox: Sandbox) -> None:
    _cluster_file(sandbox, "connect-distributed.properties", "taken-over")
    sandbox.do("penstock distributed connect-distributed.properties")
    _make_orders(sandbox)
    sandbox.end_workers()
    run(sandbox, "penstock takeover", [stages.nothing, has("orders")])


def test_the_examples_of_restoring_offsets(sandbox: Sandbox, docs_broker: KafkaBroker) -> None:
    _cluster_file(sandbox, "worker.properties", "forgetful")
    sandbox.do("penstock distributed worker.properties")
    _make_orders(sandbox)
    wait_until(lambda: stages.ask(sandbox, "/connectors/orders/offsets")["offsets"], "orders are written")
    httpx2.put(f"{sandbox.url}/connectors/orders/pause", timeout=120).raise_for_status()
    wait_until(lambda: stages.states(sandbox, "orders") == ["PAUSED", "PAUSED"], "nothing is written any more")
    KafkaClients(docs_broker.bootstrap).delete("forgetful-offset")

    def _is_missed(sandbox: Sandbox) -> bool:
        asked = f"{sandbox.url}/connectors/orders/offsets/restore"
        return bool(httpx2.post(asked, params={"dryRun": "true"}, timeout=120).json()["deleted"])

    wait_until(lambda: _is_missed(sandbox), "the topic is missed")

    def _is_there_again(sandbox: Sandbox) -> None:
        assert not _is_missed(sandbox)
        # A connector that was stopped gets its tasks when it is resumed.
        wait_until(lambda: stages.states(sandbox, "orders") == ["PAUSED"], "it is as it was")

    run(sandbox, "penstock offsets restore", [stages.nothing, _is_there_again])


def test_the_examples_of_migrate(sandbox: Sandbox, docs_worker: PenstockProcess) -> None:
    sandbox.substitutions += [("http://old:8083", sandbox.url), ("http://new:8083", docs_worker.url)]
    sandbox.save("none.yaml", "pipelines: []\n")
    sandbox.do("penstock run none.yaml")
    for name in ("orders", "orders-eu"):
        stages.create(sandbox, name, {"connector.class": "Generator", "topic": name, "rate": "5"})
    sandbox.do("penstock context add old --url http://old:8083 && penstock context add new --url http://new:8083")

    def _has_moved(sandbox: Sandbox) -> None:
        assert stages.ask(sandbox, "/connectors") == ["orders-eu"]
        assert "orders" in docs_worker.http.get("/connectors").json()

    def _has_not_moved(sandbox: Sandbox) -> None:
        assert stages.ask(sandbox, "/connectors") == ["orders-eu"]
        assert "orders-eu" not in docs_worker.http.get("/connectors").json()

    try:
        run(sandbox, "penstock migrate", [_has_moved, _has_not_moved])
    finally:
        httpx2.delete(f"{docs_worker.url}/connectors/orders", params={"includeOffsets": "true"}, timeout=120)
