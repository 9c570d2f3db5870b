"""Breaks chosen functions one at a time, in a copy of the tree, and lists the faults that no test notices.

``targets.yaml`` names the functions by room, and the tests that guard them; ``explained.yaml`` the mutants that may
live, with the reason. The exit code is 1 when another one lives.

  make mutants                              all rooms
  make mutants ARGS="--list"                the rooms, their targets, and how many mutants each has
  make mutants ARGS="--only hooks"          one room; or --only runtime/hooks.py, or --only Hooks.is_due
  make mutants ARGS="--share 1/2"           every second mutant, for two machines or shells that share the work

A mutant is noticed when a test fails, or hangs until the limit. Where a function may raise at once without a test that
fails, no test runs it: its other mutants are not tried. Before that, the copy as it is has to be green, and a module
that cannot even be imported has to be noticed by the tests of each target: otherwise these run some other tree.

Why a page of our own: mutmut replaces functions by trampolines, which changes what "this class overrides that method"
means (we ask so for hooks and column forms) and does not reach the processes that tests start; cosmic-ray begins a new
interpreter for each mutant, with Spark, Arrow and Hypothesis to import, and has one command of tests for all. Here a
process that has imported all that is foreign divides itself for each mutant, and the copy is an ordinary tree.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib
import io
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import hypothesis
import psutil
import pytest
import yaml

sys.path[:0] = [str(Path(__file__).parent)]

from mutations import PARTS, WHOLE, Mutant, mutants_of  # noqa: E402

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOREIGN = (
    *("hypothesis.extra.numpy", "pyspark.sql", "pyspark.errors", "pyarrow.compute", "pyarrow.parquet", "pyarrow.json"),
    *("numpy", "msgspec", "httpx2", "uvicorn", "psutil", "yaml", "typer", "rich.console"),
)
"""Imported once. Nothing of ours is among it: that comes from the copy, broken or not."""
TIMES_AS_LONG = 8.0
"""A mutant has so many times what its tests need otherwise; machines are busy."""
MOST_BYTES = 4 << 30
"""Of memory, for a mutant that would fill it up."""
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Target:
    """Functions of a module, and the tests that guard them: groups of arguments of pytest, the quick ones first."""

    room: str
    path: str
    tests: Sequence[Sequence[str]]
    functions: Sequence[str] = ("*",)
    kinds: Sequence[str] = (*WHOLE, *PARTS)
    most: int = 10

    def mutants(self, root: Path) -> list[Mutant]:
        source = (root / self.path).read_text("utf-8")
        found = mutants_of(self.path, source, self.functions, self.kinds, self.most)
        for pattern in self.functions:
            if "*" not in pattern and not mutants_of(self.path, source, (pattern,)):
                raise SystemExit(f"{self.path} has no function {pattern} that could be broken: mend targets.yaml")
        if not found:
            raise SystemExit(f"{self.path} has nothing like {', '.join(self.functions)}: mend targets.yaml")
        return found


@dataclass
class Tally:
    """What became of mutants."""

    tried: int = 0
    noticed: int = 0
    hung: int = 0
    explained: list[Mutant] = field(default_factory=list)
    left: list[Mutant] = field(default_factory=list)
    not_run: int = 0
    """Other mutants of functions that no test runs."""


class Copy:
    """A copy of the tree, in which tests run while one module is broken."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.tree = folder / "tree"
        self._temporary = folder / "tmp"
        self._output = folder / "output"
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listed, cwd=root, check=True, capture_output=True).stdout.decode().split("\0")
        for name in filter(None, names):
            if (root / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, self.tree / name)

    @contextlib.contextmanager
    def broken(self, path: str, text: str) -> Iterator[None]:
        """With another text for a module. Its bytecode stays that of the original, which is back afterwards."""
        file = self.tree / path
        original, times = file.read_bytes(), file.stat()
        file.write_text(text, "utf-8")
        try:
            yield
        finally:
            file.write_bytes(original)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    def output(self) -> str:
        """What the last tests have printed."""
        return self._output.read_text("utf-8", "replace")

    def run(self, tests: Sequence[str], seconds: float | None = None, bytecode: bool = False) -> int | None:
        """Run tests in a process that has all foreign modules; pytest's exit code, or ``None`` after so long."""
        shutil.rmtree(self._temporary, ignore_errors=True)
        sys.stdout.flush()
        process = os.fork()
        if not process:
            code = 70
            try:
                code = self._tested(tests, bytecode)
            finally:
                os._exit(code)
        deadline = None if seconds is None else time.monotonic() + seconds
        try:
            while True:
                found, status = os.waitpid(process, os.WNOHANG)
                if found:
                    return os.waitstatus_to_exitcode(status)
                if deadline is not None and time.monotonic() > deadline:
                    return None
                time.sleep(0.02)
        finally:
            _end_children()

    def _tested(self, tests: Sequence[str], bytecode: bool) -> int:
        with self._output.open("wb") as output:
            for stream in (1, 2):
                os.dup2(output.fileno(), stream)
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
        os.chdir(self.tree)
        paths = [str(self.tree / "src"), str(self.tree)]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        sys.path[:] = [*paths, *(path for path in sys.path if not Path(path).is_relative_to(ROOT / "src"))]
        sys.dont_write_bytecode = not bytecode
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        if not bytecode:
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", f"--basetemp={self._temporary}"]
        return int(pytest.main([*options, "--hypothesis-profile=mutants", "--hypothesis-seed=0", *tests]))


