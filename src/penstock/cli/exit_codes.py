"""What the process ends with; up to 3 the same numbers as Kafka Connect's scripts.

``REFUSED``: a worker could not be reached or did not do it; ``STALE``: a plan or a configuration was out of date;
``FAILED_AGAIN``: some replayed records failed again; ``NOT_FOUND``: no such connector, task, topic, plugin or context;
``NOT_REACHED``: ``--wait`` ended before the state was reached, or a connector failed meanwhile; ``UNSUPPORTED``: the
worker has no such feature, as a Kafka Connect or an older version.
"""

from __future__ import annotations

OK = 0
USAGE = 1
START_UP = 2
CONNECTOR_FILE = 3
REFUSED = 4
STALE = 5
FAILED_AGAIN = 6
NOT_FOUND = 7
NOT_REACHED = 8
UNSUPPORTED = 9
INTERRUPTED = 130
