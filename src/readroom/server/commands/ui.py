"""ui: the dashboard for a ledger or an audit on disk, in a browser."""

from __future__ import annotations

import os
import shlex
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from readroom.cli import output
from readroom.cli.answers import NATIVE
from readroom.cli.exits import ExitCode
from readroom.cli.options import open_option, option, place_options, port_option, subcommand
from readroom.core.errors import BadValue, NotFound
from readroom.core.extras import OF_SERVING, serves
from readroom.core.rows import Audit, recorded
from readroom.server.ledger import LedgerPolicy

if TYPE_CHECKING:
    from readroom.core.config import Settings
    from readroom.core.workspace import Workspace


def _ui(
    source: str | None,
    root: str | None,
    config: str | None,
    findings: str | None,
    port: int,
    open_to_all: bool,
) -> ExitCode:
    """Show a ledger or an audit in a browser.

    SOURCE is a ledger (a file or a PostgreSQL address), output of `readroom audit --jsonl`, or a session
    record of an agent's client; by default the ledger of servers of this folder.  Only calls in the folder
    of --root are shown, under its policy.
    """
    from readroom.core import config as configuration
    from readroom.core.workspace import Workspace
    from readroom.server.settings import DEFAULT, Serving

    with serves(OF_SERVING):
        from readroom.server.commands.service import keys_of
        from readroom.server.http.server import Address, Served, admitted, listening, serve_http
    with ExitStack() as opened:
        if root is not None and not os.path.isdir(root):
            raise _gone(root, source)
        store = configuration.open_store(root or ".")
        folder = store.name
        settings = configuration.load(store, config, serving=True)
        settings, beside = _with_ledger(opened, settings, source, folder)
        if findings is not None:
            beside = _imported(opened, findings, folder)[1]
        workspace = opened.enter_context(Workspace(store, settings=settings))
        _notify(workspace, source)
        serving = Serving(auth="open" if open_to_all else "auto")
        address = Address(port=port)
        admission = admitted(
            {DEFAULT: workspace}, address, serving, keys_of(opened, serving.auth, None, private=False)
        )
        bound, url = opened.enter_context(listening(address.host, address.port, address.socket))
        shown = _shown(url, admission.prepare().get(DEFAULT, ""), asks=admission.asks)
        serve_http(
            Served({DEFAULT: workspace}, serving, admission, NATIVE, None, audit=beside, pages_only=True),
            bound,
            on_ready=lambda: output.write(shown.encode()),
        )
    return ExitCode.OK


def _shown(url: str, token: str, *, asks: bool) -> str:
    """Printed when the dashboard can be opened."""
    lines = [f"The dashboard is at {url}/ui until you press Ctrl-C."]
    if token:
        lines += ["", f"  token  {token}", "", "Sign in with this token of the folder."]
    elif asks:
        lines.append("Sign in with a token that opens this folder: `readroom token create NAME` makes one.")
    return "\n".join(lines) + "\n"


def _with_ledger(
    opened: ExitStack, settings: Settings, source: str | None, folder: str
) -> tuple[Settings, Audit | None]:
    """The settings with the selected ledger, and the audit if it is one."""
    from readroom.server.ledger.settings import is_postgres, ledger_at, policy_of

    if source is None:
        return replace(settings, ledger=replace(policy_of(settings), enabled=True)), None
    if is_postgres(source):
        return replace(settings, ledger=ledger_at(source)), None
    if not os.path.exists(source):
        advice = "Check the path, or leave it out for the ledger of this folder."
        raise NotFound(source, advice=advice)
    if _is_ledger(source):
        return replace(settings, ledger=ledger_at(source)), None
    made, imported = _imported(opened, source, folder)
    return replace(settings, ledger=LedgerPolicy(enabled=True, file=made)), imported


def _is_ledger(source: str) -> bool:
    """Whether a file is a ledger in SQLite; clients keep records in such files as well."""
    import sqlite3

    with open(source, "rb") if os.path.isfile(source) else open(os.devnull, "rb") as stream:
        if stream.read(16) != b"SQLite format 3\0":
            return False
    try:
        connection = sqlite3.connect(f"file:{Path(source).absolute().as_posix()}?mode=ro", uri=True)
        try:
            tables = connection.execute("SELECT COUNT(*) FROM sqlite_master WHERE name = 'ledger_schema'")
            return bool(tables.fetchone()[0])
        finally:
            connection.close()
    except sqlite3.Error:
        return False


def _imported(opened: ExitStack, source: str, folder: str) -> tuple[str, Audit]:
    """A ledger that lives as long as the command, with the calls of an audit; and the audit."""
    from readroom.core.config.settings import LEDGER_FILE
    from readroom.server.ledger import open_book
    from readroom.server.ledger.imported import fill

    file = os.path.join(opened.enter_context(tempfile.TemporaryDirectory(prefix="readroom-ui-")), LEDGER_FILE)
    book = open_book(LedgerPolicy(file=file))
    try:
        return file, fill(book, recorded(Path(source), folder), source, folder)
    finally:
        book.close()


def _notify(workspace: Workspace, source: str | None) -> None:
    """Report a ledger without rows of this folder, and name the folders that it has."""
    from readroom.server.ledger import open_book
    from readroom.server.ledger.recorder import recorder_of

    recorder = recorder_of(workspace.gatekeeper.journal)
    assert recorder is not None
    recorder.open()
    book = open_book(recorder.policy, make=False)
    try:
        rows = book.look(lambda execute: execute("SELECT DISTINCT workspace FROM calls LIMIT 20"))
    finally:
        book.close()
    others = sorted(str(row[0]) for row in rows)
    if not others or recorder.workspace in others:
        return
    lines = [f"The ledger has no rows of {recorder.workspace}. It has some of:"]
    lines += [_command("ui", source, "--root", folder) for folder in others if os.path.isdir(folder)]
    gone = [folder for folder in others if not os.path.isdir(folder)]
    if gone:
        lines.append("and of folders that no longer exist; list their rows with:")
        lines += [_command("ledger", *_file(source), "--workspace", folder) for folder in gone]
    output.complain("\n".join(lines))


def _gone(root: str, source: str | None) -> BadValue:
    """A missing folder: there are no files to show and no policy, but there may be rows."""
    listing = _command("ledger", *_file(source), "--workspace", os.path.abspath(root)).strip()
    advice = f"Check the path. If the folder was removed, list its rows in the ledger with `{listing}`."
    return BadValue("--root", root, "is not a folder, or no longer exists", advice)


def _file(source: str | None) -> tuple[str, ...]:
    """The option of the command `ledger` for a ledger; an address is in the configuration."""
    return () if source is None or "://" in source else ("--file", source)


def _command(*words: str | None) -> str:
    """A line to paste."""
    return "  readroom " + shlex.join(word for word in words if word is not None)


ui = subcommand(
    "ui", _ui, click.Argument(["source"], required=False, metavar="[SOURCE]", help="A ledger or an audit."),
    *place_options(),
    option("--findings", "An audit or a record whose findings are shown as well.", metavar="FILE"),
    port_option(0), open_option("look"),
)  # fmt: skip
