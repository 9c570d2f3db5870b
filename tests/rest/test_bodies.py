"""What a request body may be, and what is said about the ones that may not."""

from __future__ import annotations

import json

import pytest

from penstock.rest.bodies import config_body, create_body, offsets_body
from penstock.rest.problems import HttpProblem
from penstock.runtime.requests import TargetState


def refused(parse, body: bytes) -> str:  # type: ignore[no-untyped-def]
    with pytest.raises(HttpProblem) as failure:
        parse(body)
    assert failure.value.status == 400
    return str(failure.value)


def test_numbers_and_booleans_become_text_as_they_were_written() -> None:
    body = b'{"a": 3, "b": 1.50, "c": true, "d": 1e3, "e": 12345678901234567890123, "f": "x", "g": null, "h": -0}'
    assert config_body(body) == {
        "a": "3",
        "b": "1.50",
        "c": "true",
        "d": "1e3",
        "e": "12345678901234567890123",
        "f": "x",
        "g": None,
        "h": "-0",
    }


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "The request body is empty"),
        (b"  \n", "The request body is empty"),
        (b"null", "The request body is null"),
        (b"{", "Unexpected end-of-input at line 1, column 2"),
        (b'{"a": "', "Unexpected end-of-input"),
        (b"not json", 'Unexpected character ("n" (code 110)) at line 1, column 1'),
        (b"{} {}", "Unexpected content after the JSON value at line 1, column 4"),
        (b'{"a": NaN}', "Non-standard token 'NaN'"),
        (b'{"a": -Infinity}', "Non-standard token '-Infinity'"),
        (b'{"a": "1", "a": "2"}', 'Duplicate field "a"'),
        (b'{"a": "\xff"}', "Invalid UTF-8 in the request body at byte 7"),
        (b'{"a": "x\\ud800"}', 'Unpaired surrogate in a JSON string after "x"'),
        (b'{"\\udc00": "x"}', "Unpaired surrogate"),
        (b'{"a": "line\nbreak"}', "Unexpected character"),
        (b'{"a": ' + b"1" * 1001 + b"}", "Number value length (1001) exceeds the maximum allowed (1000)"),
        (b"[" * 5000, "nested more than 100 levels deep"),
        (b"[" * 200 + b"]" * 200, "nested more than 100 levels deep"),
        (b'{"a":' * 150 + b"1" + b"}" * 150, "nested more than 100 levels deep"),
        (b"[]", "Cannot deserialize value of type `Map` from Array value"),
        (b'"x"', "Cannot construct instance of `Map` from String value"),
        (b"5", "Cannot construct instance of `Map` from Integer value"),
        (b'{"a": {}}', 'Cannot deserialize value of type `String` from Object value: the value of "a" must be text'),
        (b'{"a": []}', "Cannot deserialize value of type `String` from Array value"),
    ],
)
def test_a_config_that_cannot_be_read_is_explained(body: bytes, text: str) -> None:
    assert text in refused(config_body, body)


def test_a_byte_order_mark_and_paired_surrogates_are_fine() -> None:
    assert config_body(b'\xef\xbb\xbf{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}


def test_a_create_request_is_read_with_its_state_and_offsets() -> None:
    body = {
        "name": "\t orders \x00",
        "config": {"tasks.max": 2},
        "initial_state": "Stopped",
        "offsets": [
            {"partition": {"file": "a"}, "offset": {"position": 9007199254740993, "part": 0.5}},
            {"partition": None},
        ],
    }
    request = create_body(json.dumps(body).encode())
    assert request.name == "orders"
    assert request.config == {"tasks.max": "2"}
    assert request.initial_state is TargetState.STOPPED
    assert request.offsets is not None
    assert request.offsets[0].offset == {"position": 9007199254740993, "part": 0.5}
    assert request.offsets[1].partition is None
    assert request.offsets[1].offset is None


def test_offsets_of_a_create_request_have_two_names() -> None:
    given = b'[{"partition": {"file": "a"}, "offset": {"position": 1}}]'
    wanted = create_body(b'{"config": {}, "offsets": %s}' % given).offsets
    assert wanted is not None
    assert create_body(b'{"config": {}, "initial_offsets": %s}' % given).offsets == wanted
    assert create_body(b'{"config": {}, "initial_offsets": %s, "offsets": null}' % given).offsets == wanted
    assert create_body(b'{"config": {}, "initial_offsets": null}').offsets is None


def test_a_name_may_be_missing_or_a_number() -> None:
    assert create_body(b'{"config": {}}').name == ""
    assert create_body(b'{"name": null, "config": {}}').name == ""
    assert create_body(b'{"name": 5, "config": {}}').name == "5"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"name": "x"}', "The key config is missing"),
        (b'{"name": "x", "config": null}', "The key config is missing"),
        (b'{"name": "x", "config": "y"}', "Cannot construct instance of `Map`"),
        (b'{"name": {}, "config": {}}', "Cannot deserialize value of type `String`"),
        (b'{"config": {}, "extra": 1}', 'Unrecognized field "extra"'),
        (b'{"config": {}, "initial_state": "FAST"}', "No enum constant InitialState.FAST"),
        (b'{"config": {}, "initial_state": []}', "Cannot deserialize value of type `String`"),
        (b'{"config": {}, "offsets": {}}', "Cannot deserialize value of type `List` from Object value"),
        (b'{"config": {}, "initial_offsets": 1}', "from Integer value: initial_offsets must be an array"),
        (b'{"config": {}, "initial_offsets": [], "offsets": []}', "two names for the same: give one of them"),
        (b'{"config": {}, "offsets": [1]}', "Cannot construct instance of `ConnectorOffset`"),
    ],
)
def test_a_create_request_that_cannot_be_read_is_explained(body: bytes, text: str) -> None:
    assert text in refused(create_body, body)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"offsets": "all"}', "Cannot deserialize value of type `List` from String value"),
        (b"[]", "Cannot deserialize value of type `ConnectorOffsets` from Array value"),
        (b'{"offset": []}', 'Unrecognized field "offset"'),
        (b'{"offsets": [{"extra": 1}]}', 'Unrecognized field "extra"'),
        (b'{"offsets": [{"partition": 1}]}', "Cannot construct instance of `Map`"),
        (b'{"offsets": [{"offset": {"p": 9223372036854775808}}]}', "does not fit into 64 bits"),
        (b'{"offsets": [{"offset": {"p": 1e999}}]}', "too large for a double"),
    ],
)
def test_offsets_that_cannot_be_read_are_explained(body: bytes, text: str) -> None:
    assert text in refused(offsets_body, body)


def test_offsets_may_be_absent() -> None:
    assert offsets_body(b"{}") is None
    assert offsets_body(b'{"offsets": null}') is None
    assert offsets_body(b'{"offsets": []}') == []
