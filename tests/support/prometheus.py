"""A real Prometheus for tests, from Debian's package."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import yaml

from .debian import find_program
from .ports import free_port
from .waiting import wait_until

START_SECONDS = 120.0


class Prometheus:
    """Scrapes every three seconds as ``jobs`` say (entries of ``scrape_configs``). A context manager."""

    def __init__(self, folder: Path, *jobs: Mapping[str, Any]) -> None:
        self.folder = folder
        self.port = free_port()
        self.http = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=60.0)
        self.config = {"global": {"scrape_interval": "3s"}, "scrape_configs": list(jobs)}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Prometheus:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / "prometheus.yml"
        file.write_text(yaml.safe_dump(self.config))
        command = [
            find_program("prometheus", ("prometheus",), "The tests of metrics"),
            f"--config.file={file}",
            f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
        ]
        with (self.folder / "prometheus.log").open("wb") as log:
            self._process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        try:
            wait_until(self._ready, "Prometheus is ready", START_SECONDS)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.http.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait(120)

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Series that an expression has now, each with ``metric`` (its labels) and ``value`` (time and number)."""
        answer = self.http.get("/api/v1/query", params={"query": expression})
        assert answer.status_code == 200, f"{expression}: {answer.text}"
        found: list[dict[str, Any]] = answer.json()["data"]["result"]
        return found

    def targets(self) -> list[dict[str, Any]]:
        """What is scraped, each with ``health`` and ``lastError``."""
        found: list[dict[str, Any]] = self.http.get("/api/v1/targets").json()["data"]["activeTargets"]
        return found

    def _ready(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise AssertionError(f"Prometheus ended:\n{(self.folder / 'prometheus.log').read_text()[-4000:]}")
        return self.http.get("/-/ready").status_code == 200
