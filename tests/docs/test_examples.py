"""Every example in the help of the command line, which is the reference of it, too, does what it says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import httpx2
import pytest

from tests.cli.test_conduit import CONDUIT
from tests.docs import stages
from tests.docs.examples import OF_WORKERS, block_of, examples
from tests.docs.sandbox import Sandbox
from tests.support.probes import SETTINGS
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

ASKS = re.compile(
    r"apply pipelines/$|delete orders|give-up|reset orders --stop|edit |context add prod|--to 2h|ops --role"
)
ANSWERS = {r"\[y/N\]": "y", "Password:|Repeat for confirmation:": "correct horse battery"}
"""What a reader says when asked."""


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    with PenstockProcess(tmp_path_factory.mktemp("worker"), SETTINGS) as process:
        yield process


@pytest.fixture(scope="module")
def furnished(worker: PenstockProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with Sandbox(tmp_path_factory.mktemp("reader"), (), worker.port) as prepared:
        prepared.do("export EDITOR='sed -i s/rate/keys/'")
        prepared.do("penstock context add old --url http://old:8083")
        yield prepared


@pytest.fixture
def sandbox(furnished: Sandbox) -> Iterator[Sandbox]:
    """Each verb finds the same files and the same connectors."""
    files(furnished)
    connectors(furnished)
    given = list(furnished.substitutions)
    yield furnished
    furnished.substitutions[:] = given
    for name in stages.ask(furnished, "/connectors"):
        if name not in configs(furnished):
            httpx2.delete(f"{furnished.url}/connectors/{name}", timeout=120)


def configs(sandbox: Sandbox) -> dict[str, dict[str, str]]:
    """Three tasks of a source, another whose name begins alike, a sink with dead letters, and an attempt."""
    probe = {"connector.class": "ProbeSource", "topic": "orders", "rate": "1", "alter.offsets": "true"}
    lines = {"connector.class": "FileStreamSource", "topic": "lines", "file": str(sandbox.folder / "lines.txt")}
    queue = stages.dead_letter_queue("dead-orders")
    sink = {"connector.class": "FileStreamSink", "topics": "orders,lines", "file": str(sandbox.folder / "out.txt")}
    return {
        "orders": {**probe, "count": "200", "tasks.max": "3", "tasks.made": "3"},
        "orders-1": {"connector.class": "Generator", "topic": "more", "batch.size": "5"},
        "try-1": {"connector.class": "Generator", "topic": "tried"},
        "lines": {**lines, **stages.TEXT},
        "orders-sink": {**sink, **queue, **stages.TEXT},
    }


def connectors(sandbox: Sandbox) -> None:
    """Bring the connectors back to what they were, and to work. The sink once could not read what it was given."""
    known = stages.ask(sandbox, "/connectors?expand=status&expand=info")
    for name, config in configs(sandbox).items():
        if known.get(name, {}).get("info", {}).get("config") != {"name": name, **config}:
            first = {**config, **stages.JSON} if name == "orders-sink" and name not in known else config
            answer = httpx2.put(f"{sandbox.url}/connectors/{name}/config", json=first, timeout=120)
            assert answer.status_code in (200, 201), answer.text
        httpx2.put(f"{sandbox.url}/connectors/{name}/resume", timeout=120)
    letters = "/connectors/orders-sink/dead-letters?limit=50"
    wait_until(lambda: len(stages.ask(sandbox, letters)["dead_letters"]) >= 30, "there are dead letters")
    if "orders-sink" not in known:
        mended = configs(sandbox)["orders-sink"]
        httpx2.put(f"{sandbox.url}/connectors/orders-sink/config", json=mended, timeout=120).raise_for_status()
    for name, tasks in (("orders", 3), ("orders-sink", 1)):
        wait_until(lambda name=name, tasks=tasks: stages.states(sandbox, name) == ["RUNNING"] * (tasks + 1), name)  # type: ignore[misc]
    wait_until(lambda: len(stages.ask(sandbox, "/connectors/orders-sink/offsets")["offsets"]) == 2, "both are read")
    wait_until(lambda: len(stages.ask(sandbox, "/connectors/orders/offsets")["offsets"]) == 3, "orders are written")


def files(sandbox: Sandbox) -> None:
    """What a reader has beside a worker: connectors and pipelines in files, passwords, contexts."""
    sandbox.save("orders.json", json.dumps({"name": "fresh", "config": {"connector.class": "Generator", "topic": "f"}}))
    sandbox.save("orders.yaml", stages.PIPELINE.format("planned"))
    sandbox.save("pipelines/orders.yaml", stages.PIPELINE.format("declared"))
    sandbox.save("password.txt", "correct horse battery\n")
    sandbox.save("lines.txt", "no order\n" * 30)
    sandbox.save("ca.pem", "")


def one_connector_as_yaml(sandbox: Sandbox) -> None:
    sandbox.save("orders.yaml", "name: fresh\nconfig: {connector.class: Generator, topic: f}\n")


def another_pipeline(sandbox: Sandbox) -> None:
    """Changed since the last time, and looked at."""
    sandbox.save("pipelines/orders.yaml", stages.PIPELINE.format("agreed"))
    sandbox.do("penstock plan pipelines/ --output json > plan.json")
    found = json.loads((sandbox.folder / "plan.json").read_text())
    sandbox.substitutions.append(("3f1c9a0b5d7e2468", str(found["hash"])))


def failing_cleanup(sandbox: Sandbox) -> None:
    """A connector was deleted whose hook cannot do its work."""
    stages.create(sandbox, "doomed", {"connector.class": "ProbeSource", "topic": "doomed", "fail": "on_deleted"})
    wait_until(lambda: stages.ask(sandbox, "/connectors/doomed/lifecycle")["active"], "it is active")
    httpx2.delete(f"{sandbox.url}/connectors/doomed", timeout=120).raise_for_status()
    (cleanup,) = wait_until(lambda: stages.ask(sandbox, "/lifecycle/cleanups"), "a clean-up is to be done")
    sandbox.substitutions.append(("3f1c9a0b", str(cleanup["id"])))


def conduit_file(sandbox: Sandbox) -> None:
    sandbox.save("pipelines/orders.yaml", CONDUIT)


def stopped(*names: str) -> Callable[[Sandbox], None]:
    return lambda sandbox: sandbox.do(f"penstock stop {' '.join(names)} --wait")


BEFORE: dict[str, Callable[[Sandbox], None]] = {
    "penstock create -f orders.yaml --name orders-copy --stopped": one_connector_as_yaml,
    "penstock apply pipelines/ --plan 3f1c9a0b5d7e2468": another_pipeline,
    "penstock convert conduit pipelines/orders.yaml > orders.yaml": conduit_file,
    "penstock lifecycle give-up 3f1c9a0b": failing_cleanup,
    """penstock offsets set lines --partition '{"filename": "a.txt"}' --offset '{"position": 0}'""": stopped("lines"),
    "penstock offsets set orders -f offsets.json --dry-run": lambda sandbox: sandbox.do(
        "penstock stop orders --wait && penstock get offsets orders -o json > offsets.json"
    ),
    "penstock offsets reset orders --dry-run": stopped("orders"),
    "penstock user remove users.txt ops": lambda sandbox: sandbox.do(
        "penstock user add users.txt ops --password-stdin < password.txt"
    ),
}
"""What a reader has done before an example makes sense."""


def test_every_verb_has_an_example() -> None:
    found = examples()
    assert BEFORE.keys() <= {example for some in found.values() for example in some}
    assert len(found) > 45


@pytest.mark.parametrize("verb", [verb for verb in examples() if verb not in OF_WORKERS])
def test_the_examples_of(verb: str, sandbox: Sandbox) -> None:
    for example in examples()[verb]:
        BEFORE.get(example, stages.nothing)(sandbox)
        if ASKS.search(example):
            sandbox.answer(example, ANSWERS)
        else:
            sandbox.run([block_of(example)])
