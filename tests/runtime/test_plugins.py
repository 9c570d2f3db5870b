"""How plugins are found, named and resolved, and what happens to broken ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.runtime.plugins import PluginKind, Plugins, UnknownPlugin
from penstock.runtime.requests import NotFound
from penstock.runtime.validation import plugin_config
from penstock.spark.loading import LoadError, load

CONNECTOR = """
from penstock.api import ConfigDef, ConfigKey, SinkConnector, SinkTask

class {name}Task(SinkTask):
    pass

class {name}(SinkConnector):
    version = "2.3.4"
    config = ConfigDef(ConfigKey("url"))
    task = {name}Task
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A plugin folder; what it put on the import path and into the module table is taken out again."""
    path = list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


def broken_modules(plugins: Plugins) -> dict[str, str]:
    """Modules of others that could not be loaded, with the reason."""
    return {broken.module: broken.reason for broken in plugins.broken if not broken.module.startswith("penstock.")}


@pytest.fixture(scope="module")
def built_in() -> Plugins:
    return Plugins()


@pytest.mark.parametrize(
    "name",
    [
        "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "FileStreamSourceConnector",
        "FileStreamSource",
    ],
)
def test_a_connector_is_found_by_java_class_and_alias(built_in: Plugins, name: str) -> None:
    entry = built_in.connector(name)
    assert entry.name == "org.apache.kafka.connect.file.FileStreamSourceConnector"
    assert entry.kind is PluginKind.SOURCE
    assert load(entry.target) is entry.load()
    assert built_in.connector(entry.target) == entry
    assert built_in.connector(entry.target.replace(":", ".")) == entry


def test_every_plugin_that_we_ship_loads(built_in: Plugins) -> None:
    assert list(built_in.broken) == []


def test_converters_and_transforms_are_found_by_java_class_and_alias(built_in: Plugins) -> None:
    string = "org.apache.kafka.connect.storage.StringConverter"
    assert built_in.find("String").name == string
    assert {entry.kind for entry in built_in.matches(string)} == {PluginKind.CONVERTER, PluginKind.HEADER_CONVERTER}
    assert built_in.find("Filter").name == "org.apache.kafka.connect.transforms.Filter"
    inner = "org.apache.kafka.connect.transforms.HoistField$Value"
    assert built_in.find(inner).name == inner
    assert built_in.inner_classes("org.apache.kafka.connect.transforms.HoistField") == [
        "org.apache.kafka.connect.transforms.HoistField$Key",
        inner,
    ]


@pytest.mark.parametrize("name", ["Value", "HoistField$Value", "filestreamsource", "", "no.Such", "json:JSONDecoder"])
def test_what_is_no_plugin_is_not_found(built_in: Plugins, name: str) -> None:
    with pytest.raises(UnknownPlugin):
        built_in.find(name)


def test_an_unknown_connector_is_answered_with_the_known_ones(built_in: Plugins) -> None:
    with pytest.raises(UnknownPlugin) as error:
        built_in.connector("com.example.Missing")
    assert str(error.value).startswith(
        "Failed to find any class that implements Connector and which name matches com.example.Missing,"
        " available connectors are: "
    )
    assert "FileStreamSinkConnector (sink, " in str(error.value)


def test_the_listing_has_connectors_first_and_each_kind_of_a_class(built_in: Plugins) -> None:
    everything = built_in.listing(connectors_only=False)
    assert built_in.listing() == [item for item in everything if item["type"] in ("sink", "source")]
    kinds = list(dict.fromkeys(item["type"] for item in everything))
    assert kinds == ["sink", "source", "transformation", "predicate", "converter", "header_converter"]


@pytest.mark.parametrize(
    "place",
    ["orders_one.py", "orders_two/__init__.py", "orders_three/connector.py", "orders_four/inside/__init__.py"],
)
def test_plugins_are_found_in_plugin_folders(folder: Path, place: str) -> None:
    file = folder / place
    file.parent.mkdir(parents=True, exist_ok=True)
    if place == "orders_three/connector.py":
        (file.parent / "__init__.py").write_text("")
    file.write_text(CONNECTOR.format(name="OrdersConnector"))
    plugins = Plugins([str(folder)])
    entry = plugins.connector("Orders")
    assert entry.version == "2.3.4"
    assert entry.name == entry.target
    assert load(entry.target, [str(folder)]) is entry.load()


def test_a_broken_plugin_is_reported_to_whoever_asks_for_it_and_to_nobody_else(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "broken_plugin.py").write_text("import no_such_package\n" + CONNECTOR.format(name="BrokenConnector"))
    (folder / "exits_plugin.py").write_text("raise SystemExit(3)")
    (folder / "syntax_plugin.py").write_text("class Half(:\n")
    (folder / "fine_plugin.py").write_text(CONNECTOR.format(name="FineConnector"))
    plugins = Plugins([str(folder)])
    assert plugins.connector("Fine").name == "fine_plugin:FineConnector"
    assert broken_modules(plugins).keys() == {"broken_plugin", "exits_plugin", "syntax_plugin"}
    with pytest.raises(UnknownPlugin, match=r"broken_plugin \(ModuleNotFoundError: .* 'no_such_package'\)"):
        plugins.connector("Broken")
    with pytest.raises(UnknownPlugin, match=r"^Class Half could not be found\. .* syntax_plugin \(SyntaxError"):
        plugins.find("Half")
    with pytest.raises(UnknownPlugin, match=r"^Class Other could not be found\.$"):
        plugins.find("Other")
    with pytest.raises(NotFound, match=r"^Unknown plugin BrokenConnector\. Its module could not be loaded: broken_p"):
        plugin_config(plugins, "BrokenConnector")
    assert "broken_plugin cannot be loaded" in caplog.text


def test_a_module_that_another_one_hides_is_reported(folder: Path) -> None:
    (folder / "json.py").write_text(CONNECTOR.format(name="HiddenConnector"))
    assert "is hidden by another module" in broken_modules(Plugins([str(folder)]))["json"]


def test_an_alias_of_two_connectors_is_ambiguous(folder: Path) -> None:
    for module in ("twice_a", "twice_b"):
        (folder / f"{module}.py").write_text(CONNECTOR.format(name="TwiceConnector"))
    plugins = Plugins([str(folder)])
    with pytest.raises(UnknownPlugin) as error:
        plugins.connector("Twice")
    assert str(error.value) == (
        "More than one connector matches alias Twice. Please use full package and class name instead."
        " Classes found: twice_a:TwiceConnector, twice_b:TwiceConnector"
    )
    assert plugins.connector("twice_b:TwiceConnector").target == "twice_b:TwiceConnector"


def test_installed_classes_are_found_by_python_path_without_registration(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "installed_plugin.py").write_text(CONNECTOR.format(name="Somewhere"))
    monkeypatch.syspath_prepend(str(folder))
    plugins = Plugins()
    assert plugins.connector("installed_plugin.Somewhere").name == "installed_plugin:Somewhere"
    assert "installed_plugin:Somewhere" in [item["class"] for item in plugins.listing()]


def test_entry_points_of_installed_packages_are_plugins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "packaged_plugin.py").write_text(CONNECTOR.format(name="Packaged"))
    info = folder / "packaged-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: packaged\nVersion: 1.0\n")
    points = "[penstock.plugins]\npackaged = packaged_plugin:Packaged\ngone = no_such_module_here:Gone\n"
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(folder))
    plugins = Plugins()
    assert plugins.connector("Packaged").name == "packaged_plugin:Packaged"
    assert broken_modules(plugins).keys() == {"no_such_module_here:Gone"}


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("json", "write module:Class"),
        ("no_such_module_here:A", "cannot be imported: ModuleNotFoundError"),
        ("json:Missing", "has no class Missing"),
        ("json:dumps", "is not a class"),
    ],
)
def test_a_target_that_cannot_be_loaded_says_why(target: str, text: str) -> None:
    with pytest.raises(LoadError, match=text):
        load(target)
