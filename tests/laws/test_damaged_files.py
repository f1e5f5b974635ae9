"""Files of ours that are damaged: each command says what is wrong with which file, and never a foreign class.

"failed inside (IndexError)" is for defects; a half restored backup, a full disk or a link is none.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from tests.each import each
from tests.server.http.serving import END_S
from tests.suites import parts

COMMANDS: Mapping[str, Sequence[Sequence[str]]] = {
    "ledger.sqlite3": (
        ("ledger", "--file", "{file}"),
        ("ledger", "verify", "--file", "{file}"),
        ("ledger", "totals", "--file", "{file}"),
        ("ledger", "prune", "--file", "{file}", "--older-than", "0"),
        ("read", "a.txt", "--root", "{root}", "--config", "{config}"),
    ),
    "readroom/state.sqlite3": (("budget", "list"), ("budget", "reset", "--all")),
    "readroom/tokens.db": (
        ("token", "list"),
        ("token", "create", "other"),
        ("token", "revoke", "0123456789ab"),
    ),
    "readroom/folder-tokens": (("token", "show", "{root}"), ("token", "renew", "{root}"), ("token", "list")),
    "readroom/folder-tokens/*": (
        ("token", "show", "{root}"),
        ("token", "renew", "{root}"),
        ("token", "list"),
    ),
    "readroom": (
        *(("token", "list"), ("token", "show", "{root}"), ("budget", "list"), ("doctor", "{root}")),
        *(("read", "big.txt", "--offset", "-3", "--root", "{root}"), ("token", "create", "other")),
    ),
}
"""By file: the commands that open it."""

INSIDE = ("failed inside", "Traceback", "Internal")


def run(state: Path, root: Path, file: Path, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    told = {"root": root, "file": file, "config": state / "operator.toml"}
    return subprocess.run(
        [sys.executable, "-m", "readroom", *(one.format(**told) for one in command)],
        env={**os.environ, "XDG_STATE_HOME": str(state), "XDG_CACHE_HOME": str(state / "cache")},
        capture_output=True,
        text=True,
        timeout=END_S,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A state folder with a row in each file, and the folder that it is about."""
    state, root = tmp_path_factory.mktemp("state"), tmp_path_factory.mktemp("root")
    (root / "a.txt").write_text("hello\n", encoding="utf-8")
    (root / "big.txt").write_text("a line of text\n" * 400_000, encoding="utf-8")
    ledger = state / "ledger.sqlite3"
    (state / "operator.toml").write_text(f'[ledger]\nenabled = true\nfile = "{ledger}"\n', encoding="utf-8")
    for command in (
        ("read", "a.txt", "--root", "{root}", "--config", "{config}"),
        *(("token", "create", "bot"), ("token", "renew", "{root}"), ("budget", "list")),
    ):
        done = run(state, root, ledger, command)
        assert done.returncode == 0, done.stderr
    return state, root


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def garbled(path: Path) -> None:
    path.write_bytes(b"\xff\x00this is no database {" * 300)


def cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])


def overwritten(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3 : len(data) // 2] = b"\xa5" * (len(data) // 2 - len(data) // 3)
    path.write_bytes(bytes(data))


def another_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def linked_to_a_file(path: Path) -> None:
    away = path.with_name(f"{path.name}.away")
    path.rename(away)
    path.symlink_to(away)


def dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("nowhere"))


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def edited(*statements: str) -> Callable[[Path], None]:
    """The same database, in which somebody has executed these."""

    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            for statement in statements:
                try:
                    connection.execute(statement)
                except sqlite3.OperationalError as error:
                    if "no such table" not in str(error):
                        raise
            connection.commit()

    change.__name__ = statements[0]
    return change


def without_tables(path: Path) -> None:
    """A database, and another program's."""
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE songs (name TEXT)")
        connection.commit()


