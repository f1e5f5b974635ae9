"""connect: configure an MCP client for a folder, and try what that would do.

It shows the entry for the client's settings, writes it with --write and removes it with --undo. Settings
belong to their client: every other line stays, the previous state is kept next to the file, and a file that
cannot be parsed is not touched.

Knows: where clients keep their settings, and in which format. Does not know: what a client does with a reply;
caps of clients are measured, and are kept with the MCP server. May be touched: a client is a row of
`clients`; files and formats with their tests.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.structs import replace

from readroom.cli import output
from readroom.cli.commands import FOLDER_TOKENS, found
from readroom.cli.connect import clients
from readroom.cli.connect.files import BACKUP, SettingsFile
from readroom.cli.connect.formats import Unusable
from readroom.cli.connect.handshake import Greeting, NoAnswer, reach, start
from readroom.cli.exits import ExitCode
from readroom.cli.near import did_you_mean
from readroom.cli.options import flag, option, roots_argument, subcommand
from readroom.cli.remote import OPTION, transport
from readroom.cli.remote.address import Address, is_address, parsed
from readroom.cli.roots import roots_of
from readroom.core.errors import BadValue, NotAFolder, NotFound, UsageError
from readroom.core.quoting import quote
from readroom.core.stores.bucket.address import absolute, is_bucket
from readroom.core.stores.bucket.address import parsed as bucket_of
from readroom.core.stores.promises import OPENING
from readroom.mcp.client_configs import program

if TYPE_CHECKING:
    from readroom.cli.remote.look import Seen

_CHECK_S = 60
"""A client's own check starts the client, and perhaps all of its other servers."""


class _Task(Struct, frozen=True):
    """The client, the folder and the settings to configure."""

    name: str
    client: clients.KnownClient
    folder: str
    url: str | None
    file: SettingsFile | None
    server: str = clients.SERVER
    others: tuple[str, ...] = ()
    address: Address | None = None
    direct: bool = False

    @property
    def path(self) -> list[str]:
        """Of the entry in the settings."""
        return [*self.client.key, self.server]

    @property
    def command(self) -> list[str]:
        """The command that the client starts."""
        if self.address is None:
            return [*program(), "mcp", self.folder, *self.others]
        if self.direct:
            name, *words = transport.direct(self.address)
            return [shutil.which(name) or name, *words]
        return [*program(), "mcp", OPTION, str(self.address)]

    @property
    def entry(self) -> Any:
        """The value of the entry in the settings."""
        if self.url is None:
            return self.client.started(self.command)
        if self.client.reached is None:
            problem = f"cannot be used with {self.client.title}, which only has servers that it starts"
            raise BadValue("url", self.url, problem, "Leave it out.")
        return self.client.reached(self.url)

    def again(self, *options: str) -> str:
        """The command that does the same with other options."""
        place = ["--user"] if self.file and self.client.project and self.file.base != self.folder else []
        options_again = [] if self.url is None else ["--url", self.url]
        options_again += [] if self.server == clients.SERVER else ["--name", self.server]
        options_again += ["--direct"] if self.direct else []
        named = [self.folder, *self.others] if self.address is None else [str(self.address)]
        return _line([*_typed(), "connect", self.name, *named, *place, *options_again, *options])


def _connect(
    client: str | None,
    folder: str,
    write: bool,
    undo: bool,
    user: bool,
    url: str | None,
    name: str,
    check: bool,
    direct: bool,
) -> ExitCode:
    """Configure an MCP client for a folder: show the entry for its settings, write it, or remove it.

    CLIENT is one of the clients below.  Nothing is changed without --write or --undo.  A folder on another
    machine is ssh://[user@]host[:port]/folder, docker://container/folder or podman://container/folder; the
    settings are then those of this project, the current folder, or with --user yours.
    """
    address = parsed(folder) if is_address(folder) else None
    first, *others = roots_of(folder) if address is None else (os.getcwd(),)
    _agree(address, url, direct=direct)
    if others and url is not None:
        raise UsageError("A server that runs has its own folders", "Name no others with --url.")
    if client is None or client not in clients.CLIENTS:
        return _unknown(client, _Task("CLIENT", clients.GENERIC, absolute(first), url, None, address=address))
    if write and undo:
        raise UsageError("--write and --undo exclude each other", "Leave one of them out.")
    if not _NAME.fullmatch(name):
        raise BadValue("name", name, "is not a name that every client accepts", _NAME_ADVICE)
    task = replace(
        _task(client, _folder(first), user, url),
        server=name,
        others=_others(first, others) if others else (),
        address=address,
        direct=direct,
    )
    if undo:
        return _undone(task)
    if address is not None:
        return _connected(task, address, write=write, check=check)
    if write:
        output.show(_written(task))
        _own_check(task, wanted=check)
    else:
        output.show(_shown(task))
    return _greeted(task, written=write)


