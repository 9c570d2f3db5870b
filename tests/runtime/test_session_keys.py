"""Requests between workers: signed with a key that changes."""

from __future__ import annotations

import dataclasses
import time

import pytest

from penstock.runtime.requests import BadRequest, Forbidden
from penstock.runtime.session_keys import (
    FRESH_MS,
    NoSessionKey,
    SigningSettings,
    is_due,
    new_key,
    sign,
    sign_question,
    verify,
    verify_question,
)

SETTINGS = SigningSettings()
BODY = b'[{"task.class":"x"}]'


def signed(body: bytes = BODY) -> tuple[dict[str, str], object]:
    key = new_key(SETTINGS)
    return {name.lower(): value for name, value in sign(body, key, SETTINGS).items()}, key


def test_what_was_signed_with_the_key_is_accepted() -> None:
    headers, key = signed()
    verify(BODY, headers, key, SETTINGS)  # type: ignore[arg-type]


def test_an_empty_body_is_signed_too() -> None:
    headers, key = signed(b"")
    verify(b"", headers, key, SETTINGS)  # type: ignore[arg-type]


def test_another_body_or_another_key_is_refused() -> None:
    headers, key = signed()
    with pytest.raises(Forbidden, match="Internal request contained invalid signature"):
        verify(BODY + b" ", headers, key, SETTINGS)  # type: ignore[arg-type]
    with pytest.raises(Forbidden):
        verify(BODY, headers, new_key(SETTINGS), SETTINGS)


def test_a_signed_question_is_good_for_one_path_and_not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    key = new_key(SETTINGS)
    asked = b"/connectors/orders/health?forward=false"
    headers = {name.lower(): value for name, value in sign_question(asked, key, SETTINGS).items()}
    verify_question(asked, headers, key, SETTINGS)
    for other in (b"/connectors/orders/config?forward=false", b"/connectors/orders/health", b""):
        with pytest.raises(Forbidden, match="invalid signature"):
            verify_question(other, headers, key, SETTINGS)
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + (FRESH_MS + 1_000) * 1_000_000)
    with pytest.raises(Forbidden, match="300 seconds ago"):
        verify_question(asked, headers, key, SETTINGS)
    later = {**headers, "x-penstock-signed-at": str(time.time_ns() // 1_000_000)}
    with pytest.raises(Forbidden, match="invalid signature"):
        verify_question(asked, later, key, SETTINGS)


def test_the_signature_of_a_body_is_none_of_a_question() -> None:
    key = new_key(SETTINGS)
    headers = {name.lower(): value for name, value in sign(b"", key, SETTINGS).items()}
    with pytest.raises(Forbidden):
        verify_question(b"/connectors", headers, key, SETTINGS)


@pytest.mark.parametrize("missing", ["x-connect-authorization", "x-connect-request-signature-algorithm"])
def test_a_missing_header_is_told_before_anything_else(missing: str) -> None:
    headers, _ = signed()
    del headers[missing]
    with pytest.raises(BadRequest, match="Internal request missing required signature"):
        verify(BODY, headers, None, SETTINGS)


def test_an_algorithm_that_is_not_allowed_is_refused() -> None:
    headers, key = signed()
    strict = dataclasses.replace(SETTINGS, verification_algorithms=("HmacSHA512",))
    with pytest.raises(BadRequest, match="does not support the 'HmacSHA256' key signing algorithm"):
        verify(BODY, headers, key, strict)  # type: ignore[arg-type]


def test_without_a_key_the_worker_is_still_starting() -> None:
    headers, _ = signed()
    with pytest.raises(NoSessionKey) as refused:
        verify(BODY, headers, None, SETTINGS)
    assert refused.value.status == 503


def test_a_signature_that_is_not_base64_is_a_bad_request() -> None:
    headers, key = signed()
    with pytest.raises(BadRequest, match="base64"):
        verify(BODY, {**headers, "x-connect-authorization": "???"}, key, SETTINGS)  # type: ignore[arg-type]


def test_a_new_key_is_due_when_there_is_none_or_it_is_old_or_of_another_kind() -> None:
    key = new_key(SETTINGS)
    assert is_due(None, SETTINGS)
    assert not is_due(key, SETTINGS)
    old = dataclasses.replace(key, created=int(time.time() * 1000) - 3_600_001)
    assert is_due(old, SETTINGS)
    assert is_due(key, dataclasses.replace(SETTINGS, key_algorithm="HmacSHA512"))
    assert is_due(key, dataclasses.replace(SETTINGS, key_size=512))


@pytest.mark.parametrize(("size", "length"), [(None, 32), (128, 16), (512, 64)])
def test_keys_have_the_size_that_was_asked_for(size: int | None, length: int) -> None:
    assert len(new_key(dataclasses.replace(SETTINGS, key_size=size)).key) == length
