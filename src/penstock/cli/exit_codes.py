"""What the process ends with; the same numbers as Kafka Connect's scripts."""

from __future__ import annotations

OK = 0
USAGE = 1
START_UP = 2
CONNECTOR_FILE = 3
INTERRUPTED = 130
