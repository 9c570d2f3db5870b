from __future__ import annotations

from pathlib import Path

import pytest

from penstock.runtime.other_worker_keys import NOT_USED, NOT_USED_QUIETLY
from penstock.runtime.worker_config import WorkerConfig, WorkerConfigError
from penstock.runtime.worker_keys import WORKER_KEYS

KAFKA_STANDALONE = """
# as in the Kafka distribution
bootstrap.servers=localhost:9092
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
key.converter.schemas.enable=true
value.converter.schemas.enable=true
offset.storage.file.filename=/tmp/connect.offsets
offset.flush.interval.ms=10000
#plugin.path=
"""


def test_an_empty_file_works(tmp_path: Path) -> None:
    file = tmp_path / "worker.properties"
    file.write_text("")
    config = WorkerConfig.load(file)
    assert config.warnings == ()
    assert config.data_dir == Path.cwd() / "penstock-data"
    assert [str(listener) for listener in config.listeners] == ["http://:8083"]
    assert config.properties["key.converter"] == "org.apache.kafka.connect.json.JsonConverter"
    assert config.subset("value.converter.") == {"schemas.enable": "false"}
    assert config.values["offset.flush.interval.ms"] == 60_000
    assert config.task_shutdown_graceful_timeout_ms == 5_000
    assert config.admin_listeners is None
    assert config.topic_tracking_enable
    assert config.plugin_path == ()


def test_the_file_of_the_kafka_distribution_works_and_says_what_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "connect-standalone.properties"
    file.write_text(KAFKA_STANDALONE)
    config = WorkerConfig.load(file)
    assert config.subset("value.converter.") == {"schemas.enable": "true"}
    assert config.values["offset.flush.interval.ms"] == 10_000
    assert [warning.split(": ", 1)[0] for warning in config.warnings] == [f"{file}, line 8"]
    assert config.values["bootstrap.servers"] == ["localhost:9092"]


def test_a_named_converter_keeps_its_own_defaults() -> None:
    config = WorkerConfig.from_properties({"key.converter": "StringConverter", "key.converter.encoding": "UTF-16"})
    assert config.properties["key.converter"] == "StringConverter"
    assert config.subset("key.converter.") == {"encoding": "UTF-16"}


def test_an_unknown_key_is_a_warning_with_the_likely_one() -> None:
    config = WorkerConfig.from_properties({"offset.flush.interval": "1", "listener": "x", "qqq": "1"}, "w.properties")
    assert config.warnings == (
        "w.properties: 'offset.flush.interval' is not a known worker key and is ignored."
        " Did you mean 'offset.flush.interval.ms'?",
        "w.properties: 'listener' is not a known worker key and is ignored. Did you mean 'listeners'?",
        "w.properties: 'qqq' is not a known worker key and is ignored.",
    )


def test_a_repeated_key_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "w.properties"
    file.write_text("data.dir=a\ndata.dir=b\n")
    config = WorkerConfig.load(file)
    assert config.data_dir.name == "b"
    assert config.warnings == (f"{file}, line 2: 'data.dir' already stands in line 1; the last one counts.",)


def test_wrong_values_are_told_all_at_once_with_place_value_and_way_out(tmp_path: Path) -> None:
    file = tmp_path / "w.properties"
    file.write_text("offset.flush.interval.ms=soon\n\nlisteners=ftp://x:1\n")
    with pytest.raises(WorkerConfigError) as caught:
        WorkerConfig.load(file)
    text = str(caught.value)
    assert (
        f"{file}, line 1: Invalid value soon for configuration offset.flush.interval.ms: Not a number of type LONG"
        in text
    )
    assert "Leave the key out for the default, 60000." in text
    assert (
        f'{file}, line 3: Invalid value ftp://x:1 for configuration listeners: Listener protocol must be either "http"'
        in text
    )


@pytest.mark.parametrize(
    ("key", "value", "detail"),
    [
        ("listeners", "localhost:8083", "Listener doesn't have the right format (protocol://hostname:port)."),
        ("listeners", "http://:70000", "A port is a number from 1 to 65535"),
        ("listeners", "", "at least one listener"),
        ("admin.listeners", "tcp://:1", 'Listener protocol must be either "http" or "https".'),
        ("data.dir", "", "String must be non-empty"),
        ("topic.creation.enable", "yes", "Expected value to be either true or false"),
        ("connector.call.timeout.ms", "0", "Value must be at least 1"),
        ("rest.advertised.port", "0", "A port is a number from 1 to 65535"),
        ("config.providers", "file,file", "must not be duplicated"),
        ("log.level", "LOUD", "String must be one of (case insensitive)"),
        ("log.format", "xml", "String must be one of (case insensitive): TEXT, JSON"),
        ("log.access", "some", "String must be one of (case insensitive): ALL, CHANGES, NONE"),
    ],
)
def test_a_wrong_value_stops_the_worker(key: str, value: str, detail: str) -> None:
    with pytest.raises(WorkerConfigError) as caught:
        WorkerConfig.from_properties({key: value})
    assert detail in str(caught.value)
    assert key in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkerConfigError, match=r"Cannot read the worker file .*none\.properties: No such file"):
        WorkerConfig.load(tmp_path / "none.properties")