def _agree(address: Address | None, url: str | None, *, direct: bool) -> None:
    """Raises UsageError for options that exclude each other."""
    if address is not None and url is not None:
        raise UsageError("An address and --url were both given", "Leave one of them out.")
    if direct and address is None:
        raise UsageError("--direct is for an address of another machine", "Leave it out.")


def _connected(task: _Task, address: Address, *, write: bool, check: bool) -> ExitCode:
    """The same for another machine, which is tried first. Raises NotReached, NotFound, StoreFailed."""
    from readroom.cli.remote.look import look

    seen = look(address)
    output.show("\n".join(_seen(task, address, seen)))
    greeting = _greeting_or_none(task)
    if greeting is None:
        return ExitCode.FAILED
    output.show(_written(task) if write else _shown(task))
    if write:
        _own_check(task, wanted=check)
    return _reported(task, greeting, written=write)


def _seen(task: _Task, address: Address, seen: Seen) -> Iterator[str]:
    far = seen.far
    there = f"readroom {far.version}, Python {far.python}, {far.system} {far.processor}"
    yield f"{address} answers in {seen.seconds:.1f} s: {there}."
    yield f"In that folder, {OPENING[seen.opening]}."
    if seen.other_version:
        yield seen.other_version
    yield f"The client starts: {_line(task.command)}\n"


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
_NAME_ADVICE = "Use at most 32 letters, digits, - and _, and begin with a letter."


def _line(words: list[str]) -> str:
    """A command for a shell, ready to paste."""
    from readroom.mcp.client_configs import shell_word

    return " ".join(map(shell_word, words))


def _task(name: str, folder: str, user: bool, url: str | None) -> _Task:
    client = clients.CLIENTS[name]
    if client.project is not None and not (user and client.user is not None):
        return _Task(name, client, folder, url, SettingsFile(folder, client.project))
    assert client.user is not None, "a client has one of the two"
    return _Task(name, client, folder, url, SettingsFile(*client.user(_folders())))


def _folders() -> clients.Folders:
    from readroom.core import config

    home = os.path.expanduser("~")
    variables = config.variables("XDG_CONFIG_HOME", "CODEX_HOME")
    settings = variables.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    desktop = os.path.join(home, "Library", "Application Support") if sys.platform == "darwin" else settings
    return clients.Folders(
        home, settings, desktop, variables.get("CODEX_HOME") or os.path.join(home, ".codex")
    )


_FOLDER = "Give the path of a folder."


def _folder(path: str) -> str:
    if is_bucket(path):
        return str(bucket_of(path))
    folder = os.path.realpath(path)
    if not os.path.exists(folder):
        raise NotFound(path, advice=_FOLDER)
    if not os.path.isdir(folder):
        raise NotAFolder(path, "file", readable=False, advice=_FOLDER)
    return folder


def _others(first: str, others: Sequence[str]) -> tuple[str, ...]:
    """The further folders as they are served: with their names and absolute paths. Raises BadValue, ..."""
    from readroom.core import config

    store, options = config.open_roots(first, others)
    store.close()
    return tuple(
        f"{option.name}={absolute(str(option.path))}{':ro' if option.read_only else ''}"
        for option in options[1:]
    )


def _typed() -> list[str]:
    """How a person types it: by its name where that is on the PATH."""
    return ["readroom"] if shutil.which("readroom") else program()


# --- messages -----------------------------------------------------------------------------------