FILES: Sequence[Callable[[Path], None]] = (
    *(emptied, garbled, cut, overwritten, another_folder, linked_to_a_file, dangling, piped, without_tables),
)
LEDGER = (
    edited("DELETE FROM head"),
    edited("DELETE FROM summed"),
    edited("DELETE FROM ledger_schema"),
    edited("UPDATE ledger_schema SET version = 99"),
    edited("UPDATE ledger_schema SET version = 'x'"),
    edited("UPDATE ledger_schema SET version = -1"),
    edited("DROP TABLE calls"),
    edited("DROP TABLE head"),
    edited("DROP TABLE sums_by_hour"),
    edited("ALTER TABLE calls DROP COLUMN level"),
    edited("UPDATE calls SET time_us = 'soon'"),
    edited("UPDATE calls SET shown = '{'"),
    edited("UPDATE calls SET shown = '[1]'"),
    edited("UPDATE calls SET arguments = '[', tokens = 'many', duration_us = x'00ff'"),
    edited("UPDATE calls SET agent = CAST(x'ff00fe' AS TEXT)"),
    edited("UPDATE head SET number = 'x'"),
    edited("UPDATE head SET number = -5"),
    edited("UPDATE summed SET number = 'x'"),
    edited("UPDATE head SET hash = x'00'"),
    edited("INSERT INTO checkpoints VALUES (5, x'00', 'z', 'w')"),
)
STATE = (
    edited("DELETE FROM state_schema"),
    edited("UPDATE state_schema SET version = 'x'"),
    edited("DROP TABLE state_paid"),
    edited("INSERT INTO state_paid VALUES ('without parts', 1, 1)"),
    edited("INSERT INTO state_paid VALUES ('a\nb\nc\nd', 'many', 1)"),
    edited("INSERT INTO state_held VALUES ('a', 'b', 'no process', 1, 1)"),
)
TOKENS = (
    edited("DROP TABLE tokens"),
    edited("PRAGMA user_version = 99"),
    edited("UPDATE tokens SET tools = '{', workspaces = '7'"),
    edited("UPDATE tokens SET hash = x'00', name = CAST(x'ff' AS TEXT)"),
)
BY_FILE: Mapping[str, Sequence[Callable[[Path], None]]] = {
    "ledger.sqlite3": (*FILES, *LEDGER),
    "readroom/state.sqlite3": (*FILES, *STATE),
    "readroom/tokens.db": (*FILES, *TOKENS),
    "readroom/folder-tokens": (),
    "readroom/folder-tokens/*": FILES[:-1],
    "readroom": (),
}


def a_file_instead(path: Path) -> None:
    shutil.rmtree(path)
    path.write_bytes(b"not a folder")


def a_link_to_a_file(path: Path) -> None:
    shutil.rmtree(path)
    away = path.with_name("away.txt")
    away.write_bytes(b"not a folder")
    path.symlink_to(away)


def a_link_to_nowhere(path: Path) -> None:
    shutil.rmtree(path)
    path.symlink_to(path.with_name("nowhere"))


def a_link_to_itself(path: Path) -> None:
    shutil.rmtree(path)
    path.symlink_to(path)


FOLDERS = (a_file_instead, a_link_to_a_file, a_link_to_nowhere, a_link_to_itself)

CASES = [
    pytest.param(name, damage, id=f"{name}-{damage.__name__}")
    for name, damages in BY_FILE.items()
    for damage in damages or FOLDERS
]


@pytest.mark.parametrize("cases", parts(CASES))
@each(("name", "damage"), "cases")
def test_a_damaged_file_is_named_and_no_defect(
    whole: tuple[Path, Path], tmp_path: Path, name: str, damage: Callable[[Path], None]
) -> None:
    state, root = whole
    for command in COMMANDS[name]:
        copy = tmp_path / f"state{COMMANDS[name].index(command)}"
        shutil.copytree(state, copy)
        config = copy / "operator.toml"
        config.write_text(config.read_text(encoding="utf-8").replace(str(state), str(copy)), encoding="utf-8")
        (file,) = copy.glob(name)
        damage(file)
        done = run(copy, root, copy / "ledger.sqlite3", command)
        said = done.stdout + done.stderr
        assert not any(word in said for word in INSIDE), (command, said)
        if done.returncode:
            assert said.strip(), command
            assert len(said) < 2000, (command, said)
