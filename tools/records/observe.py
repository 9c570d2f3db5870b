"""Observes the record cases of ``tests/records`` again on Kafka Connect's own classes: ``make record-goldens``.

Fills in ``expect`` or ``config_error`` of every case; to add a case, write it without and run this. With ``--check``
nothing is written and the exit code tells whether something differs. Kafka's jars come through Spark's own package
resolver into ``build/record-goldens`` (``KAFKA_JARS`` names a folder that has them already). Needs a JDK; no broker.
The cases of ``errors.json`` were observed on a running worker and are left alone.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from penstock.spark.java import find_java  # noqa: E402
from tests.records.casefile import dump, from_bytes, to_bytes  # noqa: E402

KAFKA = "4.3.1"
PACKAGES = ("connect-runtime", "connect-json", "connect-transforms", "connect-file")
CASES = ROOT / "tests" / "records" / "public"
BUILD = ROOT / "build" / "record-goldens"
OBSERVER = Path(__file__).with_name("Observer.java")
JAVA_OPTIONS = ("-Duser.timezone=UTC", "-Duser.language=en", "-Duser.country=US", "-Dfile.encoding=UTF-8")
ESCAPED_SURROGATES = "backslashreplace"
"""Half a character cannot be written in UTF-8; Python's escape for it happens to be that of JSON."""
JDK_WORDING = "Invalid regex: "
"""What follows it in a message is the JDK's text, which differs between releases and even between runs."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 when something differs")
    parser.add_argument("files", nargs="*", type=Path, help="case files (default: all)")
    options = parser.parse_args()
    groups = dict(_groups(options.files or sorted(CASES.glob("*.json"))))
    cases = [case for group in groups.values() for case in group["cases"]]
    for case, seen in zip(cases, observe(cases), strict=True):
        case.pop("expect", None)
        case.pop("config_error", None)
        case.update(readable(seen))
    shown = {path: dump(group).encode("utf-8", ESCAPED_SURROGATES) for path, group in groups.items()}
    changed = [path for path, data in shown.items() if path.read_bytes() != data]
    if not options.check:
        for path in changed:
            path.write_bytes(shown[path])
    told = "differ" if options.check else "written"
    print(f"{len(cases)} cases of {len(groups)} files observed on Kafka {KAFKA}; {len(changed)} files {told}")
    for path in changed:
        print(f"  {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")
    return 1 if changed and options.check else 0


def _groups(paths: Iterable[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in paths:
        group = json.loads(path.read_text("utf-8"))
        if group["format"] == "records/1":
            yield path.absolute(), group


def observe(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What Kafka Connect does with each case, bytes in base64."""
    jars = Path(os.environ["KAFKA_JARS"]) if os.environ.get("KAFKA_JARS") else fetch_jars()
    java, javac = _jdk()
    classpath = f"{jars}{os.sep}*"
    with tempfile.TemporaryDirectory() as folder:
        given, seen = Path(folder, "cases"), Path(folder, "observations")
        given.write_text("".join(json.dumps(_plain(case)) + "\n" for case in cases), "utf-8")
        subprocess.run([javac, "-nowarn", "-proc:none", "-cp", classpath, "-d", folder, str(OBSERVER)], check=True)
        run = [java, "-Xmx512m", *JAVA_OPTIONS, "-cp", f"{folder}{os.pathsep}{classpath}", OBSERVER.stem]
        subprocess.run([*run, str(given), str(seen)], check=True, stdout=sys.stderr)
        return [json.loads(line) for line in seen.read_text("utf-8").split("\n") if line]


def fetch_jars() -> Path:
    """Kafka's jars, downloaded once by the resolver that comes with Spark."""
    jars = BUILD / f"kafka-{KAFKA}"
    if not jars.exists():
        resolver = BUILD / "resolver"
        names = ",".join(f"org.apache.kafka:{package}:{KAFKA}" for package in PACKAGES)
        print(f"Fetching Kafka {KAFKA} through Spark's package resolver …", file=sys.stderr)
        start = (
            "import sys; from pyspark.sql import SparkSession as S;"
            "S.builder.master('local[1]').config('spark.ui.enabled', 'false')"
            ".config('spark.jars.packages', sys.argv[1]).config('spark.jars.ivy', sys.argv[2]).getOrCreate().stop()"
        )
        environment = {**os.environ, "JAVA_HOME": str(find_java().home)}
        command = [sys.executable, "-c", start, names, str(resolver)]
        subprocess.run(command, check=True, env=environment, stdout=sys.stderr)
        shutil.copytree(resolver / "jars", jars)
    return jars


def _jdk() -> tuple[str, str]:
    home = find_java().home
    javac = home / "bin" / "javac"
    found = str(javac) if javac.exists() else shutil.which("javac")
    if found is None:
        sys.exit(f"There is no javac beside {home / 'bin' / 'java'}: install a JDK, or set JAVA_HOME to one")
    return str(Path(found).with_name("java")), found


def _plain(case: dict[str, Any]) -> dict[str, Any]:
    """A case as the observer takes it."""
    records = []
    for record in case["records"]:
        headers = [{"name": name, "bytes": _base64(form)} for name, form in record.get("headers", [])]
        both = {side: _base64(record[side]) for side in ("key", "value")}
        records.append({**record, **both, "headers": headers})
    return {**{part: case[part] for part in ("kind", "config", "in", "out")}, "records": records}


def _base64(form: Any) -> str | None:
    data = to_bytes(form)
    return None if data is None else base64.b64encode(data).decode()


def readable(seen: dict[str, Any]) -> dict[str, Any]:
    """An observation as case files show it."""
    if "config_error" in seen:
        return {"config_error": _refusal(seen["config_error"])}
    return {"expect": [_outcome(outcome) for outcome in seen["expect"]]}


def _refusal(refusal: dict[str, Any]) -> dict[str, Any]:
    if "exception" in refusal:
        return _error({"at": refusal["at"], **refusal})
    errors = {
        key: [text if JDK_WORDING not in text else text.partition(JDK_WORDING)[0] + JDK_WORDING + "*" for text in texts]
        for key, texts in refusal["errors"].items()
    }
    return {"at": refusal["at"], "errors": errors}


def _outcome(outcome: dict[str, Any]) -> dict[str, Any]:
    if "error" in outcome:
        return {**outcome, "error": _error(outcome["error"])}
    if "record" not in outcome:
        return outcome
    record = outcome["record"]
    shown = {part: record[part] for part in ("topic", "partition", "timestamp")}
    both = {side: _form(record, side) for side in ("key", "value")}
    headers = [[header["name"], _form(header, "bytes")] for header in record["headers"]]
    line = {"line": outcome["line"]} if "line" in outcome else {}
    return {**line, "record": {**shown, **both, "headers": headers}}


def _form(holder: dict[str, Any], name: str) -> Any:
    data = holder[name]
    return from_bytes(None if data is None else base64.b64decode(data), holder[f"{name}_unordered"])


def _error(error: dict[str, Any]) -> dict[str, Any]:
    """An error without object identities, marked where its text is the JDK's or names classes of the JDK."""
    message = error["message"]
    shown = {key: value for key, value in error.items() if key != "message_from"}
    if message is not None:
        shown["message"] = re.sub(r"(?<=[A-Za-z])@[0-9a-f]{1,8}\b", "@*", message)
    if error["message_from"] == "java":
        return {**shown, "message_from": "java"}
    return {**shown, "names_java_class": True} if "java." in (message or "") else shown


if __name__ == "__main__":
    sys.exit(main())
