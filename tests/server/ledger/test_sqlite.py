"""The file: private, one for many processes, whole after any death."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from readroom.core.errors import LedgerFailed
from readroom.server.database.sqlite import SqliteBackend
from readroom.server.ledger.ledger import Ledger
from readroom.server.ledger.verify import verify

from .events import book, event

WRITER = """
import sys
from pathlib import Path
from tests.server.ledger.events import book, event
found = book(Path(sys.argv[1]))
for at in range(int(sys.argv[2])):
    row = found.append(event(agent=sys.argv[3]))
    print(row.number, flush=True)
"""

ROOT = Path(__file__).parents[3]


def writer(folder: Path, rows: int, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), str(rows), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def test_eight_processes_write_one_ledger(tmp_path: Path) -> None:
    writers = [writer(tmp_path, 40, str(at)) for at in range(8)]
    for one in writers:
        out, _ = one.communicate(timeout=100)
        assert one.returncode == 0, out
    verdict = verify(book(tmp_path))
    assert verdict.problems == ()
    assert verdict.rows == 320


READER = """
import sys
from pathlib import Path
from tests.server.ledger.events import book
found = book(Path(sys.argv[1]))
print(found.count())
found.close()
"""


def test_a_reader_who_leaves_takes_no_rows_of_a_process_with_two_connections(tmp_path: Path) -> None:
    """A server of two workspaces is one; SQLite's locks are those of the whole process."""
    first, second = book(tmp_path), book(tmp_path)
    for number in range(1, 4):
        (first, second)[number % 2].append(event())
        command = [sys.executable, "-c", READER, str(tmp_path)]
        assert subprocess.run(command, capture_output=True, check=True, cwd=ROOT).stdout == b"%d\n" % number


def test_what_was_acknowledged_survives_the_death_of_its_writers(tmp_path: Path) -> None:
    acknowledged: set[int] = set()
    for round_ in range(4):
        writers = [writer(tmp_path, 100_000, f"{round_}.{at}") for at in range(2)]
        for one in writers:
            assert one.stdout is not None
            for _ in range(20 + 15 * round_):
                acknowledged.add(int(one.stdout.readline()))
        for one in writers:
            one.send_signal(signal.SIGKILL)
            out, _ = one.communicate(timeout=60)
            acknowledged |= {int(line) for line in re.findall(r"(\d+)\n", out)}
    found = book(tmp_path)
    assert verify(found).problems == ()
    assert acknowledged <= {row.number for row in found.rows()}


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "readroom"
    with closing(Ledger(SqliteBackend(str(folder / "ledger.sqlite3")))) as found:
        found.append(event())
        assert os.stat(folder).st_mode & 0o777 == 0o700
        assert {os.stat(folder / name).st_mode & 0o777 for name in os.listdir(folder)} == {0o600}


def test_a_file_that_is_no_ledger_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite3"
    path.write_bytes(b"something else entirely" * 100)
    with pytest.raises(LedgerFailed):
        book(tmp_path)
    assert path.read_bytes() == b"something else entirely" * 100


def test_a_link_a_pipe_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(LedgerFailed):
            SqliteBackend(str(tmp_path / name))
    with pytest.raises(LedgerFailed):
        SqliteBackend(str(tmp_path / "missing"), make=False)
    assert not (tmp_path / "missing").exists()


def test_a_file_that_was_removed_or_replaced_in_use_is_noticed(tmp_path: Path) -> None:
    found = book(tmp_path)
    found.append(event())
    os.rename(tmp_path / "ledger.sqlite3", tmp_path / "elsewhere")
    with pytest.raises(LedgerFailed):
        found.append(event())
    (tmp_path / "ledger.sqlite3").write_bytes(b"")
    with pytest.raises(LedgerFailed, match="another file"):
        found.append(event())


def test_a_child_of_a_fork_opens_its_own(tmp_path: Path) -> None:
    found = book(tmp_path)
    found.append(event())
    pid = os.fork()
    if pid == 0:
        try:
            found.append(event())
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    found.append(event())
    assert verify(found).rows == 3


def test_a_ledger_of_a_later_version_is_refused(tmp_path: Path) -> None:
    book(tmp_path).close()
    with sqlite3.connect(tmp_path / "ledger.sqlite3") as connection:
        connection.execute("UPDATE ledger_schema SET version = 99")
    connection.close()
    with pytest.raises(LedgerFailed, match="version 99"):
        book(tmp_path)


LEAKS = """
import gc, sys, warnings
from pathlib import Path
from readroom.core.errors import ReadroomError
from readroom.server.ledger.ledger import Ledger
from readroom.server.ledger import LedgerPolicy
from readroom.server.database.sqlite import SqliteBackend
from readroom.server.ledger.recorder import Recorder
from readroom.server.tokens import Tokens

left = []
sys.unraisablehook = lambda hook: left.append(hook.exc_value)
folder = Path(sys.argv[1])
(folder / "none").write_bytes(b"something else entirely" * 100)
for open_it in (
    lambda: SqliteBackend(str(folder / "none")),
    lambda: Ledger(SqliteBackend(str(folder / "ledger.sqlite3"))),
    lambda: Recorder(LedgerPolicy(file=str(folder / "ledger.sqlite3"), keep_days=1.0), "", "estimate").open(),
    lambda: Tokens(str(folder / "none")).any_valid(),
):
    try:
        open_it()
        print("opened")
    except ReadroomError:
        pass
    gc.collect()
print(left)
"""


@pytest.mark.skipif(sys.version_info < (3, 13), reason="older Pythons do not tell of connections left open")
def test_what_cannot_be_used_is_closed(tmp_path: Path) -> None:
    book(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite3")) as connection, connection:
        connection.execute("UPDATE ledger_schema SET version = 99")
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", LEAKS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=True, cwd=ROOT, text=True, encoding="utf-8")
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_callers_wait_once_for_a_file_that_stays_locked(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.sqlite3")
    with closing(Ledger(SqliteBackend(path, wait_s=0.8))) as ledger:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            for _ in range(6):
                with pytest.raises(LedgerFailed, match="locked"):
                    ledger.append(event())
            assert 0.8 <= time.monotonic() - began < 4.8
            other.execute("ROLLBACK")
        assert ledger.append(event()).number == 1
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            with pytest.raises(LedgerFailed, match="locked"):
                ledger.append(event())
            assert time.monotonic() - began >= 0.8
