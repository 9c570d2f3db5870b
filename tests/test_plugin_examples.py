"""Every plugin has an example in the reference, and a worker takes each of them as it stands."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from penstock.runtime.plugins import PluginEntry, PluginKind, Plugins
from penstock.runtime.providers import References
from penstock.runtime.validation import validate

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLES: Mapping[str, Any] = yaml.safe_load((DOCS / "plugin_examples.yaml").read_text())
PLUGINS = Plugins()
SINK = {"name": "example", "connector.class": "FileStreamSink", "topics": "orders", "file": "out"}
LINKS = (PluginKind.TRANSFORMATION, PluginKind.PREDICATE)
SECRET = "0123"
WORKER = {"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.5.0"}


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("plugin_pages")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The function that the example of PythonFunction names."""
    (tmp_path / "shop.py").write_text("def with_tax(table):\n    return table\n")
    monkeypatch.syspath_prepend(tmp_path)


def found_errors(config: Mapping[str, str]) -> dict[str, list[str]]:
    """By key. References are filled in with some text: nobody has the files that the examples name."""
    given = {key: SECRET if "${file:" in value or "${env:" in value else value for key, value in config.items()}
    configs = validate(PLUGINS, WORKER, References({}), {"name": "example", **given}).configs
    return {entry["value"]["name"]: entry["value"]["errors"] for entry in configs if entry["value"]["errors"]}


def test_every_plugin_has_an_example_and_every_example_a_plugin(pages: ModuleType) -> None:
    assert {pages.title_of(entry) for entry in PLUGINS.all()} == set(EXAMPLES)


@pytest.mark.parametrize("entry", PLUGINS.all(PluginKind.SOURCE, PluginKind.SINK), ids=lambda entry: entry.target)
def test_the_example_of_a_connector_is_valid_and_has_no_key_that_nobody_knows(
    pages: ModuleType, entry: PluginEntry
) -> None:
    config = EXAMPLES[pages.title_of(entry)]
    assert PLUGINS.connector(config["connector.class"]) == entry
    assert found_errors(config) == {}
    assert unknown(config) == []


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("entry", PLUGINS.all(*LINKS), ids=lambda entry: entry.name)
def test_the_example_of_a_transform_or_predicate_is_valid(pages: ModuleType, entry: PluginEntry) -> None:
    example = EXAMPLES[pages.title_of(entry)]
    named = PLUGINS.find(example["settings"]["type"], entry.kind)
    assert pages.title_of(named) == pages.title_of(entry)
    keys = pages.chain_keys(entry.kind, example)
    assert found_errors({**SINK, **keys}) == {}
    assert unknown({**SINK, **keys}) == []


@pytest.mark.parametrize(
    "entry", PLUGINS.all(PluginKind.CONVERTER, PluginKind.HEADER_CONVERTER), ids=lambda entry: entry.target
)
def test_the_example_of_a_converter_is_valid(pages: ModuleType, entry: PluginEntry) -> None:
    example = EXAMPLES[pages.title_of(entry)]
    assert PLUGINS.find(next(iter(example.values()))).target == entry.target
    assert found_errors({**SINK, **example}) == {}
    assert unknown({**SINK, **example}) == []


@pytest.mark.parametrize("entry", PLUGINS.all(PluginKind.CONFIG_PROVIDER), ids=lambda entry: entry.name)
def test_the_example_of_a_config_provider_names_it(pages: ModuleType, entry: PluginEntry) -> None:
    example = EXAMPLES[pages.title_of(entry)]
    alias = example["worker"]["config.providers"]
    assert example["worker"][f"config.providers.{alias}.class"] == entry.name
    assert all(value.startswith(f"${{{alias}:") for value in example["connector"].values())


def unknown(config: Mapping[str, str]) -> list[str]:
    """Keys that no definition has."""
    configs = validate(PLUGINS, WORKER, References({}), {"name": "example", **config}).configs
    known = {entry["value"]["name"] for entry in configs if entry["definition"] is not None}
    return [key for key in config if key not in known]