def adopt_orphans() -> None:
    """What tests have started and left becomes a child of this process, which ends it."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _end_children() -> None:
    while left := psutil.Process().children(recursive=True):
        for each in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.01)


def import_foreign() -> None:
    """Have all that every run would import anew, and pytest's plugins."""
    for name in FOREIGN:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutants", deadline=None, database=None, phases=phases)
    with tempfile.TemporaryDirectory() as empty, contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", empty, empty])


class Check:
    """One round over targets."""

    def __init__(self, copy: Copy, explained: Mapping[str, str], least_seconds: float) -> None:
        self._copy = copy
        self._least_seconds = least_seconds
        self._explained = explained
        self._usual: dict[tuple[str, ...], float] = {}
        self.tallies: defaultdict[str, Tally] = defaultdict(Tally)

    def prove(self, target: Target) -> None:
        """That the tests of a target are green, and are tests of this copy."""
        for tests in map(tuple, target.tests):
            if tests not in self._usual:
                self._copy.run(tests, bytecode=True)
                began = time.monotonic()
                if self._copy.run(tests, bytecode=True) != 0:
                    raise SystemExit(f"{self._copy.output()}\nNot green before anything is broken: {' '.join(tests)}")
                self._usual[tests] = time.monotonic() - began
            with self._copy.broken(target.path, "raise RuntimeError('mutant')\n"):
                if self._copy.run(tests, self._limit(tests)) == 0:
                    raise SystemExit(f"{' '.join(tests)} does not even import {target.path} of the copy")

    def check(self, target: Target, mutants: Sequence[Mutant]) -> None:
        """Try mutants of a target."""
        tally = self.tallies[target.room]
        original = (self._copy.tree / target.path).read_text("utf-8")
        not_run: set[str] = set()
        for mutant in mutants:
            if mutant.function in not_run:
                tally.not_run += 1
                continue
            tally.tried += 1
            if self._notices(target, mutant, tally):
                tally.noticed += 1
                continue
            if mutant.kind == "raises":
                not_run.add(mutant.function)
            if mutant.id in self._explained:
                tally.explained.append(mutant)
            else:
                tally.left.append(mutant)
                print(f"\n{mutant.path}:{mutant.line}  {mutant.id}\n{mutant.diff(original)}\n", flush=True)

    def _notices(self, target: Target, mutant: Mutant, tally: Tally) -> bool:
        with self._copy.broken(target.path, mutant.text):
            for tests in map(tuple, target.tests):
                code = self._copy.run(tests, self._limit(tests))
                if code is None:
                    tally.hung += 1
                if code != 0:
                    return True
        return False

    def _limit(self, tests: tuple[str, ...]) -> float:
        return max(self._least_seconds, TIMES_AS_LONG * self._usual[tests])


