"""HTTP itself: paths, methods, content types, sizes, and requests that are hardly HTTP."""

from __future__ import annotations

import json
import logging
import re
import socket

import httpx2
import pytest

from tests.rest.conftest import LIMIT
from tests.rest.troubled_herder import TroubledHerder
from tests.support.waiting import wait_until

HEAD = b"Host: localhost\r\n"


def exchange(address: tuple[str, int], *parts: bytes, end: bool = False) -> tuple[int, bytes]:
    """Sends raw bytes; the status and body of the first answer."""
    with socket.create_connection(address, timeout=10) as connection:
        for part in parts:
            connection.sendall(part)
        if end:
            connection.shutdown(socket.SHUT_WR)
        received = connection.makefile("rb")
        line = received.readline()
        length = 0
        while (header := received.readline().strip()) != b"":
            if header.lower().startswith(b"content-length:"):
                length = int(header.split(b":")[1])
        return int(line.split()[1]) if line else 0, received.read(length)


def problem(answer: tuple[int, bytes]) -> tuple[int, str]:
    status, body = answer
    shown = json.loads(body)
    assert shown["error_code"] == status
    return status, shown["message"]


@pytest.mark.parametrize("path", ["/nope", "/connectors/a/b/c", "/Connectors", "/connectors/a/nope", "/admin"])
def test_an_unknown_path_is_not_found(api: httpx2.Client, path: str) -> None:
    for method in ("GET", "PUT", "OPTIONS"):
        answer = api.request(method, path)
        assert answer.status_code == 404
        assert answer.json() == {"error_code": 404, "message": "HTTP 404 Not Found"}


def test_a_wrong_method_tells_the_right_ones(api: httpx2.Client) -> None:
    answer = api.delete("/connectors")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS, POST"
    assert api.head("/connectors/a/pause").status_code == 405


def test_head_is_get_without_a_body(api: httpx2.Client) -> None:
    answer = api.head("/connectors")
    assert answer.status_code == 200
    assert answer.headers["content-length"] == "2"
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("accept", "media", "text"),
    [("*/*", "text/plain", "OPTIONS, PUT"), ("application/json", "application/json", ""),
     ("text/*;q=0.1", "text/plain", "OPTIONS, PUT"), ("image/png", "application/json", "")],
)  # fmt: skip
def test_options_lists_methods(api: httpx2.Client, accept: str, media: str, text: str) -> None:
    answer = api.options("/connectors/a/pause", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["allow"]) == (200, "OPTIONS, PUT")
    assert answer.headers["content-type"] == media
    assert answer.text == text


@pytest.mark.parametrize(
    ("accept", "code"),
    [("text/plain", 406), ("application/json;q=0", 406), ("text/html, */*;q=0.1", 200), ("application/*", 200),
     ("APPLICATION/JSON", 200), ("", 200), ("text/html;q=x, application/json;q=y", 200)],
)  # fmt: skip
def test_only_json_is_offered(api: httpx2.Client, accept: str, code: int) -> None:
    assert api.get("/connectors", headers={"Accept": accept}).status_code == code


@pytest.mark.parametrize(
    ("content_type", "code"),
    [("application/json", 201), ("Application/JSON; charset=UTF-8", 201), ("text/json", 415), ("text/plain", 415),
     ("application/x-www-form-urlencoded", 415), ("application/json; charset=utf-16", 415), ("garbage", 415)],
)  # fmt: skip
def test_only_json_is_read(api: httpx2.Client, config: dict[str, str], content_type: str, code: int) -> None:
    body = json.dumps({"name": "a", "config": config})
    assert api.post("/connectors", content=body, headers={"Content-Type": content_type}).status_code == code


def test_a_body_without_a_content_type_is_not_read(api: httpx2.Client) -> None:
    assert api.post("/connectors", content=b"{}").status_code == 415
    assert api.post("/connectors").status_code == 400


def test_another_content_type_is_refused_even_without_a_body(api: httpx2.Client) -> None:
    assert api.get("/connectors", headers={"Content-Type": "text/plain"}).status_code == 415
    assert api.get("/health", headers={"Content-Type": "text/plain"}).status_code == 200


@pytest.mark.parametrize(
    ("target", "code"),
    [(b"/connectors/%zz", 400), (b"/connectors/%", 400), (b"/connectors/%f", 400), (b"/connectors/%ff", 400),
     (b"/connectors/%ed%a0%80", 400), (b"/connectors?expand=%zz", 400), (b"/connectors//status", 400), (b"//", 400),
     (b"/connectors/a/tasks//restart", 400), (b"/connectors/" + b"x" * 33000, 414), (b"*", 400),
     (b"/connectors/\xe4", 400), (b"/connectors/%00", 404), (b"http://other/connectors", 200)],
)  # fmt: skip
def test_odd_targets_get_a_clear_answer(address: tuple[str, int], target: bytes, code: int) -> None:
    status, body = exchange(address, b"GET " + target + b" HTTP/1.1\r\n" + HEAD + b"\r\n")
    assert status == code
    assert code == 200 or problem((status, body))[1]


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
        b"BREW / HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"POST /connectors HTTP/1.1\r\n" + HEAD + b"Content-Length: -5\r\n\r\n",
        b"POST /connectors HTTP/1.1\r\n" + HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST /connectors HTTP/1.1\r\n" + HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
    ],
)
def test_what_is_not_http_is_refused_in_json(address: tuple[str, int], request_bytes: bytes) -> None:
    assert problem(exchange(address, request_bytes))[0] == 400


