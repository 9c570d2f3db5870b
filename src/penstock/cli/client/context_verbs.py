"""``penstock context``: the workers a user has."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..parsing import Commands
from . import completion
from .contexts import Context, Contexts, check_url
from .formats import Format, print_data
from .options import Output
from .problems import Wrong, told
from .screen import answers, is_interactive

app = Commands(
    help="The workers you have, by name, with credentials and TLS.", no_args_is_help=True
)

_Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of a context.", autocompletion=completion.contexts)
]
_File = Path | None


@app.command("add")
@told
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What you call it.")],
    url: Annotated[str, typer.Option("--url", "-u", help="The API of a worker: https://host:8083.")],
    username: Annotated[str | None, typer.Option("--username", help="For basic authentication.")] = None,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input.")
    ] = False,
    password_env: Annotated[
        str | None, typer.Option("--password-env", help="The environment variable that has the password.")
    ] = None,
    token_stdin: Annotated[bool, typer.Option("--token-stdin", help="Read a token from standard input.")] = False,
    token_env: Annotated[
        str | None, typer.Option("--token-env", help="The environment variable that has a token.")
    ] = None,
    ca_file: Annotated[_File, typer.Option("--ca-file", help="Certificates to trust (PEM).")] = None,
    cert_file: Annotated[_File, typer.Option("--cert-file", help="Your certificate (PEM).")] = None,
    key_file: Annotated[_File, typer.Option("--key-file", help="The key of your certificate (PEM).")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Do not check who answers. For tests.")] = False,
    use: Annotated[bool, typer.Option("--use/--no-use", help="Use it from now on.")] = False,
) -> None:
    """Keep a worker under a name, or change what is kept.

    The first one, and one added with [bold]--use[/], is used by all other commands. Credentials are kept in a file
    that only you can read; with [bold]--password-env[/] and [bold]--token-env[/] they stay in the environment.

    [bold]Examples[/]

      penstock context add local --url http://localhost:8083

      penstock context add prod --url https://connect:8443 --username ops --ca-file ca.pem
    """
    check_url(url)
    password = _secret(password_stdin, "Password", username is not None and password_env is None)
    context = Context(
        url=url,
        username=username,
        password=password,
        password_env=password_env,
        token=_secret(token_stdin, "Token", False),
        token_env=token_env,
        ca_file=_absolute(ca_file),
        cert_file=_absolute(cert_file),
        key_file=_absolute(key_file),
        insecure=insecure,
    )
    contexts = Contexts.load()
    contexts.known[name] = context
    if use or contexts.current is None:
        contexts.current = name
    contexts.save()
    in_use = contexts.current == name
    answers().done(f"{name} is {url}" + (", used from now on" if in_use else f" (penstock context use {name} uses it)"))


@app.command("use")
@told
def use_context(name: _Name) -> None:
    """Use a context from now on.

    [bold]Examples[/]

      penstock context use prod
    """
    contexts = Contexts.load()
    contexts.get(name)
    contexts.current = name
    contexts.save()
    answers().done(f"{name} is used from now on")


@app.command("list")
@told
def list_contexts(output: Output = Format.TEXT) -> None:
    """List your contexts; the one in use has a star. Secrets are not shown.

    [bold]Examples[/]

      penstock context list
    """
    contexts = Contexts.load()
    found = {name: context.facts() for name, context in sorted(contexts.known.items())}
    if output.is_data:
        print_data({"current": contexts.current, "contexts": found}, output)
    elif not found:
        answers().line("No contexts. penstock context add NAME --url URL keeps one.")
    else:
        rows = [
            ["*" if name == contexts.current else "", name, str(facts.pop("url")), _more(facts)]
            for name, facts in found.items()
        ]
        answers().table(["", "NAME", "URL", "MORE"], rows)


@app.command("remove")
@told
def remove(name: _Name) -> None:
    """Forget a context.

    [bold]Examples[/]

      penstock context remove old
    """
    contexts = Contexts.load()
    contexts.get(name)
    del contexts.known[name]
    if contexts.current == name:
        contexts.current = None
    contexts.save()
    answers().done(f"{name} is forgotten")


def _more(facts: dict[str, object]) -> str:
    return ", ".join(name if value is True else f"{name}={value}" for name, value in facts.items())


def _secret(from_stdin: bool, what: str, ask: bool) -> str | None:
    if from_stdin:
        return sys.stdin.readline().rstrip("\n")
    if not ask:
        return None
    if not is_interactive():
        raise Wrong(f"{what}: there is nobody to ask.", "Use --password-stdin or --password-env VARIABLE.")
    return str(typer.prompt(what, hide_input=True))


def _absolute(path: Path | None) -> str | None:
    if path is None:
        return None
    if not path.is_file():
        raise Wrong(f"There is no file {path}.")
    return str(path.resolve())
