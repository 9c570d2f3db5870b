"""The file of users: what it says, what is wrong with it, and that it is read again."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
from pathlib import Path

import pytest

from penstock.api.errors import ConfigError
from penstock.rest.authentication import Authenticator, UsersFile
from penstock.rest.users import PasswordHash, Role, TokenHash, User, new_token, parse_users
from tests.support.waiting import wait_until

OPS = User("ops", Role.ADMIN, PasswordHash.of("correct horse"))


def basic(name: str, password: str) -> bytes:
    return b"Basic " + base64.b64encode(f"{name}:{password}".encode())


def written(folder: Path, *users: User) -> Path:
    file = folder / "users.txt"
    draft = folder / "draft.txt"
    draft.write_text("# who may come in\n\n" + "".join(f"{user}\n" for user in users))
    os.replace(draft, file)
    return file


def user_of(authenticator: Authenticator, header: bytes) -> User | None:
    return asyncio.run(authenticator.user(header))


def test_what_is_written_is_read() -> None:
    ci = User("ci", Role.READ_ONLY, TokenHash.of("a token"))
    assert parse_users(f"{OPS}\n{ci}\n", "users.txt") == {"ops": OPS, "ci": ci}


def test_the_same_password_has_another_hash_each_time() -> None:
    assert PasswordHash.of("correct horse") != OPS.secret


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("ops", "this is not a user"),
        (":admin:scrypt$1", "this is not a user"),
        ("ops:root:scrypt$1", "the role of ops is neither admin nor read-only"),
        ("ops:admin:correct horse", "the hash of ops cannot be used"),
        ("ops:admin:scrypt$3$8$1$AAAAAAAAAAAAAAAAAAAAAA==$AAAAAAAAAAAAAAAAAAAAAA==", "the hash of ops cannot be used"),
        ("ops:admin:sha256$abcd", "the hash of ops cannot be used"),
    ],
)
def test_a_bad_line_is_named_and_no_secret_is_shown(line: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=rf"users\.txt, line 2: {problem}") as raised:
        parse_users(f"# users\n{line}\n", "users.txt")
    assert "horse" not in str(raised.value)


def test_a_name_stands_for_one_user() -> None:
    with pytest.raises(ConfigError, match="line 2: there is a user ops already"):
        parse_users(f"{OPS}\n{OPS}\n", "users.txt")


def test_a_file_that_is_not_there_or_empty_is_an_error_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        UsersFile(tmp_path / "nothing.txt")
    with pytest.raises(ConfigError, match="has no users"):
        UsersFile(written(tmp_path))


def test_a_password_is_right_or_wrong(tmp_path: Path) -> None:
    authenticator = Authenticator(UsersFile(written(tmp_path, OPS)))
    for _ in range(2):
        assert user_of(authenticator, basic("ops", "correct horse")) == OPS
        assert user_of(authenticator, basic("ops", "wrong horse")) is None
        assert user_of(authenticator, basic("nobody", "correct horse")) is None


@pytest.mark.parametrize("header", [b"", b"Basic", b"Basic ???", b"Basic b3Bz", b"Bearer", b"Digest x", b"\xff\xfe"])
def test_headers_that_are_none_let_nobody_in(tmp_path: Path, header: bytes) -> None:
    assert user_of(Authenticator(UsersFile(written(tmp_path, OPS))), header) is None


def test_a_token_is_right_or_wrong_and_is_no_password(tmp_path: Path) -> None:
    token = new_token()
    ci = User("ci", Role.READ_ONLY, TokenHash.of(token))
    authenticator = Authenticator(UsersFile(written(tmp_path, OPS, ci)))
    assert user_of(authenticator, f"bearer {token}".encode()) == ci
    assert user_of(authenticator, f"Bearer {token}x".encode()) is None
    assert user_of(authenticator, basic("ci", token)) is None
    assert user_of(authenticator, b"Bearer correct horse") is None


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    authenticator = Authenticator(UsersFile(written(tmp_path, OPS)))
    assert user_of(authenticator, basic("ops", "correct horse")) == OPS
    written(tmp_path, User("ops", Role.ADMIN, PasswordHash.of("battery staple")))
    wait_until(lambda: user_of(authenticator, basic("ops", "correct horse")) is None, "the old password is wrong")
    assert user_of(authenticator, basic("ops", "battery staple")) is not None
    written(tmp_path)
    wait_until(lambda: user_of(authenticator, basic("ops", "battery staple")) is None, "nobody is let in any more")


def test_a_file_that_turns_bad_is_logged_and_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    authenticator = Authenticator(UsersFile(written(tmp_path, OPS)))
    with caplog.at_level(logging.ERROR):
        (tmp_path / "users.txt").write_text("spoilt\n")

        def told() -> bool:
            assert user_of(authenticator, basic("ops", "correct horse")) == OPS
            return "line 1: this is not a user" in caplog.text

        wait_until(told, "the log names the line")
