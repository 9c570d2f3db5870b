"""The archive of Spark's classes: made once, used by every later start, harmless where it does not fit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import Ended, app
from penstock.spark import class_archive
from penstock.spark.class_archive import archive_file, archive_option
from penstock.spark.java import find_java
from penstock.spark.session import start_spark

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where archives are while these tests run; one is there."""
    folder = tmp_path_factory.mktemp("archive of classes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_archive, "FOLDER", folder)
        assert run("warm-up") == 0
        yield archive_file(find_java())


def run(*arguments: str) -> int:
    done = CliRunner().invoke(app, list(arguments))
    assert isinstance(done.exception, Ended), done.output
    return done.exception.code


def maps_of_a_started_spark(folder: Path) -> str:
    """The files that the JVM has mapped after it has run a job."""
    engine = start_spark({"spark.master": "local[2]"}, folder)
    try:
        assert engine.context.parallelize(range(4), 2).sum() == 6
        return Path(f"/proc/{engine._process.pid}/maps").read_text()
    finally:
        engine.stop()


def test_it_is_made_once_and_used_by_every_later_start(archive: Path, tmp_path: Path) -> None:
    assert [file.name for file in archive.parent.iterdir()] == [archive.name]
    made = archive.stat().st_mtime_ns
    assert str(archive) in maps_of_a_started_spark(tmp_path)
    assert run("warm-up") == 0
    assert archive.stat().st_mtime_ns == made


def test_options_of_the_user_win(archive: Path) -> None:
    java = find_java()
    assert archive_option(java, "-Xmx2g") == f"-XX:SharedArchiveFile={archive}"
    assert archive_option(java, "-XX:SharedArchiveFile=own.jsa") == ""


def test_a_broken_one_does_not_keep_spark_from_starting(archive: Path, tmp_path: Path) -> None:
    whole = archive.read_bytes()
    archive.unlink()
    archive.write_bytes(b"not an archive" + bytes(100_000))
    try:
        assert str(archive) not in maps_of_a_started_spark(tmp_path)
    finally:
        archive.write_bytes(whole)


def test_a_folder_that_cannot_be_written_is_told(
    archive: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(class_archive, "FOLDER", tmp_path / "file" / "folder")
    assert run("warm-up") == 2
