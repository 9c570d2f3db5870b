"""File to topic to file under load, next to connectors that are paused, stopped and failed."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

TOPIC = "lines"

TRICKLE_SECONDS = 0.02
TRICKLES_A_BURST = 100
BURST_LINES = 8_000
STRING = "org.apache.kafka.connect.storage.StringConverter"

SHORTEST_LINE = 62
LENGTHS = 30
BYTES_A_CYCLE = sum(SHORTEST_LINE + number for number in range(LENGTHS))


def line(number: int) -> bytes:
    """The line with this number; lengths vary from line to line."""
    return b"%010d %s\n" % (number, b"x" * (SHORTEST_LINE - 12 + number % LENGTHS))


def bytes_before(number: int) -> int:
    """Where this line begins in the file of all lines."""
    cycles, rest = divmod(number, LENGTHS)
    return cycles * BYTES_A_CYCLE + sum(SHORTEST_LINE + length for length in range(rest))


class Feeder:
    """Appends numbered lines to a file from a thread: a few all the time, and now and then many at once.

    Bursts are large enough for a file of their own in the topic; what trickles stays in the manifest and is merged.
    Lines are written in two halves, so that readers meet incomplete ones.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feeder", daemon=True)
        path.touch()
        self._thread.start()

    def stop(self) -> int:
        """End, and tell how many lines there are."""
        self._stop.set()
        self._thread.join()
        return self.lines

    def _run(self) -> None:
        rounds = 0
        while not self._stop.wait(TRICKLE_SECONDS):
            rounds += 1
            self._write(BURST_LINES if rounds % TRICKLES_A_BURST == 0 else 3)

    def _write(self, count: int) -> None:
        data = b"".join(line(self.lines + number) for number in range(count))
        cut = len(data) - SHORTEST_LINE // 2
        with self.path.open("ab", buffering=0) as file:
            file.write(data[:cut])
            file.write(data[cut:])
        self.lines += count


class Pipeline:
    """The connectors, the files, the feeder and the worker. What the worker writes goes to ``disk``."""

    def __init__(self, folder: Path, disk: Path | None = None) -> None:
        self.source = folder / "in.txt"
        self.target = (disk or folder) / "out.txt"
        self.worker = PenstockProcess(folder / "worker")
        if disk:
            self.worker.data_dir = disk / "data"
            self.worker.settings["data.dir"] = str(self.worker.data_dir)
        self.feeder = Feeder(self.source)

    def __enter__(self) -> Pipeline:
        try:
            self.worker.start()
            self.create()
            self.wait_until_more_is_out()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.feeder.stop()
        self.worker.__exit__(kind, error, trace)

    @property
    def configs(self) -> Mapping[str, Mapping[str, str]]:
        common = {"tasks.max": "1", "key.converter": STRING, "value.converter": STRING}
        source = {"connector.class": "FileStreamSource", "file": str(self.source), **common}
        sink = {"connector.class": "FileStreamSink", "topics": TOPIC, **common}
        return {
            "in": {"name": "in", **source, "topic": TOPIC},
            "out": {"name": "out", **sink, "file": str(self.target)},
            "paused": {"name": "paused", **source, "topic": "never"},
            "stopped": {"name": "stopped", **source, "topic": "never"},
            "failed": {"name": "failed", **sink, "file": "/"},
        }

    def create(self) -> None:
        """Create every connector on the running worker and wait until each is what it is going to be."""
        for name, state in {"paused": "PAUSED", "stopped": "STOPPED"}.items():
            self.worker.create(name, self.configs[name], initial_state=state)
        for name in ("failed", "in", "out"):
            self.worker.create(name, self.configs[name])
        self.wait_sane()

    def wait_sane(self) -> None:
        """Configurations, target states and statuses are as they were asked for."""
        worker = self.worker
        found = worker.http.get("/connectors", params={"expand": "info"}).json()
        assert {name: entry["info"]["config"] for name, entry in found.items()} == self.configs
        worker.wait_state("in", "RUNNING")
        worker.wait_state("out", "RUNNING")
        worker.wait_state("paused", "PAUSED", tasks=None)
        worker.wait_state("stopped", "STOPPED", tasks=0)
        wait_until(self._failed_as_it_should, "the broken sink's task is FAILED")

    def _failed_as_it_should(self) -> bool:
        status = self.worker.status("failed")
        (task,) = status["tasks"]
        failed = task["state"] == "FAILED" and "Couldn't find or create file '/'" in task["trace"]
        return failed and status["connector"]["state"] == "RUNNING"

    @property
    def bytes_out(self) -> int:
        return self.target.stat().st_size if self.target.exists() else 0

    def wait_until_more_is_out(self, seconds: float = 120.0) -> None:
        """Records arrive that were not there when this was called."""
        before = bytes_before(self.feeder.lines)
        wait_until(lambda: self.bytes_out > before, "new lines come out", seconds)

    def wait_until_all_is_out(self, seconds: float = 120.0) -> None:
        """Every line that was fed is in the output file; the feeder must have ended."""
        wait_until(lambda: self.bytes_out >= bytes_before(self.feeder.lines), "all lines are out", seconds)