def _unknown(name: str | None, task: _Task) -> ExitCode:
    """The supported clients, and how to configure any other."""
    width = max(map(len, clients.CLIENTS))
    known = "\n".join(f"  {word:{width}}  {client.title}" for word, client in clients.CLIENTS.items())
    form = _entry_text(task)
    text = f"The clients are:\n\n{known}\n\nAny other client that reads `mcpServers` accepts:\n\n{form}"
    if name is None:
        output.show(text)
        return ExitCode.OK
    problem = f"{quote(name)} is not a client that connect knows. {did_you_mean(name, clients.CLIENTS)}"
    output.complain(f"readroom: {problem.rstrip()}\n\n{text}")
    return ExitCode.USAGE


def _entry_text(task: _Task) -> str:
    return task.client.form.with_entry("", task.path, task.entry).rstrip("\n")


def _shown(task: _Task) -> str:
    assert task.file is not None
    entry = _entry_text(task)
    text = _read(task)
    if text is None:
        state = "which does not exist yet"
    else:
        there = _at(task.client.form.loads(text), task.path)
        state = f"which has {'no' if there is None else 'another'} {task.server}"
        state = "which has this entry already" if there == dict(task.entry) else state
        _changed(task, text)  # reports now what would prevent writing it
    lines = [f"{task.client.title} reads {task.file.path}, {state}. It needs:", "", entry]
    if task.url is not None:
        lines += ["", f"with the token of the folder in its environment: {_export(task)}"]
    return "\n".join(lines)


def _export(task: _Task) -> str:
    return f'export {clients.TOKEN}="$({_line([*program(), "token", "show", task.folder])})"'


def _greeted(task: _Task, *, written: bool) -> ExitCode:
    """Do what the client will do, and report the result."""
    greeting = _greeting_or_none(task)
    return ExitCode.FAILED if greeting is None else _reported(task, greeting, written=written)


def _greeting_or_none(task: _Task) -> Greeting | None:
    """The answer of the server; None after a complaint that there is none."""
    try:
        return _greeting(task)
    except NoAnswer as error:
        hint = " `readroom doctor` checks this machine."
        output.complain(f"\nreadroom: as {task.client.wire}: {error}.{hint}")
        return None


def _reported(task: _Task, greeting: Greeting, *, written: bool) -> ExitCode:
    from readroom.mcp.server import known

    tools = f"{len(greeting.tools)} tools ({', '.join(greeting.tools)})"
    started = f"{greeting.server} {'starts' if task.url is None else 'answers'} in {greeting.seconds:.1f} s"
    limited = known(task.client.wire)
    most = clients.longest_reply(None if limited is None else limited.chars)
    output.show(f"\nTested as {task.client.wire}: {started} with {tools}; {most}.")
    if written:
        undo = f"To remove it: {task.again('--undo')}"
        output.show(f"{task.client.after}\n{undo}" if task.client.after else undo)
    else:
        output.show(f"To write it: {task.again('--write')}")
    return ExitCode.OK


def _greeting(task: _Task) -> Greeting:
    if task.url is None:
        return start(task.command, task.client.wire, "." if is_bucket(task.folder) else task.folder)
    from readroom.core import config

    token = config.variables(clients.TOKEN).get(clients.TOKEN)
    if token is None and config.has_state():
        own = found(FOLDER_TOKENS)().of(task.folder)
        token = None if own is None else own.token
    return reach(task.url, token or "", task.client.wire)


