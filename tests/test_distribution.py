"""What ``make dist`` builds: a wheel that a worker runs from, and a page for a package index."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import httpx2
import pytest
import yaml

import penstock
from tests.support.ports import free_port
from tests.support.shared_packages import new_environment
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[1]
WORKFLOW = ROOT / ".github" / "workflows" / "publish.yaml"
BUILD_SECONDS = 600
START_SECONDS = 120
STOP_SECONDS = 120
TEXTS = ("README.md", "docs/**/*.md", "deploy/**/*.md", "src/**/*.py", "src/**/*.tmpl", "tools/*.sh")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution, as ``make dist`` builds them."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True, timeout=BUILD_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("penstock-*.whl")
    return found


@pytest.mark.integration
def test_both_distributions_pass_the_checks_of_an_index(dist: Path) -> None:
    files = sorted(map(str, dist.iterdir()))
    assert len(files) == 2
    check = [sys.executable, "-m", "twine", "check", "--strict", *files]
    done = subprocess.run(check, capture_output=True, text=True, timeout=BUILD_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.integration
def test_the_page_of_an_index_leads_nowhere_that_is_not_there(wheel: Path) -> None:
    text = str(_metadata(wheel).get_payload())
    assert text.startswith("# Penstock\n")
    assert "pip install dist/penstock-*.whl" in text
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert [link for link in links if not link.startswith(("http://", "https://"))] == []
    assert "<!--" not in text
    assert "docs/guides" not in text


@pytest.mark.integration
def test_the_source_distribution_has_what_the_page_speaks_of(dist: Path) -> None:
    (archive,) = dist.glob("penstock-*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert {"docs/index.md", "deploy/README.md", "src/penstock/__init__.py", "LICENSE"} <= names
    assert not any(name.startswith(("tests/", ".venv", ".cache")) for name in names)


@pytest.mark.integration
def test_a_worker_runs_from_the_wheel_and_moves_records(wheel: Path, tmp_path: Path) -> None:
    programs = new_environment(tmp_path / "home")
    install = [programs / "python", "-m", "pip", "install", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=BUILD_SECONDS)
    port = free_port()
    folder = tmp_path / "anywhere"
    folder.mkdir()
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    where = [programs / "python", "-c", "import penstock; print(penstock.__file__)"]
    said = subprocess.run(where, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout
    assert str(programs.parent) in said
    with (folder / "output").open("wb") as output:
        worker = subprocess.Popen(
            [programs / "penstock", "run", "--port", str(port)],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            seen = wait_until(lambda: _root(port) or worker.poll(), "GET / is answered", seconds=START_SECONDS)
            assert isinstance(seen, dict), f"the worker has ended with {seen}"
            assert seen["version"]
            page = httpx2.get(f"http://127.0.0.1:{port}/ui/", timeout=60)
            assert page.status_code == 200, page.text
            assert "Penstock" in page.text
            orders = folder / "penstock-data" / "example" / "orders.jsonl"
            wait_until(lambda: orders.exists() and orders.read_text(), "records move", seconds=START_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{(folder / 'output').read_text()}") from error
        finally:
            worker.terminate()
            worker.wait(STOP_SECONDS)


def test_no_text_promises_what_no_index_has() -> None:
    pages = [page for pattern in TEXTS for page in sorted(ROOT.glob(pattern))]
    promise = re.compile(r"pip install (?:-\S+ )*['\"]?penstock(?![\[\w./-])")
    found = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in pages
        for line in page.read_text().splitlines()
        if promise.search(line)
    ]
    assert pages
    assert found == []


def test_a_tag_publishes_what_make_dist_builds_after_it_was_tried() -> None:
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    commands = [step.get("run", "") for step in jobs["build"]["steps"]]
    built = commands.index("make dist")
    tried = next(number for number, command in enumerate(commands) if Path(__file__).name in command)
    uploaded = next(n for n, step in enumerate(jobs["build"]["steps"]) if "upload-artifact" in step.get("uses", ""))
    assert built < tried < uploaded
    assert jobs["publish"]["needs"] == "build"


@pytest.mark.integration
def test_a_tag_that_is_not_the_version_stops_the_workflow() -> None:
    steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["build"]["steps"]
    (check,) = [step["run"] for step in steps if step.get("name") == "The tag is the version"]
    for tag, code in ((f"v{penstock.__version__}", 0), ("v99.0", 1)):
        environment = {**os.environ, "GITHUB_REF_NAME": tag}
        done = subprocess.run(["bash", "-c", check], cwd=ROOT, env=environment, timeout=60)
        assert done.returncode == code, tag


def _metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as files:
        (name,) = [name for name in files.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(files.read(name).decode())


def _root(port: int) -> dict[str, str] | None:
    try:
        answer = httpx2.get(f"http://127.0.0.1:{port}/", timeout=10)
    except httpx2.TransportError:
        return None
    return answer.json() if answer.status_code == 200 else None
