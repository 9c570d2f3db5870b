"""A folder in which the commands of a page are run, one after the other, as a reader would.

It is like a fresh clone; pages that begin with ``git clone`` get a real one, whose ``.venv`` is there already.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx2

from tests.docs.blocks import ROOT, Block, Command
from tests.docs.terminal import answered
from tests.support.ports import free_port
from tests.support.waiting import wait_until
from tests.support.worker import SOURCE

SECONDS = 300.0
STAYS = re.compile(r"^(?:make run\b|(?:\S*/)?penstock (?:run|standalone|distributed|takeover (?!--dry-run))\b)")
"""Commands that end when the reader presses Ctrl-C: a worker."""
FOLLOWS = re.compile(r"^tail -f |^(?:\S*/)?penstock (?:topics tail (?!.*--no-follow)|logs .*--follow)")
"""Commands that show more and more until the reader presses Ctrl-C."""
LOOKS = re.compile(
    r"^(?:tail|cat|ls|echo|find|sqlite3|(?:\S*/)?penstock (?:get|describe|lifecycle|version|offsets get|topics"
    r"|dlq (?:list|show))|curl (?!.*(?:-X|-d|--data)))\b",
    re.S,
)
"""Commands that change nothing: what they show may need a moment to be there."""
CLONE = ("Makefile", "pyproject.toml", "tools", "deploy", "docs", "README.md", "src")
VARIABLE = re.compile(r"\b[0-9a-f]*\d[0-9a-f]*[a-f][0-9a-f]{6,}\b|\d+(?:\\\.\d+)*")
"""What differs from run to run in shown output: numbers, hashes."""


_HAVE_VENV = "[ -e .venv ] || {{ cp -r {} .venv; touch .venv/.runtime .venv/.dev; }}"
"""What git does after a clone here: building ``.venv`` would download Spark."""


class Sandbox:
    """``substitutions`` are texts of the page and what stands for them here, such as addresses. With a ``port`` its
    commands talk to a worker that runs there.

    A context manager: what its commands started is ended with it.
    """

    def __init__(self, folder: Path, substitutions: Iterable[tuple[str, str]] = (), port: int | None = None) -> None:
        self.folder = folder
        self.port = port or free_port()
        self.url = f"http://localhost:{self.port}"
        self.substitutions = [
            *substitutions,
            ("localhost:8083", f"localhost:{self.port}"),
            ("localhost:8443", f"localhost:{self.port}"),
            ("penstock run", f"penstock run --port {self.port}"),
            ('make run ARGS="', f'make run ARGS="--port {self.port} '),
        ]
        self._workers: list[subprocess.Popen[bytes]] = []
        self._state = folder / ".state"
        self._furnish()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._workers:
            _end(worker.pid)
            worker.wait(120)

    def run(self, blocks: Iterable[Block]) -> None:
        """Save the files and run the commands of a page; an ``AssertionError`` names the line that is wrong."""
        for block in blocks:
            name = block.told.get("file")
            if name is not None:
                self.save(name, block.text)
            if block.is_shell and "not run" not in block.told:
                for command in block.commands:
                    self._run(block, command)

    def do(self, command: str) -> None:
        """One command that is on no page."""
        self.run([Block("(before the page)", 0, "sh", command)])

    def answer(self, command: str, answers: Mapping[str, str]) -> None:
        """One command at a terminal, at which the reader answers questions (patterns) that come."""
        answered(self._words(self._substituted(command)), self.folder, self.variables, answers)

    def end_workers(self) -> None:
        """The reader presses Ctrl-C where a worker runs."""
        for worker in self._workers:
            _end(worker.pid, signal.SIGINT)
            worker.wait(SECONDS)
            _end(worker.pid)
        self._workers.clear()

    def add_program(self, name: str, script: str) -> None:
        """Readers have this program."""
        _program(self.folder / ".bin" / name, script)

    @property
    def here(self) -> Path:
        """Where the reader is now: the folder that the last command ended in."""
        if not self._state.exists():
            return self.folder
        return Path(shlex.split(self._state.read_text().splitlines()[-1])[1])

    @property
    def variables(self) -> dict[str, str]:
        """The environment of commands."""
        return {
            **os.environ,
            "PATH": f"{self.folder / '.bin'}:{os.environ['PATH']}",
            "HOME": str(self.folder / ".home"),
            "PENSTOCK_URL": self.url,
            "PENSTOCK_CONTEXTS": str(self.folder / ".home" / "contexts.yaml"),
            "COLUMNS": "160",
            "NO_COLOR": "1",
            "TERM": "dumb",
            "PYTHONUNBUFFERED": "1",
        }

    def save(self, name: str, text: str) -> None:
        file = self.here / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = self._substituted(text)
        if file.suffix == ".properties" and not re.search(r"^(?:listeners|name)=", text, re.M):
            text += f"\nlisteners=http://localhost:{self.port}\n"
        file.write_text(text)

    def _run(self, block: Block, command: Command) -> None:
        text = self._substituted(command.text)
        if re.fullmatch(r"make run *(?:#.*)?", text):
            text = f"make run ARGS='--port {self.port}'"
        place = f"{block.page}:{block.line}: {command.text}"
        if STAYS.match(text):
            self._start_worker(text, place)
        elif FOLLOWS.match(text):
            self._follow(text, command, place)
        else:
            self._finish(text, command, place, int(block.told.get("exit code", "0")))

    def _finish(self, text: str, command: Command, place: str, code: int) -> None:
        seen = ["nothing yet"]

        def fits() -> bool:
            done = self._bash(text)
            seen[0] = f"exit code {done.returncode}\n{done.stdout}"
            return done.returncode == code and not missing(command, self._back(done.stdout))

        if LOOKS.match(text):
            try:
                wait_until(fits, place)
            except AssertionError:
                raise AssertionError(f"{place}\n{seen[0]}") from None
        else:
            assert fits(), f"{place}\n{seen[0]}\nwanted: exit code {code}, and shown: {list(command.shown)}"

    def _follow(self, text: str, command: Command, place: str) -> None:
        """Until what the page shows was seen, or for a moment where it shows nothing; then it is ended."""
        process = subprocess.Popen(self._words(text), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **self._place())
        lines: list[str] = []
        assert process.stdout is not None
        reader = threading.Thread(target=lambda: lines.extend(map(bytes.decode, process.stdout or [])), daemon=True)
        reader.start()
        try:
            if command.shown:
                wait_until(lambda: not missing(command, self._back("".join(lines))), place)
            else:
                assert not _ends(process), f"{place}\n{''.join(lines)}"
        finally:
            _end(process.pid, signal.SIGTERM)
            process.wait(120)

    def _start_worker(self, text: str, place: str) -> None:
        """In the background, as in another terminal; the one that runs here is stopped before."""
        self.end_workers()
        output = self.folder / ".worker.out"
        scheme = "https" if "tls" in text else "http"
        with output.open("wb") as file:
            process = subprocess.Popen(self._words(f"exec {text}"), stdout=file, stderr=file, **self._place())
        self._workers.append(process)

        def up() -> bool:
            if process.poll() is not None:
                return True
            with httpx2.Client(verify=False, timeout=10) as client:
                return client.get(f"{scheme}://localhost:{self.port}/health").status_code == 200

        try:
            wait_until(up, "the worker is healthy", SECONDS)
            assert process.poll() is None, "it has ended"
        except AssertionError as error:
            raise AssertionError(f"{place}\n{error}\n{output.read_text()[-4000:]}") from None

    def _bash(self, text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._words(text),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            **self._place(),
        )

    def _words(self, text: str) -> list[str]:
        """A shell that goes on where the one before ended: its folder and its variables."""
        state = self._state
        keep = f'trap \'code=$?; {{ export -p; printf "cd %q\\n" "$PWD"; }} > {state}; exit $code\' EXIT'
        resume = f"if [ -f {state} ]; then . {state}; fi"
        return ["bash", "-c", f"{resume}\n{keep}\n{text}"]

    def _place(self) -> dict[str, Any]:
        return {"cwd": self.folder, "env": self.variables, "stdin": subprocess.DEVNULL, "start_new_session": True}

    def _substituted(self, text: str) -> str:
        for there, here in self.substitutions:
            text = text.replace(there, here)
        return text

    def _back(self, output: str) -> str:
        """Output in the words of the page."""
        for there, here in self.substitutions:
            output = output.replace(here, there)
        return output

    def _furnish(self) -> None:
        for name in CLONE:
            (self.folder / name).symlink_to(ROOT / name)
        for example in sorted((ROOT / "examples").rglob("*.*")):
            if example.is_file() and "__pycache__" not in example.parts:
                self.save(str(example.relative_to(ROOT)), example.read_text())
        home = self.folder / ".home"
        home.mkdir()
        (home / ".curlrc").write_text("silent\nshow-error\nfail-with-body\nmax-time = 120\n")
        (home / ".gitconfig").write_text(
            "[user]\n\tname = Ada\n\temail = ada@example.org\n"
            f"[init]\n\tdefaultBranch = main\n\ttemplateDir = {home / 'template'}\n"
        )
        hooks = home / "template" / "hooks"
        hooks.mkdir(parents=True)
        _program(hooks / "post-checkout", _HAVE_VENV.format(self.folder / ".venv"))
        for folder in (self.folder / ".bin", self.folder / ".venv" / "bin"):
            folder.mkdir(parents=True)
            _program(folder / "penstock", f'exec {sys.executable} -m penstock "$@"')
            _program(folder / "python", f'exec {sys.executable} "$@"')
        for stamp in (".runtime", ".dev"):
            (self.folder / ".venv" / stamp).touch()


def missing(command: Command, output: str) -> list[str]:
    """Lines that the page shows and the output does not have, in order. Numbers, hashes and ``…`` fit anything."""
    rest = [_squeezed(line) for line in output.splitlines()]
    for line in command.shown:
        wanted = _pattern(line)
        found = next((number for number, text in enumerate(rest) if wanted.search(text)), None)
        if found is None:
            return [line]
        rest = rest[found + 1 :]
    return []


def _pattern(line: str) -> re.Pattern[str]:
    parts = (VARIABLE.sub(lambda _: r"[0-9a-f.]+", re.escape(_squeezed(part))) for part in line.split("…"))
    return re.compile(".*".join(parts))


def _squeezed(text: str) -> str:
    return re.sub(r"[\s─━│┃]+", " ", text).strip()


def _program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\nPYTHONPATH={SOURCE}:$PYTHONPATH\nexport PYTHONPATH\n{text}\n")
    path.chmod(0o755)


def _ends(process: subprocess.Popen[bytes], seconds: float = 5.0) -> bool:
    """Whether a command that should go on for ever ends by itself."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(leader: int, number: int = signal.SIGKILL) -> None:
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return