def test_a_bad_escape_names_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "w.properties"
    file.write_text("data.dir=C:\\users\n")
    with pytest.raises(WorkerConfigError, match=rf"{file}, line 1: malformed"):
        WorkerConfig.load(file)


@pytest.mark.parametrize(
    ("properties", "worker_id"),
    [
        ({"listeners": "http://10.0.0.7:9000"}, "10.0.0.7:9000"),
        ({"listeners": "https://a:1,http://b:2"}, "b:2"),
        ({"listeners": "https://a:1,http://b:2", "rest.advertised.listener": "https"}, "a:1"),
        ({"listeners": "http://b:2", "rest.advertised.host.name": "proxy", "rest.advertised.port": "80"}, "proxy:80"),
    ],
)
def test_the_worker_id_is_the_advertised_address(properties: dict[str, str], worker_id: str) -> None:
    assert WorkerConfig.from_properties(properties).worker_id == worker_id


def test_a_listener_on_all_interfaces_advertises_an_address_of_this_machine() -> None:
    host, port = WorkerConfig.from_properties({"listeners": "http://:9000"}).worker_id.rsplit(":", 1)
    assert host not in ("", "0.0.0.0")
    assert port == "9000"


def test_an_ipv6_listener() -> None:
    (listener,) = WorkerConfig.from_properties({"listeners": "http://[::1]:8083"}).listeners
    assert (listener.host, listener.port) == ("::1", 8083)
    assert str(listener) == "http://[::1]:8083"


def test_empty_admin_listeners_mean_nowhere() -> None:
    assert WorkerConfig.from_properties({"admin.listeners": ""}).admin_listeners == ()


def test_references_in_the_worker_file_are_resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secrets.properties").write_text("port=9123\n")
    monkeypatch.setenv("PENSTOCK_TEST_HOST", "10.1.2.3")
    config = WorkerConfig.from_properties(
        {
            "config.providers": "file,env",
            "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
            "config.providers.env.class": "EnvVarConfigProvider",
            "listeners": f"http://${{env:PENSTOCK_TEST_HOST}}:${{file:{tmp_path}/secrets.properties:port}}",
            "plugin.path": "${env:PENSTOCK_TEST_HOST}",
        }
    )
    assert config.worker_id == "10.1.2.3:9123"
    assert config.plugin_path == (Path("${env:PENSTOCK_TEST_HOST}"),)


def test_a_reference_that_cannot_be_resolved_stops_the_worker() -> None:
    providers = {"config.providers": "env", "config.providers.env.class": "EnvVarConfigProvider"}
    with pytest.raises(
        WorkerConfigError, match=r"Could not resolve \$\{env:PENSTOCK_NOT_SET\} in configuration data.dir"
    ):
        WorkerConfig.from_properties({**providers, "data.dir": "${env:PENSTOCK_NOT_SET}"})


def test_spark_keys_are_passed_on_and_not_checked() -> None:
    config = WorkerConfig.from_properties({"spark.master": "local[2]", "spark.any.thing": "x", "data.dir": "d"})
    assert config.spark_settings == {"spark.master": "local[2]", "spark.any.thing": "x"}
    assert config.warnings == ()


def test_defaults_file_and_overrides_win_in_that_order(tmp_path: Path) -> None:
    file = tmp_path / "w.properties"
    file.write_text("data.dir=from-file\nlog.level=debug\n")
    config = WorkerConfig.load(file, {"data.dir": "default", "plugin.path": "p"}, {"log.level": "WARN"})
    assert (config.data_dir.name, config.log_level, config.plugin_path) == ("from-file", "WARN", (Path("p"),))


def test_every_key_has_documentation_and_a_group() -> None:
    assert [key.name for key in WORKER_KEYS.keys if not key.doc.endswith(".") or key.group is None] == []
    assert not (NOT_USED.keys() | NOT_USED_QUIETLY) & WORKER_KEYS.by_name.keys()
