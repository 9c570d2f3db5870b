"""Which keys of Spark have lanes encrypted, and what happens where that cannot be."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock.spark.lane_tls import KEYS, wanted_by
from penstock.spark.session import SparkStartError, start_spark

FAR = {"spark.master": "spark://127.0.0.1:1"}


@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_has_spark_encrypt_has_lanes_encrypted_if_it_is_true(key: str) -> None:
    assert wanted_by({key: " True "}) == key
    assert wanted_by({key: "false"}) is None


def test_a_secret_for_spark_is_no_wish_for_encryption() -> None:
    assert wanted_by({"spark.authenticate": "true", "spark.authenticate.secret": "s"}) is None


@pytest.mark.parametrize("key", KEYS)
def test_without_the_package_that_encrypts_spark_is_not_started(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(SparkStartError) as refused:
        start_spark({**FAR, key: "true"}, tmp_path)
    assert f"{key}=true wants connections between worker and executors encrypted" in str(refused.value)
    assert "pip install 'penstock[kafka]' (or: pip install cryptography)" in str(refused.value)
    assert f"Or set {key}=false" in str(refused.value)
    assert not list(tmp_path.iterdir())
