"""The mutation check: what it breaks, and that it tells what no test notices, in a copy and not in the tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

TOOLS = Path(__file__).parents[1] / "tools" / "mutants"

SOURCE = '''"""A module."""
import logging
log = logging.getLogger(__name__)

class Till:
    """Has money."""

    def __init__(self) -> None:
        self.money = 1

    def take(self, amount: int, hurry: bool = False) -> bool:
        """Whether there was enough."""
        if amount < self.money and not hurry:
            log.info("taken %d", 7)
            self.note(amount)
            return True
        raise ValueError(f"{amount} of {3}")

    def note(self, amount: int) -> None:
        self.money -= amount

    def all(self):
        yield self.money
'''

TESTS = """
import time
from tiny import Till

def test_there_is_enough():
    till = Till()
    till.money = 5
    assert till.take(3)
    assert till.money == 2
"""

TARGETS = """
tills:
  tests: [tests/test_tiny.py -k enough]
  targets:
    - path: src/tiny.py
      functions: [Till.take, Till.all, Till.note]
"""


@pytest.fixture
def mutations(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TOOLS))
    import mutations as module

    return module


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with one module, one test and one target."""
    tree = tmp_path / "tree"
    files = {"src/tiny.py": SOURCE, "tests/test_tiny.py": TESTS, "targets.yaml": TARGETS, "explained.yaml": "{}"}
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    subprocess.run(["git", "init", "-q", str(tree)], check=True)
    return tree


def check(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOLS / "run.py"), "--root", str(tree), "--here", str(tree), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_a_function_is_broken_in_each_way_and_its_texts_are_left_alone(mutations: ModuleType) -> None:
    found = {mutant.id: mutant for mutant in mutations.mutants_of("m.py", SOURCE, ["Till.take"])}
    assert list(found) == [
        "m.py Till.take raises",
        "m.py Till.take returns True",
        "m.py Till.take returns False",
        "m.py Till.take negate: amount < self.money and (not hurry)",
        "m.py Till.take swap: amount < self.money and (not hurry)",
        "m.py Till.take compare: amount < self.money",
        "m.py Till.take number: True",
        "m.py Till.take drop: self.note(amount)",
    ]
    assert found["m.py Till.take compare: amount < self.money"].diff(SOURCE) == (
        '         """Whether there was enough."""\n'
        "-        if amount < self.money and not hurry:\n"
        "+        if (amount <= self.money) and not hurry:\n"
        '             log.info("taken %d", 7)'
    )


def test_each_target_is_there_and_each_explanation_is_of_a_mutant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    import run

    targets = run.read_targets(TOOLS / "targets.yaml")
    assert [target.path for target in targets if not (run.ROOT / target.path).is_file()] == []
    explained = yaml.safe_load((TOOLS / "explained.yaml").read_text("utf-8"))
    paths = {name.split()[0] for name in explained}
    known = {mutant.id for target in targets if target.path in paths for mutant in target.mutants(run.ROOT)}
    assert [name for name in explained if name not in known] == []
    assert all(isinstance(reason, str) and reason for reason in explained.values())


def test_a_generator_that_gives_nothing_is_still_one(mutations: ModuleType) -> None:
    found = mutations.mutants_of("m.py", SOURCE, ["Till.all"], ["returns"])
    assert ["return\n        yield" in mutant.text for mutant in found] == [True]


@pytest.mark.parametrize(
    ("signature", "values"),
    [
        ("a: int, b: str) -> str", ["b"]),
        ("a: int) -> str | None", ["nothing"]),
        ("a: int) -> Sequence[int]", ["[]"]),
        ("a: int) -> Mapping[str, int]", ["{}"]),
        ("a: int) -> bool", ["True", "False"]),
        ("a: int) -> Other", ["None"]),
        ("a: Other) -> Other", ["a", "None"]),
    ],
)
def test_a_function_returns_what_was_given_or_nothing(mutations: ModuleType, signature: str, values: list[str]) -> None:
    found = mutations.mutants_of("m.py", f"def f({signature}:\n    return g(a)\n", kinds=["returns"])
    assert [mutant.id.rpartition(" ")[2] for mutant in found][: len(values)] == values


