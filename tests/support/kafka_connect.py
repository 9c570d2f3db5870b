"""A real Kafka Connect worker for tests: its jars fetched by Spark's own package resolver."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import httpx2

from penstock.spark.java import find_java

from .alone import alone
from .kafka import CACHE, VERSION, KafkaBroker, class_path
from .maven import fetch_packages
from .ports import free_port
from .waiting import wait_until

OLDEST = "3.5.2"
"""Of the oldest line that knows STOPPED, and that takeovers are promised from."""
PACKAGES = ("connect-runtime", "connect-file", "connect-json", "connect-transforms", "kafka-tools")
START_SECONDS = 120.0


def connect_class_path(version: str = VERSION) -> str:
    """The jars of Kafka Connect, of its file connectors and of Kafka's command line, beside the broker's."""
    folder = CACHE.parent / f"kafka-connect-{version}"
    done = folder / "complete"
    with alone("kafka-connect"):
        if not done.exists() or _missing(folder, version):
            fetch_packages([f"org.apache.kafka:{name}:{version}" for name in PACKAGES], folder)
            if _missing(folder, version):
                lost = _missing(folder, version)
                raise AssertionError(f"{lost} {version} could not be fetched: see {folder / 'fetch.log'}")
            done.touch()
    jars = str(folder / "jars" / "*")
    return os.pathsep.join([jars, class_path()]) if version == VERSION else jars


def _missing(folder: Path, version: str) -> list[str]:
    return [name for name in PACKAGES if not any((folder / "jars").glob(f"*_{name}-{version}.jar"))]


def transactions(broker: KafkaBroker) -> dict[str, str]:
    """The state of each transactional id that the broker knows of, told by Kafka's own command line."""
    tool = ["org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", broker.bootstrap, "list"]
    java = str(find_java().home / "bin" / "java")
    said = subprocess.run([java, "-cp", connect_class_path(), *tool], capture_output=True, text=True, timeout=120)
    assert said.returncode == 0, said.stdout + said.stderr
    head, *rows = [line.split() for line in said.stdout.splitlines() if line.strip()]
    assert head == ["TransactionalId", "Coordinator", "ProducerId", "TransactionState"]
    return {row[0]: row[-1] for row in rows}


class KafkaConnect:
    """``connect-distributed`` with a worker file. A context manager."""

    def __init__(self, folder: Path, settings: Mapping[str, str], version: str = VERSION) -> None:
        self.folder = folder
        self.version = version
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.http = httpx2.Client(base_url=self.url, timeout=60.0)
        self.settings = {
            **settings,
            "listeners": self.url,
            "rest.advertised.host.name": "127.0.0.1",
            "scheduled.rebalance.max.delay.ms": "0",
        }
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> KafkaConnect:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / "connect.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in self.settings.items()))
        java = str(find_java().home / "bin" / "java")
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        with (self.folder / "connect.log").open("ab") as log:
            self._process = subprocess.Popen(
                [java, "-Xmx512m", "-cp", connect_class_path(self.version), main, str(file)], stdout=log, stderr=log
            )
        try:
            wait_until(self._answers, f"Kafka Connect answers on {self.url}", START_SECONDS)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        """A clean stop: it leaves its group."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(120)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(120)
        self.http.close()

    def states(self, name: str) -> list[str]:
        """The state of a connector and of its tasks."""
        answer = self.http.get(f"/connectors/{name}/status")
        if answer.status_code != 200:
            return []
        found = answer.json()
        return [found["connector"]["state"], *(task["state"] for task in found["tasks"])]

    def wait_states(self, name: str, *states: str) -> None:
        wait_until(lambda: self.states(name) == list(states), f"{name} is {states} on Kafka Connect")

    def _answers(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            log = (self.folder / "connect.log").read_text(errors="replace")
            raise AssertionError(f"Kafka Connect ended:\n{log[-4000:]}")
        return self.http.get("/connectors").status_code == 200
