"""How the files of the page are sent: headers, caching, what is not there."""

from __future__ import annotations

import gzip
import re

import httpx2
import pytest

from tests.support.worker import PenstockProcess

pytestmark = pytest.mark.integration


def _document(worker: PenstockProcess) -> httpx2.Response:
    return worker.http.get("/ui/")


def _asset(worker: PenstockProcess, name: str) -> str:
    found = re.search(rf'"([0-9a-f]{{16}})/{re.escape(name)}"', _document(worker).text)
    assert found is not None
    return f"/ui/{found[1]}/{name}"


def test_ui_leads_to_the_page(ui_worker: PenstockProcess) -> None:
    moved = ui_worker.http.get("/ui")
    assert (moved.status_code, moved.headers["location"]) == (308, "ui/")
    assert ui_worker.http.get("/ui", follow_redirects=True).text == _document(ui_worker).text


def test_the_document_allows_nothing_but_its_own_files(ui_worker: PenstockProcess) -> None:
    headers = _document(ui_worker).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-type"] == "text/html; charset=utf-8"


def test_the_document_is_asked_for_again_and_files_are_kept(ui_worker: PenstockProcess) -> None:
    assert _document(ui_worker).headers["cache-control"] == "no-cache"
    asset = ui_worker.http.get(_asset(ui_worker, "main.js"))
    assert asset.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert asset.headers["content-type"] == "text/javascript; charset=utf-8"


def test_a_known_file_is_not_sent_again(ui_worker: PenstockProcess) -> None:
    tag = _document(ui_worker).headers["etag"]
    again = ui_worker.http.get("/ui/", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert ui_worker.http.get("/ui/", headers={"If-None-Match": '"other"'}).status_code == 200


def test_files_are_packed_for_who_can_unpack_them(ui_worker: PenstockProcess) -> None:
    path = _asset(ui_worker, "styles/parts.css")
    plain = ui_worker.http.get(path, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    with ui_worker.http.stream("GET", path, headers={"Accept-Encoding": "gzip"}) as packed:
        content = b"".join(packed.iter_raw())
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.headers["etag"] != plain.headers["etag"]
    assert gzip.decompress(content) == plain.content


def test_a_file_of_another_version_is_not_kept(ui_worker: PenstockProcess) -> None:
    assert ui_worker.http.get("/ui/0123456789abcdef/main.js").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/ui/x", "/ui/x/y.js", "/ui/x/index.html", "/ui/x/..%2f..%2f__init__.py", "/uix"])
def test_nothing_else_is_there(ui_worker: PenstockProcess, path: str) -> None:
    answer = ui_worker.http.get(path)
    assert (answer.status_code, answer.json()["error_code"]) == (404, 404)


def test_the_page_is_only_read(ui_worker: PenstockProcess) -> None:
    answer = ui_worker.http.post("/ui/")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
    assert ui_worker.http.options("/ui/").headers["allow"] == "GET, HEAD, OPTIONS"
    head = ui_worker.http.head("/ui/")
    assert (head.status_code, head.content) == (200, b"")


def test_all_files_of_the_document_are_there(ui_worker: PenstockProcess) -> None:
    named = re.findall(r'(?:href|src)="([0-9a-f]{16}/[^"]+)"', _document(ui_worker).text)
    assert len(named) > 20
    assert {ui_worker.http.get(f"/ui/{name}").status_code for name in named} == {200}


def test_a_pipeline_file_may_be_sent_as_text(ui_worker: PenstockProcess) -> None:
    text = "pipelines:\n  - id: text\n    connectors:\n      - name: text\n        class: Nothing\n"
    plan = ui_worker.http.post("/pipelines/plan", json={"files": [{"file": "a.yaml", "text": text}]}).json()
    assert [(one["file"], one["line"], one["column"]) for one in plan["problems"]] == [("a.yaml", 5, 9)]
    broken = ui_worker.http.post("/pipelines/plan", json={"files": [{"file": "a.yaml", "text": "a: ["}]}).json()
    assert broken["hash"] is None
    assert broken["problems"][0]["line"] == 1
    both = {"files": [{"file": "a", "text": "", "document": {}}]}
    assert ui_worker.http.post("/pipelines/plan", json=both).status_code == 400
    assert ui_worker.http.post("/pipelines/plan", json={"files": [{"file": "a", "text": 1}]}).status_code == 400
