"""How Kafka's processes are started."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .jars import class_path

JVM = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)
"""What kafka-run-class.sh gives every Kafka process."""

LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.out.ref = OUT
appender.out.type = Console
appender.out.name = OUT
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d] %p %m (%c)%n
"""


def java(folder: Path, heap: Sequence[str], *arguments: str) -> list[str]:
    """The command for a class of Kafka's and its arguments; the settings of its log are written into the folder."""
    logging = folder / "log4j2.properties"
    logging.write_text(LOGGING)
    return ["java", *heap, *JVM, f"-Dlog4j2.configurationFile={logging}", "-cp", class_path(), *arguments]
