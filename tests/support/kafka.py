"""A real Kafka broker for tests: fetched through Spark's own package resolver, started and stopped by the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyspark

from penstock.spark.class_archive import READ, WRITE
from penstock.spark.java import find_java

from .alone import alone
from .maven import fetch_packages
from .ports import free_port
from .waiting import wait_until

VERSION = "4.3.1"
PACKAGE = f"org.apache.kafka:kafka_2.13:{VERSION}"
CACHE = Path(__file__).parents[2] / ".cache" / f"kafka-{VERSION}"
START_SECONDS = 120.0
QUICK_START = ("-XX:+UseSerialGC", "-XX:-UsePerfData")
CLUSTER_ID = "cGVuc3RvY2stdGVzdHMtMQ"


def class_path() -> str:
    """The broker's jars, fetched once into a folder of this repository, and the Scala library that Spark brings."""
    jars = CACHE / "jars"
    done = CACHE / "complete"
    with alone("kafka"):
        if not done.exists():
            fetch_packages([PACKAGE], CACHE)
            if not any(jars.glob(f"*kafka_2.13-{VERSION}.jar")):
                raise AssertionError(f"Kafka {VERSION} could not be fetched into {jars}: see {CACHE / 'fetch.log'}")
            done.touch()
    scala = (Path(pyspark.__file__).parent / "jars").glob("scala-library-*.jar")
    return os.pathsep.join([str(jars / "*"), *map(str, scala)])


def _kept_classes() -> Path:
    """Kafka's classes as a JVM keeps them for the next one, which starts in half the time. Made by the first broker."""
    file = CACHE / f"classes-{find_java().version}.jsa"
    with alone("kafka-classes"):
        if not file.exists():
            draft = file.with_suffix(".draft")
            with KafkaBroker(java_options=[f"{WRITE}{draft}"]) as broker:
                broker.stop()
            draft.rename(file)
    return file


class KafkaBroker:
    """One broker, its own controller, on free ports, with its data in a folder of its own. A context manager.

    ``host`` is the address of this machine that clients are served on. ``doors`` are more listeners: addresses by
    security protocol. As one of several, it is ``node`` of ``controllers``, which are ports by node.
    """

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        host: str = "127.0.0.1",
        doors: Mapping[str, str] | None = None,
        java_options: Sequence[str] = (),
        node: int = 1,
        controllers: Mapping[int, int] | None = None,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kafka-"))
        self.port, self.node = free_port(), node
        voters = controllers or {node: free_port()}
        self.bootstrap = f"{host}:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        self._java_options = list(java_options)
        more = [f"{protocol}://{address}" for protocol, address in (doors or {}).items()]
        protocols = ["CONTROLLER:PLAINTEXT", *(f"{name}:{name}" for name in ("PLAINTEXT", *(doors or {})))]
        properties = {
            "process.roles": "broker,controller",
            "node.id": str(node),
            "controller.quorum.voters": ",".join(f"{each}@127.0.0.1:{port}" for each, port in voters.items()),
            "listeners": ",".join([f"PLAINTEXT://{self.bootstrap}", f"CONTROLLER://127.0.0.1:{voters[node]}", *more]),
            "advertised.listeners": ",".join([f"PLAINTEXT://{self.bootstrap}", *more]),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": ",".join(protocols),
            "log.dirs": str(self.folder / "data"),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "5",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "5",
            "group.initial.rebalance.delay.ms": "0",
            "log.retention.ms": "-1",
            **(settings or {}),
        }
        self._file = self.folder / "server.properties"
        self._file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))

    def __enter__(self) -> KafkaBroker:
        self.format()
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def format(self) -> None:
        """Prepare its folder: it gets a copy of what Kafka has made for the first broker of this number."""
        formatted = CACHE / f"formatted-{self.node}"
        with alone("kafka-format"):
            if not formatted.exists():
                self._run("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(self._file))
                draft = Path(tempfile.mkdtemp(dir=CACHE)) / "data"
                shutil.move(self.folder / "data", draft)
                draft.rename(formatted)
                draft.parent.rmdir()
        shutil.copytree(formatted, self.folder / "data")

    def start(self) -> None:
        """Start (again) and wait until clients are served."""
        self.launch()
        self.wait_until_it_serves()

    def launch(self) -> None:
        """Start (again)."""
        command = [*self._java(), "-Xmx512m", "kafka.Kafka", str(self._file)]
        if not any(option.startswith(WRITE) for option in self._java_options):
            command.insert(1, f"{READ}{_kept_classes()}")
        with (self.folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

    def wait_until_it_serves(self) -> None:
        wait_until(self._serves, f"Kafka serves clients on {self.bootstrap}", START_SECONDS)

    def stop(self) -> None:
        """Ask for a clean end, and wait for it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(120)

    def kill(self) -> None:
        """``kill -9``."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(120)

    def _serves(self) -> bool:
        from confluent_kafka.admin import AdminClient

        if self._process is None or self._process.poll() is not None:
            raise AssertionError(f"Kafka ended:\n{(self.folder / 'broker.log').read_text()[-4000:]}")
        quiet = {"log_level": "0", "socket.timeout.ms": "2000"}
        try:
            found = AdminClient({"bootstrap.servers": self.bootstrap, **quiet}).list_topics(timeout=2)
            return self.node in found.brokers
        except Exception:
            return False

    def _run(self, main: str, *arguments: str) -> None:
        subprocess.run([*self._java(), main, *arguments], check=True, capture_output=True, timeout=START_SECONDS)

    def _java(self) -> list[str]:
        return [str(find_java().home / "bin" / "java"), *QUICK_START, *self._java_options, "-cp", class_path()]