def read_targets(file: Path) -> list[Target]:
    """The targets, by room. ``tests`` of a room are those of each target that names none."""
    found = []
    for room, described in yaml.safe_load(file.read_text("utf-8")).items():
        for own in described["targets"]:
            values: dict[str, Any] = {**{k: v for k, v in described.items() if k != "targets"}, **own}
            values["tests"] = [shlex.split(group) for group in values["tests"]]
            found.append(Target(room, **values))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    about, _, more = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser("make mutants", None, about, more, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="a room, or a part of a path or of a function's name")
    parser.add_argument("--list", action="store_true", help="show what would be broken, and run nothing")
    parser.add_argument("--share", default="1/1", help="e.g. 1/2 or 2/2: a share of the mutants")
    parser.add_argument("--least-seconds", type=float, default=15.0, help="the shortest limit of a mutant")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    parser.add_argument("--here", type=Path, default=HERE, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    targets = read_targets(options.here / "targets.yaml")
    if options.only in {target.room for target in targets}:
        targets = [target for target in targets if target.room == options.only]
        options.only = ""
    chosen = [(target, mutants) for target in targets if (mutants := wanted(target, options.root, options.only))]
    if not chosen:
        parser.error(f"nothing is called {options.only!r}; see --list")
    if options.list:
        return show(chosen)
    explained = yaml.safe_load((options.here / "explained.yaml").read_text("utf-8")) or {}
    part, parts = map(int, options.share.split("/"))
    chosen = [(target, mutants[part - 1 :: parts]) for target, mutants in chosen]
    with tempfile.TemporaryDirectory(prefix="penstock-mutants-") as folder:
        check = Check(Copy(options.root, Path(folder)), explained, options.least_seconds)
        return run(check, chosen, explained, options.root)


def wanted(target: Target, root: Path, only: str) -> list[Mutant]:
    """The mutants of a target that were asked for."""
    mutants = target.mutants(root)
    if only in target.path:
        return mutants
    return [mutant for mutant in mutants if only in mutant.function]


def show(chosen: Sequence[tuple[Target, Sequence[Mutant]]]) -> int:
    for room, group in groupby(chosen, lambda pair: pair[0].room):
        pairs = list(group)
        print(f"{room}: {sum(len(mutants) for _, mutants in pairs)} mutants")
        for target, mutants in pairs:
            print(f"  {len(mutants):4}  {target.path}  {', '.join(target.functions)}")
            print("        guarded by " + ", then ".join(" ".join(tests) for tests in target.tests))
    return 0


def run(
    check: Check, chosen: Sequence[tuple[Target, Sequence[Mutant]]], explained: Mapping[str, str], root: Path
) -> int:
    """Try all, and tell how it goes; the exit code."""
    began = time.monotonic()
    import_foreign()
    adopt_orphans()
    total, done = sum(len(mutants) for _, mutants in chosen), 0
    for target, mutants in chosen:
        check.prove(target)
        check.check(target, mutants)
        done += len(mutants)
        minutes = (time.monotonic() - began) / 60
        tally = check.tallies[target.room]
        print(
            f"[{done}/{total}] {target.room}: {target.path} done; the room: {tally.noticed} noticed, "
            f"{len(tally.left)} not; {minutes:.0f} min passed, about {minutes * (total - done) / done:.0f} to go",
            flush=True,
        )
    known = {mutant.id for target, _ in chosen for mutant in target.mutants(root)}
    return summary(check.tallies, explained, known, {target.path for target, _ in chosen}, time.monotonic() - began)


def summary(
    tallies: Mapping[str, Tally],
    explained: Mapping[str, str],
    known: Collection[str],
    paths: Collection[str],
    seconds: float,
) -> int:
    """Print what came of it; the exit code."""
    print()
    for room, tally in tallies.items():
        print(
            f"{room}: {tally.tried} mutants, {tally.noticed} noticed ({tally.hung} by hanging), "
            f"{len(tally.explained)} explained, {len(tally.left)} not noticed"
            + (f", {tally.not_run} more in functions that no test runs" if tally.not_run else "")
        )
    lived = {mutant.id for tally in tallies.values() for mutant in tally.explained}
    for each in explained:
        if each.split()[0] in paths and each not in known:
            print(f"explained, but there is no such mutant any more: {each}")
        elif each in known and each not in lived:
            print(f"explained, but noticed or not tried: {each}")
    left = [mutant for tally in tallies.values() for mutant in tally.left]
    for mutant in left:
        print(f"NOT NOTICED {mutant.path}:{mutant.line}  {mutant.id}")
    print(f"{seconds / 60:.1f} min")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
