"""What Penstock does with a case, against what was observed."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Any

from penstock.api.errors import ConfigError
from tests.records.batches import comparable, put_case
from tests.records.casefile import same_message, same_record, to_bytes
from tests.records.runner import REPORTED, Pipeline, outcome, validation_errors
from tests.spark.chain_cases import KeepingMixed
from tests.spark.pumping import Keeping

Case = dict[str, Any]
_ANY_MAP = re.compile(r"java\.util\.(?:LinkedHashMap|HashMap|Collections\$SingletonMap)")
_IDENTITY = re.compile(rb"\[B@[0-9a-f]+")


def difference(case: Case) -> str | None:
    """How Penstock does it otherwise, in words; ``None`` when it does not."""
    try:
        if "config_error" in case:
            return _refusal_difference(case, case["config_error"])
        if errors := validation_errors(case):
            return f"refused with {errors}"
        pipeline = Pipeline.of(case)
        for index, (raw, expected) in enumerate(zip(case["records"], case["expect"], strict=True)):
            found = outcome(pipeline, raw, is_source=case["kind"] == "source")
            if not expected.get("error", {}).get("fatal") and not _same(expected, found):
                return f"record {index}: {found}\nbut expected\n{expected}"
        return _batch_difference(case)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _batch_difference(case: Case) -> str | None:
    """How a batch comes out otherwise in columns than record by record."""
    if case["kind"] != "sink" or any(expected.get("error", {}).get("fatal") for expected in case["expect"]):
        return None
    for times in (1, 3):
        by_record, in_columns = (comparable(put_case(case, task, times)) for task in (Keeping, KeepingMixed))
        if by_record != in_columns:
            return f"in columns: {in_columns}\nbut by record\n{by_record}"
    return None


def _refusal_difference(case: Case, refusal: Case) -> str | None:
    if refusal["at"] == "task_start":
        try:
            Pipeline.of(case)
        except ConfigError as error:
            same = refusal.get("message_from") == "java" or same_message(refusal["message"], str(error))
            return (
                None
                if same and error.exception == refusal["exception"]
                else (f"fails with {error.exception}: {error}\nbut expected\n{refusal}")
            )
        return "the task starts"
    found = validation_errors(case)
    expected = refusal.get("errors")
    if expected is None:
        return None if found else "is not refused"
    same = found.keys() == expected.keys() and all(
        len(found[key]) == len(texts) and all(map(same_message, texts, found[key])) for key, texts in expected.items()
    )
    return None if same else f"refused with {found}\nbut expected\n{expected}"


def _same(expected: Case, found: Case) -> bool:
    if "error" in expected and "error" in found:
        return _same_error(expected["error"], found["error"])
    if "record" in expected and "record" in found:
        is_line = found["line"] == expected.get("line", found["line"])
        return is_line and _same_record(expected["record"], found["record"])
    return expected == found


def _same_error(expected: Case, found: Case) -> bool:
    from_java = expected.get("message_from") == "java"
    names = REPORTED[:3] if from_java else REPORTED
    if any(expected[name] != found[name] for name in names):
        return False
    given, told = (_ANY_MAP.sub("Map", error["message"] or "") for error in (expected, found))
    return from_java or same_message(given, told) or sorted(given) == sorted(told)


def _same_record(expected: Case, found: tuple[Any, ...]) -> bool:
    """Whether they are the same; of a map that is no JSON only the order of its entries may differ."""
    if same_record(expected, *found):
        return True
    headers = [
        [name, {"base64": b64encode(data).decode()} if _is_rearranged(form, data) else form]
        for (name, form), (_, data) in zip(expected["headers"], found[5], strict=False)
    ]
    key, value = (
        {"base64": b64encode(data).decode()} if _is_rearranged(form, data) else form
        for form, data in zip((expected["key"], expected["value"]), found[3:5], strict=True)
    )
    return same_record({**expected, "key": key, "value": value, "headers": headers}, *found)


def _is_rearranged(form: Case | None, data: bytes | None) -> bool:
    """Whether all that differs is the order of a map, or where Java happens to keep an array of bytes."""
    expected = to_bytes(form)
    if form is None or expected is None or data is None:
        return False
    if b"@" in expected:
        expected, data = (_IDENTITY.sub(b"[B@*", each.replace(b"\x00", b"")) for each in (expected, data))
        return expected == data or ("text" not in form and sorted(expected) == sorted(data))
    return ("text" not in form or b'"default":' in expected) and sorted(expected) == sorted(data)