def test_endless_headers_are_cut_off(address: tuple[str, int]) -> None:
    lines = [b"X-%d: %s\r\n" % (number, b"v" * 1000) for number in range(80)]
    status, message = problem(exchange(address, b"GET / HTTP/1.1\r\n" + HEAD, *lines))
    assert status == 431
    assert "65536 bytes" in message


def test_a_chunked_body_is_read(address: tuple[str, int], herder: TroubledHerder) -> None:
    head = (
        b"POST /connectors HTTP/1.1\r\n"
        + HEAD
        + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    body = json.dumps({"name": "a", "config": {"connector.class": "FileStreamSink", "topics": "t"}}).encode()
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    assert exchange(address, head, chunks)[0] == 201
    assert list(herder.real.connectors()) == ["a"]


def test_a_bad_chunk_is_refused(address: tuple[str, int]) -> None:
    head = (
        b"POST /connectors HTTP/1.1\r\n"
        + HEAD
        + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    assert problem(exchange(address, head, b"zz\r\n{}\r\n0\r\n\r\n"))[0] == 400


def test_a_client_that_leaves_in_the_middle_changes_nothing(api: httpx2.Client, address: tuple[str, int]) -> None:
    head = b"POST /connectors HTTP/1.1\r\n" + HEAD + b"Content-Type: application/json\r\nContent-Length: 500\r\n\r\n"
    exchange(address, head, b'{"name": "a", "config": {', end=True)
    assert api.get("/connectors").json() == []


@pytest.mark.parametrize("expect", [False, True])
def test_a_body_above_the_limit_is_refused(api: httpx2.Client, expect: bool) -> None:
    headers = {"Content-Type": "application/json", **({"Expect": "100-continue"} if expect else {})}
    answer = api.post("/connectors", content=b" " * (LIMIT + 1), headers=headers)
    assert answer.status_code == 413
    assert "rest.request.max.bytes" in answer.json()["message"]
    assert api.get("/connectors").status_code == 200


def test_a_large_body_is_read_in_full(api: httpx2.Client, config: dict[str, str]) -> None:
    large = {f"key.{number}": "v" * 100 for number in range(5000)}
    assert api.post("/connectors", json={"name": "a", "config": {**config, **large}}).status_code == 201
    assert len(api.get("/connectors/a/config").json()) == 5005


def test_requests_are_answered_side_by_side(api: httpx2.Client, address: tuple[str, int]) -> None:
    """A client that dawdles over its body holds up nobody."""
    head = b"POST /connectors HTTP/1.1\r\n" + HEAD + b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n"
    with socket.create_connection(address, timeout=10) as slow:
        slow.sendall(head)
        assert api.get("/connectors").status_code == 200
        slow.sendall(b"{}")
        assert slow.recv(12) == b"HTTP/1.1 400"


def test_pipelined_requests_are_answered_in_order(address: tuple[str, int]) -> None:
    requests = b"".join(b"GET %s HTTP/1.1\r\n%s\r\n" % (path, HEAD) for path in (b"/connectors", b"/nope", b"/health"))
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(requests)
        received = b""
        while b"ready to handle" not in received:
            received += connection.recv(65536)
    assert re.findall(rb"HTTP/1.1 (\d+)", received) == [b"200", b"404", b"200"]


def test_every_request_is_logged_with_its_duration(api: httpx2.Client, caplog: pytest.LogCaptureFixture) -> None:
    wanted = '127.0.0.1 "GET /connectors?expand=status HTTP/1.1" 200 2 '
    with caplog.at_level(logging.DEBUG, logger="penstock.rest.access"):
        api.get("/connectors?expand=status")
        wait_until(lambda: wanted in caplog.text, "the line is written")
    assert caplog.messages[-1].endswith(" ms")


def test_at_info_only_requests_that_change_something_or_fail_are_logged(
    api: httpx2.Client, caplog: pytest.LogCaptureFixture
) -> None:
    asked = ("GET", "/connectors"), ("HEAD", "/health"), ("GET", "/nope"), ("PUT", "/admin/loggers/org.example.quiet")
    with caplog.at_level(logging.INFO, logger="penstock.rest.access"):
        for method, path in asked:
            api.request(method, path, json={"level": "WARN"} if method == "PUT" else None)
        wait_until(lambda: "PUT" in caplog.text, "the last line is written")
    lines = [record.getMessage() for record in caplog.records if record.name == "penstock.rest.access"]
    assert [line.split()[1:3] for line in lines] == [['"GET', "/nope"], ['"PUT', "/admin/loggers/org.example.quiet"]]
