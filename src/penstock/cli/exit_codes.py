"""What the process ends with; up to 3 the same numbers as Kafka Connect's scripts.

``REFUSED``: a worker could not be reached or did not do it; ``STALE``: a plan was out of date; ``FAILED_AGAIN``: some
replayed records failed again.
"""

from __future__ import annotations

OK = 0
USAGE = 1
START_UP = 2
CONNECTOR_FILE = 3
REFUSED = 4
STALE = 5
FAILED_AGAIN = 6
INTERRUPTED = 130
