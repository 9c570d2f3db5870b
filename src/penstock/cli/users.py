"""``penstock user``: who may use the REST API and the web page of a worker, kept in a file with hashes."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from penstock.api.errors import ConfigError
from penstock.rest.users import NAME, PasswordHash, Role, TokenHash, User, new_token, parse_users

from .client.formats import Format, print_data
from .client.options import Output
from .client.problems import Missing, Wrong, told
from .client.screen import answers, errors, is_interactive
from .parsing import Commands

SHORTEST_PASSWORD = 8

app = Commands(
    help="Who may use a worker's API and web page: the file of rest.auth.users.file.",
    no_args_is_help=True,
)

_File = Annotated[Path, typer.Argument(metavar="FILE", help="The file of users, as in rest.auth.users.file.")]
_Name = Annotated[str, typer.Argument(metavar="NAME", help="The user's name.")]
_Role = Annotated[
    Role | None,
    typer.Option("--role", help="admin may do everything; read-only (the default for a new one) may look."),
]


@app.command("add")
@told
def add(
    file: _File,
    name: _Name,
    role: _Role = None,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input.")
    ] = False,
) -> None:
    """Let somebody in with a password, or change the password or the role of one who is there.

    The file is made if there is none. Workers that use it see the change within a second.

    [bold]Examples[/]

      penstock user add users.txt ops --role admin

      penstock user add users.txt ops --password-stdin < password.txt
    """
    users = _users(file)
    _check_name(name)
    password = _password(password_stdin)
    _keep(file, users, User(name, _role(role, users.get(name)), PasswordHash.of(password)))


@app.command("token")
@told
def token(file: _File, name: _Name, role: _Role = None) -> None:
    """Let a program in with a token, which is shown this once; one that is there gets a new token.

    The token goes to standard output, all else to standard error.

    [bold]Examples[/]

      penstock user token users.txt ci --role admin

      penstock user token users.txt prometheus
    """
    users = _users(file)
    _check_name(name)
    made = new_token()
    _keep(file, users, User(name, _role(role, users.get(name)), TokenHash.of(made)))
    answers().line(made)


@app.command("list")
@told
def list_users(file: _File, output: Output = Format.TEXT) -> None:
    """List the users of a file.

    [bold]Examples[/]

      penstock user list users.txt
    """
    users = _users(file)
    found = [{"name": user.name, "role": user.role.value, "with": _kind(user)} for user in users.values()]
    if output.is_data:
        print_data(found, output)
    else:
        answers().table(["NAME", "ROLE", "WITH"], [list(one.values()) for one in found])


@app.command("remove")
@told
def remove(file: _File, name: _Name) -> None:
    """Let somebody in no more.

    [bold]Examples[/]

      penstock user remove users.txt ops
    """
    users = _users(file)
    if name not in users:
        raise Missing(f"There is no user '{name}' in {file}.", f"penstock user list {file} shows those there are.")
    _write(file, [line for line in _lines(file) if not line.strip().startswith(f"{name}:")])
    errors().done(f"{name} may not come in any more")


def _users(file: Path) -> Mapping[str, User]:
    try:
        return parse_users("\n".join(_lines(file)), str(file))
    except ConfigError as error:
        raise Wrong(str(error), "Mend the file, or begin a new one.") from error


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise Wrong(f"Cannot read {file}: {error}") from error


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise Wrong(f"'{name}' cannot be a user's name.", "Letters, digits and . _ @ + - are, up to 64 of them.")


def _role(wanted: Role | None, before: User | None) -> Role:
    return wanted or (before.role if before else Role.READ_ONLY)


def _kind(user: User) -> str:
    return "token" if isinstance(user.secret, TokenHash) else "password"


def _password(from_stdin: bool) -> str:
    if from_stdin:
        password = sys.stdin.readline().rstrip("\r\n")
    elif is_interactive():
        password = str(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    else:
        raise Wrong("Password: there is nobody to ask.", "Use --password-stdin.")
    if len(password) < SHORTEST_PASSWORD:
        raise Wrong(f"A password has at least {SHORTEST_PASSWORD} characters.")
    return password


def _keep(file: Path, users: Mapping[str, User], user: User) -> None:
    """Write a user to the place of the one with the same name, or to the end. Comments stay."""
    lines = _lines(file)
    if user.name in users:
        lines = [str(user) if line.strip().startswith(f"{user.name}:") else line for line in lines]
    else:
        lines.append(str(user))
    _write(file, lines)
    errors().done(f"{user.name} may come in with a {_kind(user)}, as {user.role.value}")


def _write(file: Path, lines: list[str]) -> None:
    """Replace the file at once. A new one is private to its owner; one that is there keeps its mode and its owner."""
    target = file.resolve()
    try:
        before = target.stat() if target.exists() else None
        handle, draft = tempfile.mkstemp(dir=target.parent, prefix=".users-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as written:
                written.write("".join(f"{line}\n" for line in lines))
                if before is not None:
                    os.fchmod(written.fileno(), before.st_mode & 0o777)
                    os.fchown(written.fileno(), before.st_uid, before.st_gid)
            os.replace(draft, target)
        except BaseException:
            os.unlink(draft)
            raise
    except OSError as error:
        raise Wrong(f"Cannot write {file}: {error}") from error
