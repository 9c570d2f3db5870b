"""What ``penstock doctor`` says about a machine that it cannot be tried on."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

from penstock.cli.doctor import (
    Grade,
    available_memory,
    check_memory,
    check_package,
    check_packages,
    check_python,
    check_spark_settings,
)


def test_free_memory_is_what_the_system_says_programs_can_have(tmp_path: Path) -> None:
    told = tmp_path / "meminfo"
    told.write_text("MemTotal:       16000000 kB\nMemFree:          100000 kB\nMemAvailable:    2000000 kB\n")
    assert available_memory(told) == 2_000_000 * 1024


def test_free_memory_of_this_machine_is_about_what_psutil_says() -> None:
    known = psutil.virtual_memory()
    assert abs((available_memory() or 0) - known.available) < known.total / 4


def test_a_system_that_tells_no_available_memory_is_asked_for_free_pages(tmp_path: Path) -> None:
    told = tmp_path / "meminfo"
    told.write_text("MemTotal:       16000000 kB\n")
    assert 0 < (available_memory(told) or 0) < psutil.virtual_memory().total


def test_a_system_that_tells_nothing_is_no_reason_to_complain(tmp_path: Path) -> None:
    assert available_memory(tmp_path / "none") is None
    finding = check_memory(None)
    assert finding.grade is Grade.GOOD
    assert "does not tell" in finding.text


@pytest.mark.parametrize(("megabytes", "grade"), [(200, Grade.WARNING), (4096, Grade.GOOD)])
def test_little_memory_is_worth_a_warning(megabytes: int, grade: Grade) -> None:
    assert check_memory(megabytes << 20).grade is grade


def test_a_python_that_is_too_old_keeps_a_worker_from_running() -> None:
    finding = check_python((3, 10))
    assert finding.grade is Grade.BAD
    assert finding.fix == "Penstock needs Python 3.11 or later."
    assert check_python((3, 11)).grade is Grade.GOOD


def test_a_missing_package_is_named() -> None:
    finding = check_package("no-such-package")
    assert finding.text == "no-such-package is not installed"
    assert finding.fix == "make setup, or: pip install no-such-package"


def test_a_jar_for_another_spark_is_worth_a_warning() -> None:
    (finding,) = check_packages({"spark.jars.packages": "org.apache.iceberg:iceberg-spark-runtime-3.5_2.13:1.12.0"})
    assert finding.grade is Grade.WARNING
    assert "made for Spark 3.5" in finding.text
    assert "pip install 'pyspark==3.5.*'" in finding.fix


def test_speculation_is_worth_a_warning_that_says_what_happens_and_what_to_do() -> None:
    (finding,) = check_spark_settings({"spark.speculation": "true"})
    assert finding.grade is Grade.WARNING
    assert "spark.speculation=true: on a cluster Spark starts a second copy of a task" in finding.text
    assert finding.fix.startswith("Set spark.speculation=false")
    assert "write the same records twice" in finding.text
    assert list(check_spark_settings({"spark.speculation": "false", "spark.master": "spark://far:7077"})) == []


def test_encryption_that_cannot_be_had_keeps_a_worker_from_running(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"spark.master": "spark://far:7077", "spark.ssl.rpc.enabled": "true"}
    assert list(check_spark_settings(settings)) == []
    monkeypatch.setitem(sys.modules, "cryptography", None)
    (finding,) = check_spark_settings(settings)
    assert finding.grade is Grade.BAD
    assert finding.text.startswith(
        "spark.ssl.rpc.enabled=true wants connections between worker and executors encrypted"
    )
    assert "pip install 'penstock[kafka]'" in finding.text
    assert list(check_spark_settings({**settings, "spark.master": "local[4]"})) == []
