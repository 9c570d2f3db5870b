"""Spark's classes as a JVM keeps them for the next one: with such an archive Spark starts sooner, for less CPU.

An archive fits one Java and one Spark. A JVM that finds it does not fit goes without, so nothing can go wrong with it.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from .java import Java

FOLDER = Path(sys.prefix) / "share" / "penstock"
"""Beside the packages: whoever may install them may write here, and the archive goes when they go."""

READ = "-XX:SharedArchiveFile="
WRITE = "-XX:ArchiveClassesAtExit="


def archive_file(java: Java) -> Path:
    """Where the archive for this Java and this Spark is, or would be."""
    import pyspark

    modules = java.home / "lib" / "modules"
    stamp = modules.stat().st_mtime_ns if modules.exists() else 0
    digest = hashlib.sha256(f"{java.home} {stamp} {pyspark.__file__}".encode()).hexdigest()[:12]
    return FOLDER / f"spark-{pyspark.__version__}-java-{java.version}-{digest}.jsa"


def archive_option(java: Java, given: str) -> str:
    """The option with which a JVM uses the archive; empty when there is none, or ``given`` options choose one."""
    if READ in given or WRITE in given:
        return ""
    file = archive_file(java)
    readable = os.access(file, os.R_OK) and os.pathsep not in str(file)
    return f"{READ}{file}" if readable else ""
