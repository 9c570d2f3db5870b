"""Where the API of ``penstock run`` listens: ``--host`` and ``--port``."""

from __future__ import annotations

import pytest

from penstock.cli.run import listener
from penstock.runtime.worker_config import WorkerConfigError


@pytest.mark.parametrize(
    ("host", "port", "expected"),
    [
        (None, None, None),
        (None, 9000, "http://127.0.0.1:9000"),
        ("0.0.0.0", None, "http://0.0.0.0:8083"),
        ("worker-1.example.org", 9000, "http://worker-1.example.org:9000"),
        ("::", 0, "http://[::]:0"),
        ("::1", 9000, "http://[::1]:9000"),
    ],
)
def test_host_and_port_say_where_the_api_listens(host: str | None, port: int | None, expected: str | None) -> None:
    assert listener(host, port) == expected


@pytest.mark.parametrize("host", ["http://localhost", "localhost:9000", "my host", "a/b"])
def test_what_is_no_host_is_told_with_the_way_out(host: str) -> None:
    with pytest.raises(WorkerConfigError, match=r"--host '.*' is no host: .*0\.0\.0\.0.*--port") as error:
        listener(host, None)
    assert host in str(error.value)
