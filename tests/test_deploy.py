"""The files in deploy/ are complete, and workers accept what they say."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from penstock.runtime.distributed_keys import DISTRIBUTED_KEYS
from penstock.runtime.properties import as_dict, parse_properties
from penstock.runtime.worker_config import WorkerConfig

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


def test_the_entrypoint_runs_anything_else_as_it_is() -> None:
    command = [str(DEPLOY / "entrypoint.sh"), "echo", "as it is"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "as it is\n"
