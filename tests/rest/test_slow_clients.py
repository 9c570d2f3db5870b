"""Clients that take their time hold up nobody, and are let go."""

from __future__ import annotations

import socket
import time

import httpx2
import pytest

from penstock.rest import protocol


@pytest.mark.parametrize("sent", [b"", b"GET /connectors HT", b"GET /connectors HTTP/1.1\r\nhost: localhost\r\n"])
def test_a_request_that_never_gets_complete_is_given_up(
    api: httpx2.Client, address: tuple[str, int], monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(protocol, "_HEADER_SECONDS", 0.3)
    with socket.create_connection(address, timeout=10) as slow:
        slow.sendall(sent)
        answer = slow.recv(4096)
    assert answer == b"" if not sent else answer.startswith(b"HTTP/1.1 408 ")
    assert api.get("/connectors").status_code == 200


def test_a_connection_that_is_kept_after_an_answer_is_not_given_up(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "_HEADER_SECONDS", 0.3)
    with socket.create_connection(address, timeout=10) as kept:
        for _ in range(2):
            kept.sendall(b"GET /connectors HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert kept.recv(4096).startswith(b"HTTP/1.1 200 ")
            time.sleep(0.5)
