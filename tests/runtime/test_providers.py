"""Config providers and the references that lead to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.api.errors import ConfigError
from penstock.api.provider import ConfigProvider
from penstock.runtime.plugins import Plugins
from penstock.runtime.providers import References, worker_references


class Fixed(ConfigProvider):
    """Answers with what it was asked, and fails for ``boom``."""

    def get(self, path: str, key: str) -> str:
        if key == "boom":
            raise OSError("vault is sealed")
        return f"<{path}|{key}>"


@pytest.fixture
def worker(tmp_path: Path) -> dict[str, str]:
    return {
        "config.providers": "file, directory,env",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "config.providers.file.param.allowed.paths": str(tmp_path),
        "config.providers.directory.class": "DirectoryConfigProvider",
        "config.providers.env.class": "env",
        "config.providers.env.param.allowlist.pattern": "PENSTOCK_TEST_.*",
    }


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("${p:key}", "<|key>"),
        ("${p:/a/b:key}", "</a/b|key>"),
        ("x${p:a}y${p:b}z", "x<|a>y<|b>z"),
        ("${p:path:key:with:colons}", "<path|key:with:colons>"),
        ("${other:key}", "${other:key}"),
        ("${p}", "${p}"),
        ("plain", "plain"),
    ],
)
def test_references_are_replaced_and_others_stay(text: str, resolved: str) -> None:
    assert References({"p": Fixed()}).resolve({"k": text, "n": None}) == {"k": resolved, "n": None}


def test_only_keys_with_a_known_provider_count_as_resolved() -> None:
    config = {"a": "${p:x}", "b": "${other:x}", "c": "plain", "d": None, "e": "pre-${p:x}"}
    assert References({"p": Fixed()}).resolved_keys(config) == {"a", "e"}


def test_a_provider_that_fails_names_key_reference_and_reason() -> None:
    with pytest.raises(ConfigError) as error:
        References({"p": Fixed()}).resolve({"db.password": "${p:boom}"})
    assert str(error.value) == "Could not resolve ${p:boom} in configuration db.password: OSError: vault is sealed"


def test_the_providers_of_a_worker_file(
    tmp_path: Path, worker: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secrets.properties").write_text("password = p\\u00e4ss\nuser=me\n")
    (tmp_path / "token").write_text("t0ken\n")
    monkeypatch.setenv("PENSTOCK_TEST_HOST", "db.local")
    references = worker_references(Plugins(), worker)
    config = {
        "a": f"${{file:{tmp_path}/secrets.properties:password}}",
        "b": f"${{directory:{tmp_path}:token}}",
        "c": "jdbc://${env:PENSTOCK_TEST_HOST}/x",
    }
    assert references.resolve(config) == {"a": "päss", "b": "t0ken\n", "c": "jdbc://db.local/x"}


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("${file:/etc/hostname:x}", "The path /etc/hostname is not allowed to be accessed"),
        ("${file:DIR/../outside:x}", "is not allowed to be accessed"),
        ("${file:DIR/link:x}", "is not allowed to be accessed"),
        ("${file:DIR/none.properties:x}", "Could not read properties from file"),
        ("${file:DIR/some.properties:x}", "there is no such value"),
        ("${directory:DIR:../some.properties}", "there is no such value"),
        ("${directory:DIR/some.properties:x}", "is not a directory"),
        ("${env:HOME}", "there is no such value"),
        ("${env:PENSTOCK_TEST_UNSET}", "there is no such value"),
        ("${env:path:PENSTOCK_TEST_UNSET}", "Path is not supported"),
    ],
)
def test_what_providers_refuse(tmp_path: Path, worker: dict[str, str], reference: str, reason: str) -> None:
    (tmp_path / "some.properties").write_text("a=1")
    (tmp_path / "link").symlink_to("/etc/hostname")
    with pytest.raises(ConfigError, match=reason):
        worker_references(Plugins(), worker).resolve({"k": reference.replace("DIR", str(tmp_path))})


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"config.providers.file.class": "no.Such"}, "Invalid value no.Such for configuration config.providers"),
        ({"config.providers.file.param.allowed.paths": "relative"}, "Path relative is not absolute"),
        ({"config.providers.env.param.allowlist.pattern": "("}, "Invalid regex"),
    ],
)
def test_a_provider_that_cannot_be_made_says_why(worker: dict[str, str], change: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        worker_references(Plugins(), {**worker, **change})
