"""The files in deploy/ are complete, and workers accept what they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx2
import kubernetes_validate
import pytest
import yaml

from penstock.runtime.distributed_keys import DISTRIBUTED_KEYS
from penstock.runtime.properties import as_dict, parse_properties
from penstock.runtime.worker_config import WorkerConfig
from tests.support.ports import free_port
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
MANIFESTS = list(yaml.safe_load_all((DEPLOY / "kubernetes" / "penstock.yaml").read_text()))
COMPOSE = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())
WORKER_FILES = {
    "compose": (DEPLOY / "compose" / "worker.properties").read_text(),
    "kubernetes": next(item for item in MANIFESTS if item["kind"] == "ConfigMap")["data"]["worker.properties"],
}


@pytest.mark.parametrize("name", WORKER_FILES)
def test_worker_files_hold_only_keys_that_mean_something(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = WORKER_FILES[name]
    for variable in re.findall(r"\$\{env:(\w+)\}", text):
        monkeypatch.setenv(variable, "worker-1")
    config = WorkerConfig.from_properties(as_dict(parse_properties(text)), name, more_keys=DISTRIBUTED_KEYS)
    assert config.warnings == ()
    assert config.worker_id == "worker-1:8083"


def test_every_variable_of_the_worker_files_is_set_by_its_deployment() -> None:
    pods = next(item for item in MANIFESTS if item["kind"] == "StatefulSet")["spec"]["template"]["spec"]
    set_in_pods = {entry["name"] for entry in pods["containers"][0]["env"]}
    assert set(re.findall(r"\$\{env:(\w+)\}", WORKER_FILES["kubernetes"])) <= set_in_pods
    for worker in ("worker-1", "worker-2"):
        set_here = set(COMPOSE["services"][worker]["environment"])
        assert set(re.findall(r"\$\{env:(\w+)\}", WORKER_FILES["compose"])) <= set_here


def test_the_image_copies_files_that_exist() -> None:
    copied = re.findall(r"^COPY (.+) \S+$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    assert copied
    for name in " ".join(copied).split():
        assert (ROOT / name).exists(), name


def test_services_and_labels_of_the_manifests_fit_together() -> None:
    pods = next(item for item in MANIFESTS if item["kind"] == "StatefulSet")["spec"]
    services = {item["metadata"]["name"]: item["spec"] for item in MANIFESTS if item["kind"] == "Service"}
    assert pods["serviceName"] in services
    assert all(service["selector"] == pods["template"]["metadata"]["labels"] for service in services.values())


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda each: f"{each['kind']}-{each['metadata']['name']}")
def test_kubernetes_knows_every_field_of_the_manifests(manifest: dict[str, object]) -> None:
    kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)


def test_brokers_keep_their_records_in_the_volume_of_the_compose_file() -> None:
    kafka = COMPOSE["services"]["kafka"]
    [(volume, folder)] = [mount.split(":") for mount in kafka["volumes"]]
    assert volume in COMPOSE["volumes"]
    assert kafka["environment"]["KAFKA_LOG_DIRS"] == folder


@pytest.mark.integration
def test_the_entrypoint_starts_an_executor_the_way_spark_asks_for_it(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    java.chmod(0o755)
    given = {
        "PATH": os.environ["PATH"],
        "JAVA_HOME": str(tmp_path),
        "SPARK_HOME": "/spark",
        "SPARK_EXECUTOR_MEMORY": "1g",
        "SPARK_DRIVER_URL": "spark://driver",
        "SPARK_EXECUTOR_ID": "7",
        "SPARK_EXECUTOR_CORES": "2",
        "SPARK_APPLICATION_ID": "app",
        "SPARK_EXECUTOR_POD_IP": "10.0.0.1",
        "SPARK_EXECUTOR_POD_NAME": "pod",
        "SPARK_JAVA_OPT_1": "-Db=with blanks",
        "SPARK_JAVA_OPT_0": "-Da=1",
    }
    command = [str(DEPLOY / "entrypoint.sh"), "executor"]
    said = subprocess.run(command, env=given, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[:4] == ["-Da=1", "-Db=with blanks", "-Xms1g", "-Xmx1g"]
    assert said[said.index("--executor-id") + 1] == "7"
    assert said[said.index("-cp") + 1] == "/spark/jars/*"


@pytest.mark.integration
def test_the_entrypoint_runs_anything_else_as_it_is() -> None:
    command = [str(DEPLOY / "entrypoint.sh"), "echo", "as it is"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "as it is\n"


def _default_command() -> list[str]:
    (command,) = re.findall(r"^CMD (.+)$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    words = json.loads(command)
    assert all(isinstance(word, str) for word in words)
    return list(words)


def test_workers_of_the_compose_file_and_the_manifests_run_the_file_they_mount() -> None:
    pods = next(item for item in MANIFESTS if item["kind"] == "StatefulSet")["spec"]["template"]["spec"]
    file = "/etc/penstock/worker.properties"
    assert pods["containers"][0]["args"] == ["penstock", "distributed", file]
    for worker in ("worker-1", "worker-2"):
        service = COMPOSE["services"][worker]
        assert service["command"] == ["penstock", "distributed", file]
        assert f"./worker.properties:{file}:ro" in service["volumes"]


def test_an_image_without_arguments_keeps_its_data_in_the_volume() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    (volume,) = re.findall(r"^VOLUME (\S+)$", text, re.MULTILINE)
    words = _default_command()
    assert words[words.index("--data-dir") + 1] == volume
    assert re.search(rf"install -d -o penstock -g penstock .*{volume}\b", text)


@pytest.mark.integration
def test_an_image_without_arguments_is_reached_from_outside(tmp_path: Path) -> None:
    port = free_port()
    words = [str(tmp_path / "data") if word == "/var/lib/penstock" else word for word in _default_command()]
    assert words[0] == "penstock"
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "penstock").write_text(f'#!/bin/sh\nexec {sys.executable} -m penstock "$@"\n')
    (programs / "penstock").chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    with (tmp_path / "output").open("wb") as output:
        worker = subprocess.Popen(
            [str(DEPLOY / "entrypoint.sh"), *words, "--port", str(port)],
            cwd=tmp_path,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        root = f"http://127.0.0.2:{port}/"  # as any other address than 127.0.0.1, only reached if all are listened on
        wait_until(lambda: httpx2.get(root, timeout=10).status_code == 200, "GET / is answered")
    finally:
        worker.terminate()
        worker.wait(120)
