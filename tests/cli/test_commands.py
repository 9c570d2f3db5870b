"""The command line as a user meets it: a process, its output and its exit code."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import penstock
from tests.support.certificates import make_certificate
from tests.support.ports import free_port
from tests.support.worker import SOURCE


def penstock_command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "200", "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "penstock", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=variables,
        timeout=120,
    )


@pytest.mark.integration
def test_version_names_what_it_runs_on() -> None:
    done = penstock_command("version")
    assert done.returncode == 0
    assert done.stdout.startswith(f"penstock {penstock.__version__}\n")
    assert {line.split()[0] for line in done.stdout.splitlines()} == {
        "penstock",
        "python",
        "java",
        "pyspark",
        "pyarrow",
    }


@pytest.mark.integration
def test_version_alone_is_one_line() -> None:
    done = penstock_command("--version")
    assert (done.returncode, done.stdout) == (0, f"penstock {penstock.__version__}\n")


@pytest.mark.integration
@pytest.mark.parametrize("arguments", [(), ("standalone",), ("fly",), ("run", "--port", "x")])
def test_wrong_usage_ends_with_1_and_shows_the_usage(arguments: tuple[str, ...]) -> None:
    done = penstock_command(*arguments)
    assert done.returncode == 1
    assert "Usage" in done.stdout + done.stderr


@pytest.mark.integration
@pytest.mark.parametrize("command", ["run", "standalone", "doctor", "version"])
def test_help_teaches(command: str) -> None:
    done = penstock_command(command, "--help")
    assert done.returncode == 0
    assert "Usage" in done.stdout
    if command in ("run", "standalone"):
        assert f"penstock {command} " in done.stdout


@pytest.mark.integration
def test_a_missing_worker_file_ends_with_2(tmp_path: Path) -> None:
    done = penstock_command("standalone", str(tmp_path / "gone.properties"))
    assert done.returncode == 2
    assert "Cannot read the worker file" in done.stderr


@pytest.mark.integration
def test_a_wrong_worker_file_names_key_and_value(tmp_path: Path) -> None:
    file = tmp_path / "w.properties"
    file.write_text("offset.flush.interval.ms=soon\n")
    done = penstock_command("standalone", str(file))
    assert done.returncode == 2
    assert "Invalid value soon for configuration offset.flush.interval.ms" in done.stderr


@pytest.mark.integration
def test_an_unusable_connector_file_ends_with_3_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "w.properties").write_text("data.dir=data\n")
    (tmp_path / "c.json").write_text('{"connector.class": "FileStreamSource"}')
    done = penstock_command("standalone", "w.properties", "c.json", cwd=tmp_path)
    assert done.returncode == 3
    assert "Connector configuration at 'c.json' is missing the mandatory 'name' configuration" in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.integration
def test_an_unusable_pipeline_file_ends_with_3(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("connectors: []")
    done = penstock_command("run", "p.yaml", cwd=tmp_path)
    assert done.returncode == 3
    assert "p.yaml:1:1: connectors: 'connectors' is not a key of a pipeline file." in done.stderr
    assert "The key 'pipelines' is missing" in done.stderr


@pytest.mark.integration
def test_a_taken_port_ends_with_2_and_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = penstock_command("run", "--port", str(taken.getsockname()[1]), cwd=tmp_path)
    assert done.returncode == 2
    assert "The REST API cannot listen on http://127.0.0.1:" in done.stderr
    assert "penstock run --port 8084" in done.stderr


@pytest.mark.integration
def test_a_wrong_host_starts_nothing(tmp_path: Path) -> None:
    done = penstock_command("run", "--host", "localhost:9000", cwd=tmp_path)
    assert done.returncode == 2
    assert "--host 'localhost:9000' is no host" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.integration
@pytest.mark.parametrize("log", ["", "log.file=worker.log\n"])
def test_what_is_odd_about_a_worker_file_is_told_once_and_below_the_title(tmp_path: Path, log: str) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "halfway.py").write_text("import no_such_package\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        (tmp_path / "w.properties").write_text(
            f"listeners=http://127.0.0.1:{taken.getsockname()[1]}\nlistener=mistaken\nplugin.path=plugins\n"
            "config.providers=env\n"
            f"config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n{log}"
        )
        done = penstock_command("standalone", "w.properties", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("Penstock ")
    assert "Traceback" not in done.stdout + done.stderr
    told = "w.properties, line 2: 'listener' is not a known worker key"
    assert (done.stdout + done.stderr).count(told) == 1
    assert not log or told in (tmp_path / "worker.log").read_text()


@pytest.mark.integration
def test_a_folder_that_cannot_be_made_ends_with_2_and_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "data"):
        done = penstock_command("run", "--data-dir", str(folder))
        assert (done.returncode, "Traceback" in done.stderr) == (2, False)
        assert f"The data folder {folder} cannot be used (" in done.stderr
        assert "--data-dir" in done.stderr


@pytest.mark.integration
@pytest.mark.parametrize("command", ["standalone", "distributed"])
def test_a_log_file_that_cannot_be_written_ends_with_2_and_the_way_out(tmp_path: Path, command: str) -> None:
    (tmp_path / "file").write_text("")
    log_file = tmp_path / "file" / "worker.log"
    storage = [f"{kind}.storage.topic={kind}" for kind in ("config", "offset", "status")]
    cluster = ["bootstrap.servers=127.0.0.1:9", "group.id=none", *storage] if command == "distributed" else []
    (tmp_path / "w.properties").write_text("\n".join([f"log.file={log_file}", f"data.dir={tmp_path}/data", *cluster]))
    done = penstock_command(command, str(tmp_path / "w.properties"))
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert f"The log file {log_file} cannot be written (" in done.stderr
    assert "'log.file'" in done.stderr


@pytest.mark.integration
def test_doctor_tells_a_port_without_a_host_as_one_on_all_interfaces(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "w.properties").write_text(f"listeners=http://:{port}\ndata.dir={tmp_path}/data\n")
    done = penstock_command("doctor", "--no-spark", str(tmp_path / "w.properties"))
    assert f"http://:{port} (all interfaces) is free" in done.stdout


@pytest.mark.integration
def test_doctor_finds_a_taken_port_and_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (tmp_path / "w.properties").write_text(f"listeners=http://127.0.0.1:{port}\ndata.dir={tmp_path}/file/data\n")
        done = penstock_command("doctor", "--no-spark", str(tmp_path / "w.properties"))
    assert done.returncode == 1
    assert f"http://127.0.0.1:{port} cannot be used" in done.stdout
    assert f"{tmp_path}/file/data cannot be created" in done.stdout
    assert "2 things to mend" in done.stdout


@pytest.mark.integration
def test_doctor_names_plugins_that_cannot_be_loaded(tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "halfway.py").write_text("import no_such_package\n")
    (tmp_path / "w.properties").write_text(
        f"listeners=http://127.0.0.1:0\ndata.dir={tmp_path}/data\nplugin.path={plugins}\nconfig.providers=env\n"
        "config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
    )
    done = penstock_command("doctor", "--no-spark", str(tmp_path / "w.properties"))
    assert "halfway (ModuleNotFoundError: No module named 'no_such_package') could not be loaded" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.integration
@pytest.mark.parametrize(("command", "code"), [("doctor --no-spark", 1), ("standalone", 2), ("distributed", 2)])
def test_a_key_whose_password_is_wrong_is_told_before_anything_starts(tmp_path: Path, command: str, code: int) -> None:
    both, _ = make_certificate(tmp_path, b"right")
    internal = "".join(f"{kind}.storage.topic={kind}\n" for kind in ("config", "offset", "status"))
    (tmp_path / "w.properties").write_text(
        f"listeners=https://127.0.0.1:{free_port()}\nlisteners.https.ssl.keystore.location={both}\n"
        f"listeners.https.ssl.key.password=wrong\ndata.dir={tmp_path}/data\n"
        f"bootstrap.servers=127.0.0.1:{free_port()}\ngroup.id=g\n{internal}"
    )
    done = penstock_command(*command.split(), str(tmp_path / "w.properties"))
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert "ssl.key.password its password" in said
    assert "Traceback" not in said
    assert not (tmp_path / "data" / "penstock.db").exists()


@pytest.mark.integration
def test_doctor_is_content_with_a_good_machine(tmp_path: Path) -> None:
    (tmp_path / "w.properties").write_text("listeners=http://127.0.0.1:0\ndata.dir=data\nspark.master=local[1]\n")
    done = penstock_command("doctor", "w.properties", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "ran a job" in done.stdout
    assert "All is well." in done.stdout
    assert not (tmp_path / "data").exists()