def test_of_a_large_function_the_same_few_mutants_are_made_each_time(mutations: ModuleType) -> None:
    source = "def f(a: int) -> None:\n" + "".join(f"    if a == {n}:\n        g({n})\n" for n in range(9))
    first, again = (mutations.mutants_of("m.py", source, most=6) for _ in range(2))
    assert first == again
    assert [mutant.kind for mutant in first] == ["raises", "returns", "negate", "number", "drop", "negate"]


def test_a_decorated_function_inside_is_replaced_with_its_decorator(mutations: ModuleType) -> None:
    source = "def f() -> int:\n    @g\n    def h() -> None:\n        k()\n    return h()\n"
    [mutant] = mutations.mutants_of("m.py", source, kinds=["raises"])
    assert mutant.text == "def f() -> int:\n    raise RuntimeError('mutant')\n"


@pytest.mark.integration
def test_what_no_test_notices_is_told_with_its_place_unless_it_is_explained(tree: Path) -> None:
    (tree / "explained.yaml").write_text(
        "'src/tiny.py Till.take compare: amount < self.money': nobody takes all\n"
        "'src/tiny.py Till.take drop: self.gone()': it is gone\n"
    )
    done = check(tree)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "src/tiny.py:13  src/tiny.py Till.take swap" in done.stdout
    assert "+        if (amount < self.money or not hurry):" in done.stdout
    assert "src/tiny.py Till.all raises" in done.stdout
    assert "1 more in functions that no test runs" in done.stdout
    assert "no such mutant any more: src/tiny.py Till.take drop: self.gone()" in done.stdout
    assert "NOT NOTICED src/tiny.py:13  src/tiny.py Till.take compare" not in done.stdout
    assert (tree / "src" / "tiny.py").read_text() == SOURCE
    assert not list(tree.rglob("__pycache__"))


@pytest.mark.integration
def test_when_everything_is_noticed_or_explained_all_is_well(tree: Path) -> None:
    done = check(tree, "--only", "Till.note")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "tills: 2 mutants, 2 noticed (0 by hanging), 0 explained, 0 not noticed" in done.stdout


@pytest.mark.integration
def test_a_mutant_that_hangs_is_noticed_and_leaves_no_process(tree: Path, tmp_path: Path) -> None:
    (tree / "src" / "tiny.py").write_text("def f() -> int:\n    return 1\n")
    (tree / "targets.yaml").write_text("r: {tests: [tests], targets: [{path: src/tiny.py, kinds: [raises]}]}")
    note = tmp_path / "started"
    (tree / "tests" / "test_tiny.py").write_text(
        "import subprocess, pathlib, tiny\n"
        "def test_f():\n"
        "    try:\n"
        "        tiny.f()\n"
        "    except RuntimeError:\n"
        "        child = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        f"        pathlib.Path({str(note)!r}).write_text(str(child.pid))\n"
        "        child.wait()\n"
    )
    done = check(tree, "--least-seconds", "1")
    assert "r: 1 mutants, 1 noticed (1 by hanging)" in done.stdout, done.stderr
    assert not Path(f"/proc/{note.read_text()}").exists()


@pytest.mark.integration
@pytest.mark.parametrize(
    ("test", "text"),
    [
        ("import tiny\ndef test_it():\n    assert 1 == 2\n", "Not green before anything is broken: tests"),
        ("def test_it():\n    pass\n", "tests does not even import src/tiny.py of the copy"),
    ],
)
def test_tests_that_are_red_or_of_another_tree_prove_nothing(tree: Path, test: str, text: str) -> None:
    (tree / "tests" / "test_tiny.py").write_text(test)
    (tree / "targets.yaml").write_text("r: {tests: [tests], targets: [{path: src/tiny.py}]}")
    done = check(tree)
    assert done.returncode != 0
    assert text in done.stderr


@pytest.mark.integration
def test_every_target_is_there() -> None:
    listed = subprocess.run([sys.executable, str(TOOLS / "run.py"), "--list"], capture_output=True, text=True)
    assert listed.returncode == 0, listed.stderr
    for room in ("offsets", "commits", "hooks", "restarts", "columns"):
        assert f"{room}: " in listed.stdout
