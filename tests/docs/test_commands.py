"""Every command of the documentation does what its page says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs import stages
from tests.docs.blocks import PAGES, ROOT, Block, blocks_of, every_block
from tests.docs.origin import NAME, make_origin
from tests.docs.programs import add_kafka_scripts, add_pip, add_spark_class, end, imports
from tests.docs.sandbox import Sandbox
from tests.support.kafka import KafkaBroker
from tests.support.ports import free_port
from tests.support.postgres import PostgresServer
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = pytest.mark.integration

DATABASES = ("shop", "warehouse")
Stage = Callable[[Sandbox], None]

ON_ITS_OWN: dict[str, Stage] = {
    "README.md": stages.nothing,
    "docs/guides/getting-started.md": stages.nothing,
    "docs/guides/from-conduit.md": stages.nothing,
    "docs/guides/from-kafka-connect.md": stages.nothing,
    "docs/guides/install.md": stages.nothing,
    "docs/guides/security.md": stages.nothing,
}
"""Pages that start their worker themselves."""

ON_A_WORKER: dict[str, Stage] = {
    "docs/guides/cli.md": stages.orders_and_attempts,
    "docs/guides/monitoring.md": stages.orders,
    "docs/guides/offsets.md": stages.orders,
    "docs/guides/operations.md": stages.nothing,
    "docs/guides/pipeline-files.md": stages.pipelines,
    "docs/guides/transforms.md": stages.dead_letters,
}
"""Pages about a worker that runs somewhere."""

ELSEWHERE = {
    "docs/benchmarks.md": "below",
    "docs/guides/distributed.md": "below",
    "docs/guides/docker.md": "NOT_RUN",
    "docs/guides/first-connector.md": "test_first_connector",
    "docs/guides/kafka.md": "below",
    "docs/guides/kubernetes.md": "NOT_RUN",
    "docs/guides/lifecycle-hooks.md": "below",
    "docs/guides/postgres.md": "below",
    "docs/guides/spark-clusters.md": "below",
    "docs/guides/upgrades.md": "below",
}
"""Pages whose commands need more than that."""


def page(name: str) -> list[Block]:
    return blocks_of(ROOT / name)


def test_every_page_with_commands_is_run_or_says_why_not() -> None:
    with_commands = {str(path.relative_to(ROOT)) for path in PAGES if any(block.is_shell for block in blocks_of(path))}
    assert with_commands == {*ON_ITS_OWN, *ON_A_WORKER, *ELSEWHERE}


NOT_RUN = {
    "README.md": ["make test", "make dist", "pip install dist/penstock-*.whl", "penstock run"],
    "docs/guides/docker.md": [
        "docker build -f deploy/Containerfile -t penstock .",
        "docker run --rm -p 8083:8083 -v penstock:/var/lib/penstock penstock",
        "docker run --rm -p 8083:8083 -v penstock:/var/lib/penstock "
        "-v ./worker.properties:/etc/penstock/worker.properties:ro \\\n"
        "    penstock penstock standalone /etc/penstock/worker.properties",
        "docker compose -f deploy/compose/compose.yaml up --build",
    ],
    "docs/guides/install.md": ["make dist", "pip install dist/penstock-*.whl", "penstock run"],
    "docs/guides/kubernetes.md": [
        "kubectl create namespace penstock",
        "kubectl -n penstock apply -f deploy/kubernetes/penstock.yaml",
        "kubectl -n penstock port-forward service/penstock 8083",
    ],
}
"""Commands that no test runs from their page: they run the tests, need Docker or a cluster of Kubernetes (whose files
``tests/test_deploy.py`` checks), or are tried in ``tests/test_distribution.py``."""


def test_no_other_commands_are_left_out_than_those_with_a_reason() -> None:
    left_out = [block for block in every_block() if block.is_shell and "not run" in block.told]
    commands: dict[str, list[str]] = {}
    for block in left_out:
        commands.setdefault(block.page, []).extend(
            command.text.partition("#")[0].strip() for command in block.commands
        )
    assert commands == NOT_RUN


@pytest.mark.parametrize("name", ON_ITS_OWN)
def test_a_page_that_starts_its_worker(name: str, tmp_path: Path) -> None:
    with Sandbox(tmp_path, [("/tmp/in.txt", str(tmp_path / "in.txt"))]) as sandbox:
        sandbox.substitutions.append((NAME, str(make_origin(tmp_path / ".origin", sandbox.variables))))
        ON_ITS_OWN[name](sandbox)
        sandbox.run(page(name))


@pytest.mark.parametrize("name", ON_A_WORKER)
def test_a_page_about_a_worker(name: str, docs_worker: PenstockProcess, tmp_path: Path) -> None:
    here = [("/repo", str(tmp_path)), ("/data", str(tmp_path)), ("http://connect:8083", docs_worker.url)]
    with Sandbox(tmp_path, here, docs_worker.port) as sandbox:
        try:
            ON_A_WORKER[name](sandbox)
            sandbox.run(page(name))
        finally:
            stages.clear(sandbox)


def test_lifecycle_hooks(tmp_path: Path) -> None:
    with Sandbox(tmp_path, [("/var/spool", str(tmp_path))]) as sandbox:
        blocks = page("docs/guides/lifecycle-hooks.md")
        blocks[0].told["file"] = "plugins/dropbox.py"
        outage = next(number for number, block in enumerate(blocks) if "/lifecycle/cleanups" in block.text)
        sandbox.run(blocks[:outage])
        cleanup = stages.failing_cleanup(sandbox, tmp_path / "invoices")
        sandbox.substitutions.append(("3f9c1a2b4d5e", cleanup))
        sandbox.run(blocks[outage:])
        assert stages.ask(sandbox, "/lifecycle/cleanups") == []


def test_topics_in_kafka(docs_broker: KafkaBroker, tmp_path: Path) -> None:
    with Sandbox(tmp_path, [("localhost:9092", docs_broker.bootstrap), ("/tmp/", f"{tmp_path}/")]) as sandbox:
        (tmp_path / "in.txt").touch()
        python = add_pip(sandbox)
        add_kafka_scripts(sandbox)
        sandbox.run(page("docs/guides/kafka.md"))
        imports(python, "penstock", "confluent_kafka", "kafka")


def test_a_cluster_of_workers(docs_broker: KafkaBroker, tmp_path: Path) -> None:
    here = [("localhost:9092", docs_broker.bootstrap), ("worker-1.example.org", "localhost")]
    with Sandbox(tmp_path, here) as sandbox:
        (tmp_path / "connect-distributed.properties").symlink_to(tmp_path / "worker.properties")
        add_pip(sandbox)
        sandbox.run(page("docs/guides/distributed.md"))


def test_postgres(docs_postgres: PostgresServer, docs_worker: PenstockProcess, tmp_path: Path) -> None:
    keys = docs_postgres.config()
    docs_postgres.run(
        "CREATE TABLE public.orders (id int PRIMARY KEY, item text)",
        "INSERT INTO public.orders VALUES (1, 'flange')",
        "CREATE SCHEMA shop",
    )
    server = f'"database.hostname": "{keys["database.hostname"]}", "database.port": "{keys["database.port"]}"'
    here = [
        *((f'"database.hostname": "{host}"', server) for host in ("localhost", "warehouse")),
        *((f'"database.dbname": "{name}"', f'"database.dbname": "{keys["database.dbname"]}"') for name in DATABASES),
        ('"database.user": "penstock"', f'"database.user": "{keys["database.user"]}"'),
    ]
    with Sandbox(tmp_path, here, docs_worker.port) as sandbox:
        imports(add_pip(sandbox), "psycopg")
        try:
            sandbox.run(page("docs/guides/postgres.md"))
            wait_until(lambda: docs_postgres.run("SELECT item FROM shop.orders") == [("flange",)], "it is copied")
        finally:
            stages.clear(sandbox)


def test_what_spark_shows(tmp_path: Path) -> None:
    """Spark's pages are those of a local master, too."""
    history, log = free_port(), ("/var/log/spark-events", str(tmp_path / "events"))
    option = "-Dspark.history.fs.logDirectory"
    here = [("4040", str(free_port())), ("localhost:18080", f"localhost:{history}"), log]
    with Sandbox(tmp_path, [*here, (option, f"-Dspark.history.ui.port={history} {option}")]) as sandbox:
        server = add_spark_class(sandbox)
        blocks = page("docs/guides/spark-clusters.md")
        looking = next(number for number, block in enumerate(blocks) if "curl" in block.text)
        sandbox.run(blocks[:looking])
        stages.create(sandbox, "orders", {"connector.class": "Generator", "topic": "orders", "rate": "50"})
        try:
            sandbox.run(blocks[looking:])
        finally:
            end(server)


