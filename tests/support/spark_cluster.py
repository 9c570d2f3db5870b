"""A Spark cluster on this machine for tests: a master and workers of the ``pyspark`` package."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path

import psutil
import pyspark

from penstock.spark.java import find_java

from .ports import free_port
from .waiting import wait_until

HOME = Path(pyspark.__file__).parent
START_SECONDS = 120.0


class SparkCluster:
    """A context manager. Executors run a Python of their own, in which nothing is installed.

    They do not see what is in the folder ``hidden``, as if they were on other machines; this takes root.
    """

    def __init__(self, folder: Path, workers: int = 2, cores: int = 2, hidden: Path | None = None) -> None:
        self.folder = folder
        self.port = free_port()
        self.master = f"spark://127.0.0.1:{self.port}"
        self.python = folder / "python"
        self._workers, self._cores = workers, cores
        self._hidden = hidden
        self._processes: list[subprocess.Popen[bytes]] = []
        self._machines: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> SparkCluster:
        self.folder.mkdir(parents=True, exist_ok=True)
        venv.create(self.python, symlinks=True)
        here = ("--host", "127.0.0.1")
        self._run("master.Master", *here, "--port", str(self.port), "--webui-port", str(free_port()))
        wait_until(self._listens, f"{self.master} listens", START_SECONDS)
        for _ in range(self._workers):
            self.add_worker()
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes:
            for child in psutil.Process(process.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()
            process.kill()
            process.wait(120)

    def add_worker(self) -> None:
        """One more machine, so to speak."""
        folder = self.folder / f"work-{len(self._machines)}"
        size = ("--cores", str(self._cores), "--memory", "1g", "--work-dir", str(folder))
        port = ("--webui-port", str(free_port()))
        self._machines.append(self._run("worker.Worker", "--host", "127.0.0.1", *port, *size, self.master))

    def decommission_one(self) -> list[psutil.Process]:
        """Tell a machine with executors that it goes; those it has now."""
        for machine in self._machines:
            if found := executors_below([psutil.Process(machine.pid)]):
                machine.send_signal(signal.SIGPWR)
                self._machines.remove(machine)
                return found
        raise AssertionError("no machine has an executor")

    @property
    def settings(self) -> dict[str, str]:
        """What a worker's file needs to use this cluster."""
        return {
            "spark.master": self.master,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "512m",
            "spark.executor.cores": str(self._cores),
            "spark.pyspark.python": str(self.python / "bin" / "python"),
            "spark.pyspark.driver.python": sys.executable,
        }

    def executors(self) -> list[psutil.Process]:
        """The JVMs that run Spark tasks now."""
        return executors_below(psutil.Process(process.pid) for process in self._processes)

    def _run(self, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        environment = {
            **{key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            "SPARK_HOME": str(HOME),
            "JAVA_HOME": str(find_java().home),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_WORKER_OPTS": "-Dspark.decommission.enabled=true",
        }
        command = [*self._hiding(), str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{main}", *arguments]
        with (self.folder / f"{main}.log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        self._processes.append(process)
        return process

    def _hiding(self) -> list[str]:
        if self._hidden is None:
            return []
        script = 'mount -t tmpfs none "$0" && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", script, str(self._hidden)]

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def executors_below(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """The JVMs that run Spark tasks, among these processes and what they have started."""
    all_below = {below for each in processes for below in (each, *each.children(recursive=True))}
    return [process for process in all_below if "CoarseGrainedExecutorBackend" in _command(process)]


def python_daemons(executors: Iterable[psutil.Process]) -> list[psutil.Process]:
    """What these fork their Python workers from."""
    return [child for executor in executors for child in executor.children() if "daemon" in _command(child)]


def _command(process: psutil.Process) -> str:
    """Nothing for one that ends just now."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
