"""A Java of the tests' own, that Spark is started with and that does what a test wants."""

from __future__ import annotations

from pathlib import Path

from penstock.spark.java import find_java, java_home_for_spark


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


def java_that_fails_while(folder: Path, trouble: Path) -> dict[str, str]:
    """The environment of a worker whose Spark only starts when the file ``trouble`` is gone."""
    real = java_home_for_spark(find_java(), folder / "real-java") / "bin" / "java"
    excuse = "Error: Could not reserve enough space for the object heap"
    script = f'[ ! -e "{trouble}" ] || {{ echo "{excuse}" >&2; exit 1; }}\nexec "{real}" "$@"'
    return {"JAVA_HOME": str(java_home(folder / "failing-java", script))}