def test_back_up_and_migration(docs_worker: PenstockProcess, tmp_path: Path) -> None:
    with Sandbox(tmp_path) as sandbox:
        sandbox.substitutions += [("http://old:8083", sandbox.url), ("http://new:8083", docs_worker.url)]
        blocks = page("docs/guides/upgrades.md")
        moving = next(number for number, block in enumerate(blocks) if "penstock migrate" in block.text)
        stages.worker_with_orders(sandbox)
        sandbox.run(blocks[:moving])
        stages.clear(sandbox)
        for name in ("orders-eu", "orders-us"):
            stages.create(sandbox, name, {"connector.class": "Generator", "topic": name, "rate": "5"})
        try:
            sandbox.run(blocks[moving:])
            assert stages.ask(sandbox, "/connectors") == []
            assert {"orders-eu", "orders-us"} <= set(docs_worker.http.get("/connectors").json())
        finally:
            for name in ("orders-eu", "orders-us"):
                docs_worker.http.delete(f"/connectors/{name}", params={"includeOffsets": "true"})


@pytest.mark.slow
def test_the_benchmark_can_be_tried(tmp_path: Path) -> None:
    """Of its quick form only the first step: all of them are in tests/bench."""
    with Sandbox(tmp_path, [('"--quick"', '"--quick --no-peer --only startup"')]) as sandbox:
        sandbox.do(f"git clone -q {make_origin(tmp_path / '.origin', sandbox.variables)} penstock && cd penstock")
        sandbox.run(page("docs/benchmarks.md"))
