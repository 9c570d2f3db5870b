"""A Java of the tests' own, that Spark is started with and that does what a test wants."""

from __future__ import annotations

from pathlib import Path


def java_home(folder: Path, script: str) -> Path:
    """A ``JAVA_HOME`` whose ``bin/java`` is a shell script."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    (folder / "release").write_text('JAVA_VERSION="21"\nMODULES="java.base jdk.incubator.vector"\n')
    return folder


def java_that_never_starts(folder: Path) -> dict[str, str]:
    """The environment of a worker that has no use for Spark: its start costs nothing, and never ends."""
    return {"JAVA_HOME": str(java_home(folder / "sleeping-java", "exec sleep 86400"))}