def _own_check(task: _Task, *, wanted: bool) -> None:
    """The client's own report on its servers, if it is installed and has one.

    In a project it may start whatever else the folder configures, servers and plugins, so there only
    who trusts the folder asks for it.
    """
    check = [task.server if word == clients.SERVER else word for word in task.client.check]
    executable = shutil.which(check[0]) if check else None
    if executable is None:
        return
    line = " ".join(check)
    of_project = task.file is not None and task.file.base == task.folder
    if of_project and not wanted:
        output.show(f"\n`{line}` in that folder, or --check, shows whether {task.client.title} accepts it.")
        return
    try:
        done = subprocess.run(
            [executable, *check[1:]], cwd=task.folder if of_project else os.path.expanduser("~"),
            stdin=subprocess.DEVNULL, capture_output=True, timeout=_CHECK_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        output.show(f"\n`{line}` did not answer; try it yourself.")
        return
    text = _COLOURS.sub("", (done.stdout + done.stderr).decode("utf-8", "replace")).strip()
    output.show("\n".join([f"\n$ {line}", *(f"  {row}" for row in text.split("\n")[:_CHECK_LINES])]))


_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_CHECK_LINES = 20
"""Maximum output shown of a client; some list every server they have."""


# --- settings -----------------------------------------------------------------------------------


def _read(task: _Task) -> str | None:
    assert task.file is not None
    text = task.file.read()
    if text is not None:
        _usable(task, lambda: task.client.form.loads(text))
    return text


def _usable(task: _Task, work: Callable[[], Any]) -> Any:
    """The result of `work` on the settings. Raises BadConfig."""
    assert task.file is not None
    try:
        return work()
    except Unusable as error:
        raise task.file.bad(str(error)) from None


def _changed(task: _Task, text: str) -> str:
    """The settings with the entry. Raises BadConfig where that would change anything else."""
    form = task.client.form
    return _same(task, text, _usable(task, lambda: form.with_entry(text, task.path, task.entry)))


def _without(task: _Task, text: str) -> str:
    form = task.client.form
    return _same(task, text, _usable(task, lambda: form.without_entry(text, task.path)))


def _same(task: _Task, before: str, after: str) -> str:
    """The settings if all others in them are unchanged when the client parses them. Raises BadConfig."""
    loads = task.client.form.loads
    if _rest(loads(before), task.path) != _rest(loads(after), task.path):
        assert task.file is not None
        raise task.file.bad("it is written in a way that cannot be changed without touching other settings")
    return after


def _at(value: Any, path: list[str]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _rest(value: Any, path: list[str]) -> Any:
    """The settings without the entry, and without objects on the way to it that hold nothing else."""
    if not isinstance(value, dict):
        return value
    key, *below = path
    rest = {name: member for name, member in value.items() if name != key}
    if below and key in value:
        left = _rest(value[key], below)
        if left not in ({}, None):
            rest[key] = left
    return rest


def _written(task: _Task) -> str:
    assert task.file is not None
    before = _read(task)
    after = _changed(task, before or "")
    if before == after:
        return f"{task.file.path} already has it; nothing was changed."
    # The backup stays the state before the first change, as long as our entry is still there.
    ours = before is not None and _at(task.client.form.loads(before), task.path) is not None
    keep = None if before is None or (ours and task.file.read(BACKUP) is not None) else before
    task.file.replace(after, keep=keep)
    changed = f"Changed {task.file.path} (the old version is kept in {task.file.backup})"
    done = f"Created {task.file.path}" if before is None else changed
    return f"{done}:\n\n{_entry_text(task)}"


def _undone(task: _Task) -> ExitCode:
    assert task.file is not None
    file, form = task.file, task.client.form
    text = _read(task)
    left = None if text is None else _without(task, text)
    if text is None or left is None or left == text:
        output.show(f"{file.path} has no {task.server}; nothing was changed.")
        return ExitCode.OK
    backup = file.read(BACKUP)
    if backup is not None and _rest(form.loads(backup), task.path) == _rest(form.loads(text), task.path):
        file.replace(backup, keep=None)
        file.remove(backup_only=True)
        output.show(f"Restored {file.path}.")
    elif backup is None and not _rest(form.loads(left), task.path):
        file.remove()
        output.show(f"Removed {file.path}, which had nothing else in it.")
    else:
        file.replace(left, keep=None)
        output.show(f"Removed {task.server} from {file.path}; later changes there were kept.")
    return ExitCode.OK


connect = subcommand(
    "connect",
    _connect,
    click.Argument(["client"], required=False),
    roots_argument("[DIR | ADDRESS] [NAME=DIR[:ro]]...", "The folder; others with their names.", default="."),
    flag("--write", "Write it into the client's settings."),
    flag(
        "--check",
        "After --write, run the client's own check, even in a project whose other settings it would load.",
    ),
    flag("--undo", "Remove it from the client's settings."),
    flag("--user", "Use your own settings if the client also has settings of a project."),
    option(
        "--name",
        "Name of the server in the client; in your own settings, use another for each folder.",
        default=clients.SERVER,
        metavar="NAME",
    ),
    flag("--direct", "Let the client start ssh, docker or podman itself, without readroom on this machine."),
    option(
        "--url", "Use a server that is already running, instead of one that the client starts.", metavar="URL"
    ),
    words=f"{cleandoc(_connect.__doc__ or '')}\n\n\b\nClients:\n"
    + "\n".join(f"  {word:15} {client.title}" for word, client in clients.CLIENTS.items()),
)
