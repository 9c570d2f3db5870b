"""``penstock user``: the file it writes, and what it refuses."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from penstock.rest.users import PasswordHash, TokenHash, User, parse_users
from tests.cli.client.conftest import Client


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "users.txt"


def users(file: Path) -> dict[str, User]:
    return dict(parse_users(file.read_text(), "users"))


def test_a_user_comes_in_with_a_password_that_nobody_can_read(nobody: Client, file: Path) -> None:
    done = nobody.ok("user", "add", str(file), "ops", "--role", "admin", "--password-stdin", stdin="correct horse\n")
    assert (done.out, done.err) == ("", "✓ ops may come in with a password, as admin\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "horse" not in file.read_text()
    secret = users(file)["ops"].secret
    assert isinstance(secret, PasswordHash)
    assert secret.fits("correct horse")


def test_a_token_is_shown_once(nobody: Client, file: Path) -> None:
    token = nobody.ok("user", "token", str(file), "ci").out.strip()
    assert token not in file.read_text()
    assert users(file)["ci"].secret == TokenHash.of(token)
    assert users(file)["ci"].role.value == "read-only"


def test_a_change_keeps_the_role_the_comments_and_the_mode(nobody: Client, file: Path) -> None:
    nobody.ok("user", "token", str(file), "ci", "--role", "admin")
    file.write_text(f"# people\n{file.read_text()}# end\n")
    file.chmod(0o640)
    nobody.ok("user", "add", str(file), "ci", "--password-stdin", stdin="battery staple\n")
    nobody.ok("user", "token", str(file), "other")
    listed = nobody.ok("user", "list", str(file), "--output", "json").data
    assert [(one["name"], one["role"], one["with"]) for one in listed] == [
        ("ci", "admin", "password"),
        ("other", "read-only", "token"),
    ]
    lines = file.read_text().splitlines()
    assert (lines[0], lines[2], stat.S_IMODE(file.stat().st_mode)) == ("# people", "# end", 0o640)


def test_a_removed_user_is_gone(nobody: Client, file: Path) -> None:
    nobody.ok("user", "token", str(file), "ci")
    nobody.ok("user", "token", str(file), "ci2")
    nobody.ok("user", "remove", str(file), "ci")
    assert users(file).keys() == {"ci2"}
    missing = nobody("user", "remove", str(file), "ci")
    assert (missing.code, "There is no user 'ci'" in missing.err) == (7, True)


@pytest.mark.parametrize(
    ("name", "password", "problem"),
    [("ops", "short\n", "at least 8 characters"), ("a:b", "correct horse\n", "'a:b' cannot be a user's name")],
)
def test_what_cannot_be_used_is_refused(nobody: Client, file: Path, name: str, password: str, problem: str) -> None:
    done = nobody("user", "add", str(file), name, "--password-stdin", stdin=password)
    assert (done.code, problem in done.err, file.exists()) == (1, True, False)


def test_without_a_terminal_a_password_comes_from_standard_input(nobody: Client, file: Path) -> None:
    done = nobody("user", "add", str(file), "ops")
    assert (done.code, "--password-stdin" in done.err) == (1, True)


def test_a_spoilt_file_is_not_written_over(nobody: Client, file: Path) -> None:
    file.write_text("nonsense\n")
    done = nobody("user", "token", str(file), "ci")
    assert (done.code, f"{file}, line 1" in done.err) == (1, True)
    assert file.read_text() == "nonsense\n"
