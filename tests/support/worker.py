"""A Penstock worker in a process of its own, for tests that need the real thing: REST, Spark, kill -9, restart."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx2

from penstock.connectors.postgres.blocks import TOLD as ROWS_ONE_BY_ONE
from penstock.runtime.column_faults import TOLD
from penstock.storage.sqlite import NOT_TOGETHER

from .ports import free_port
from .waiting import wait_until

SOURCE = Path(__file__).parents[2] / "src"
START_SECONDS = 180.0
STOP_SECONDS = 120.0

SLOW_WAYS = (TOLD, ROWS_ONE_BY_ONE, NOT_TOGETHER)
"""What a worker logs where a quick way raised and a slow one had to do."""


class PenstockProcess:
    """``penstock standalone`` (or another ``command``) on a free port with its data in ``folder``.

    As a context manager it starts on entry and is killed on exit; when the block fails, the end of the worker's
    output is added to the error. ``settings`` go into the worker file, ``environment`` to the process, ``files`` are
    connector files for the command line. ``prepare`` is called in the new process before it becomes a worker.

    A worker whose log tells that a quick way raised, such as the column form of a plugin, fails the test on exit:
    nothing else would show it. Tests that want to see this set ``quick_ways_may_raise``.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        files: Iterable[Path] = (),
        command: str = "standalone",
    ) -> None:
        self.folder = folder
        self.data_dir = folder / "data"
        self.port = free_port()
        self.host = "127.0.0.1"
        self.scheme = "http"
        self.output = folder / "worker.out"
        self.files = list(files)
        self.command = command
        self.settings = {
            "data.dir": str(self.data_dir),
            "listeners": self.url,
            **(settings or {}),
        }
        self.environment = dict(environment or {})
        self.process: subprocess.Popen[bytes] | None = None
        self.prepare: Callable[[], None] | None = None
        self.quick_ways_may_raise = False
        self.http = httpx2.Client(base_url=self.url, timeout=60.0)

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"

    def listen_on(self, host: str, tls: ssl.SSLContext | None = None) -> None:
        """Serve requests on this address; with ``tls``, the context of a client, by https. Call before ``start``."""
        self.http.close()
        self.host = host
        self.scheme = "http" if tls is None else "https"
        self.settings["listeners"] = self.url
        self.http = httpx2.Client(base_url=self.url, timeout=60.0, verify=tls or True)

    def __enter__(self) -> PenstockProcess:
        try:
            return self.start()
        except BaseException:
            self.kill()
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.http.close()
        self.kill()
        if error is not None:
            print(f"\n--- end of {self.output} ---\n{self.tail()}")
        else:
            self.check_quick_ways()

    def check_quick_ways(self) -> None:
        """Fail when the log tells that a quick way raised and a slow one had to do. Called after the worker's end."""
        if self.quick_ways_may_raise or not self.output.exists():
            return
        with self.output.open(errors="replace") as lines:
            told = [line.rstrip() for line in lines if any(way in line for way in SLOW_WAYS)]
        assert told == [], f"quick ways raised, see {self.output}:\n" + "\n".join(told)

    def start(self, wait: bool = True, **environment: str) -> PenstockProcess:
        """Start the process (again); unless told otherwise wait until it is healthy."""
        self.folder.mkdir(parents=True, exist_ok=True)
        worker_file = self.folder / "worker.properties"
        worker_file.write_text("".join(f"{key}={_escaped(value)}\n" for key, value in self.settings.items()))
        command = [sys.executable, "-m", "penstock", self.command, str(worker_file), *map(str, self.files)]
        variables = {**os.environ, "PYTHONPATH": _python_path(), **self.environment, **environment}
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                command,
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                env=variables,
                start_new_session=True,
                preexec_fn=self.prepare,
            )
        if wait:
            self.wait_healthy()
        return self

    def wait_healthy(self, seconds: float = START_SECONDS) -> None:
        """Wait until ``GET /health`` says healthy; fail at once when the process ended."""
        wait_until(self._healthy_or_dead, f"{self.url} is healthy", seconds)
        if not self.running:
            raise AssertionError(f"the worker ended with {self.exit_code} while starting:\n{self.tail()}")

    def _healthy_or_dead(self) -> bool:
        return not self.running or self.http.get("/health").status_code == 200

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def exit_code(self) -> int | None:
        return None if self.process is None else self.process.poll()

    @property
    def pid(self) -> int:
        if self.process is None:
            raise AssertionError("the worker was not started")
        return self.process.pid

    def signal(self, number: int) -> None:
        """Send a signal to the worker alone, not to what it started."""
        os.kill(self.pid, number)

    def stop(self, seconds: float = STOP_SECONDS) -> int:
        """Ask for a clean stop, as Ctrl-C does, and wait for it; the exit code."""
        if self.process is None:
            raise AssertionError("the worker was not started")
        self.signal(signal.SIGINT)
        return self.process.wait(seconds)

    def kill(self) -> None:
        """``kill -9`` of the worker and of all it started: nothing gets a chance to clean up."""
        if self.process is None:
            return
        _kill_group(self.process.pid)
        self.process.wait(STOP_SECONDS)

    def wait_for_exit(self, seconds: float = STOP_SECONDS) -> int:
        """Wait until the process ends by itself (and take down what it left behind); the exit code."""
        if self.process is None:
            raise AssertionError("the worker was not started")
        code = self.process.wait(seconds)
        _kill_group(self.process.pid)
        return code

    def restart(self, **environment: str) -> PenstockProcess:
        """``kill -9``, then start on the same folder and port."""
        self.kill()
        return self.start(**environment)

    def tail(self, lines: int = 60) -> str:
        """The end of what the worker printed."""
        if not self.output.exists():
            return "(no output)"
        return "\n".join(self.output.read_text(errors="replace").splitlines()[-lines:])

    def create(self, name: str, config: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """``POST /connectors``; the answer of a 201."""
        answer = self.http.post("/connectors", json={"name": name, "config": dict(config), **more})
        assert answer.status_code == 201, answer.text
        created: dict[str, Any] = answer.json()
        return created

    def status(self, name: str) -> dict[str, Any]:
        """``GET /connectors/{name}/status``."""
        answer = self.http.get(f"/connectors/{name}/status")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def wait_state(self, name: str, state: str, tasks: int | None = 1, seconds: float = 120.0) -> dict[str, Any]:
        """Wait until the connector, and ``tasks`` tasks if given, are in ``state``."""

        def reached() -> dict[str, Any] | None:
            found = self.status(name)
            states = [task["state"] for task in found["tasks"]]
            wanted = tasks is None or states == [state] * tasks
            return found if found["connector"]["state"] == state and wanted else None

        try:
            found = wait_until(reached, f"{name} is {state} with {tasks} tasks", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.http.get(f'/connectors/{name}/status').text}") from None
        assert found is not None
        return found


def _kill_group(leader: int) -> None:
    """End every process of the session that the worker leads: itself, the JVM, Spark's Python workers."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


def _python_path() -> str:
    inherited = os.environ.get("PYTHONPATH")
    return str(SOURCE) if not inherited else os.pathsep.join([str(SOURCE), inherited])


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")
