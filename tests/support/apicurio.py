"""Apicurio Registry, a schema registry in its own right that speaks Confluent's API, in a process of its own.

It is fetched by its Maven coordinates and kept in the user's cache folder.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path

import httpx2

from penstock.spark.java import find_java

from .alone import alone
from .maven import fetch
from .ports import free_port
from .waiting import wait_until

VERSION = "3.0.9"
SHA256 = "2b28181501a20cbf6efcd77f9b7153908fc01f3d3a7c32024c0bd9e1b04c8a43"
START_SECONDS = 120.0


class Apicurio:
    """A running registry with nothing in it, as a context manager. ``url`` is where Confluent's API is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}/apis/ccompat/v7"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Apicurio:
        command = [str(find_java().home / "bin" / "java"), "-Xmx400m", "-Dquarkus.http.host=127.0.0.1"]
        command += [f"-Dquarkus.http.port={self._port}", "-Dapicurio.storage.kind=sql", "-jar", str(_program())]
        with (self._folder / "apicurio.out").open("wb") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        try:
            wait_until(self._answers, "the registry answers", START_SECONDS)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(120)

    def _answers(self) -> bool:
        try:
            return httpx2.get(f"{self.url}/subjects", timeout=5).status_code == 200
        except httpx2.TransportError:
            return False


def _program() -> Path:
    """The program, fetched when it is first needed."""
    with alone("apicurio"):
        return _installed()


def _installed() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock-tests"
    folder = cache / f"apicurio-registry-{VERSION}"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            archive = fetch("io.apicurio", "apicurio-registry-app", VERSION, "all", "tar.gz", Path(scratch))
            assert hashlib.sha256(archive.read_bytes()).hexdigest() == SHA256, f"{archive.name} is not what it was"
            with tarfile.open(archive) as content:
                content.extractall(Path(scratch) / "unpacked", filter="data")
            (Path(scratch) / "unpacked").rename(folder)
    return next(folder.glob("*-runner.jar"))
