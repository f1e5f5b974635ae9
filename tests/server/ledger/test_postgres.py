"""A ledger in PostgreSQL: several writers, one chain, and connections that are cut."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest

from readroom.cli.main import main
from readroom.core.errors import LedgerFailed
from readroom.server.database.postgres import PostgresBackend
from readroom.server.http.ui.queries import Questions, Slice
from readroom.server.ledger.ledger import Ledger
from readroom.server.ledger.queries import Filter
from readroom.server.ledger.sums import HOUR_US
from readroom.server.ledger.verify import verify

from .events import before_durations, event, long_calls
from .events import book as sqlite_book
from .postgres import Server, programs, running

BIN = programs()

pytestmark = [
    pytest.mark.skipif(BIN is None and "CI" not in os.environ, reason="PostgreSQL is not installed"),
    pytest.mark.xdist_group("postgres"),
]

WRITER = """
import sys
from readroom.server.ledger.ledger import Ledger
from readroom.server.database.postgres import PostgresBackend
from tests.server.ledger.events import event
book = Ledger(PostgresBackend(sys.argv[1]))
for at in range(int(sys.argv[2])):
    print(book.append(event(agent=sys.argv[3])).number, flush=True)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    assert BIN is not None, "PostgreSQL is required here: see .ci/run"
    # Not pytest's folder: the server's user cannot reach what lies below root's.
    with tempfile.TemporaryDirectory(prefix="readroom-pg-") as folder, running(BIN, Path(folder)) as found:
        yield found


@pytest.fixture
def url(server: Server) -> str:
    """A server whose database is empty."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return server.url


@pytest.fixture
def book(url: str) -> Iterator[Ledger]:
    with closing(Ledger(PostgresBackend(url))) as found:
        yield found


def test_a_server_that_is_not_there_is_told_in_one_sentence() -> None:
    """Libpq asks a question on the next line, which would stand in the middle of ours."""
    with closing(PostgresBackend("postgresql://me@127.0.0.1:1/x", wait_s=0)) as backend:
        with pytest.raises(LedgerFailed) as caught:
            backend.run(lambda execute: execute("select 1"), write=False)
    assert str(caught.value).count(". ") == 1
    assert "?" not in str(caught.value)


def test_durations_of_a_ledger_from_before_are_summed_when_it_is_opened(url: str, book: Ledger) -> None:
    book.append_all(long_calls())
    book.sum_up(10)
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in before_durations():
            connection.execute(statement.encode())
    with closing(Ledger(PostgresBackend(url))) as again:
        assert verify(again).problems == ()


def writers(url: str, count: int, rows: int) -> list[subprocess.Popen[str]]:
    root = Path(__file__).parents[3]
    return [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, url, str(rows), str(at)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
        )
        for at in range(count)
    ]


def acknowledged(processes: list[subprocess.Popen[str]]) -> set[int]:
    found: set[int] = set()
    for one in processes:
        out, _ = one.communicate(timeout=100)
        assert one.returncode == 0
        numbers = {int(line) for line in out.split()}
        assert not found & numbers
        found |= numbers
    return found


def test_eight_processes_write_one_ledger(url: str, book: Ledger) -> None:
    found = acknowledged(writers(url, 8, 12))
    verdict = verify(book)
    assert verdict.problems == ()
    assert found == set(range(1, 97))
    assert verdict.rows == 96
    assert book.count(Filter(agent="3", path="a.txt").conditions()) == 12


def test_nothing_acknowledged_is_lost_when_connections_are_cut(url: str, book: Ledger) -> None:
    processes = writers(url, 3, 60)
    done = threading.Event()

    def cut() -> None:
        while not done.wait(0.02):
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name = 'readroom'"
                )

    cutter = threading.Thread(target=cut)
    cutter.start()
    try:
        found = acknowledged(processes)
    finally:
        done.set()
        cutter.join()
    assert verify(book).problems == ()
    assert found == set(range(1, 181)), "each event once, also those whose acknowledgement was cut off"
    assert book.count() == 180


def test_a_server_that_comes_back_is_used_again(server: Server, url: str, book: Ledger) -> None:
    book.append(event())
    processes = writers(url, 2, 40)
    for one in processes:
        assert one.stdout is not None
        assert int(one.stdout.readline()) > 1
    server.stop()
    server.start()
    book.append(event())
    for one in processes:
        one.communicate(timeout=100)
        assert one.returncode == 0
    assert verify(book).problems == ()
    assert book.count() == 82


def test_tampering_is_found(url: str, book: Ledger) -> None:
    for _ in range(4):
        book.append(event())
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE calls SET tokens = 0 WHERE number = 2")
        connection.execute("DELETE FROM calls WHERE number = 4")
    assert verify(book).problems == ("row 2 was changed", "row 4 is missing at the end")


def test_a_password_is_never_shown() -> None:
    backend = PostgresBackend("postgresql://me:secret@127.0.0.1:1/x?connect_timeout=1", wait_s=1)
    with pytest.raises(LedgerFailed) as caught:
        Ledger(backend)
    assert "secret" not in str(caught.value) + str(caught.value.facts) + backend.name


def _turn_away(door: socket.socket, came: list[int]) -> None:
    """Close each connection at once, until the door is shut."""
    with suppress(OSError):
        while True:
            connection, _ = door.accept()
            came[0] += 1  # before its client hears of it
            connection.close()


def test_a_database_that_was_waited_for_in_vain_is_tried_once_until_it_answers() -> None:
    """Each call would wait for it again, one after the other."""
    came, tries = [0], []
    with closing(socket.create_server(("127.0.0.1", 0))) as door:
        threading.Thread(target=_turn_away, args=(door, came), daemon=True).start()
        name, port = door.getsockname()
        backend = PostgresBackend(
            f"postgresql://{name}:{port}/x?sslmode=disable&gssencmode=disable", wait_s=2
        )
        for _ in range(3):
            before = came[0]
            with pytest.raises(LedgerFailed):
                backend.run(lambda _: None, write=True)
            tries.append(came[0] - before)
        door.shutdown(socket.SHUT_RDWR)
    assert tries[1:] == [1, 1]


def test_sums_are_those_of_the_rows(book: Ledger) -> None:
    book.append_all([event(agent=f"a{at % 3}", time_us=at * HOUR_US) for at in range(1200)])
    assert book.sum_up(30) == 0
    assert verify(book).problems == ()


def test_the_dashboard_asks_what_it_asks_of_sqlite(book: Ledger, tmp_path: Path) -> None:
    other = sqlite_book(tmp_path)
    rows = [
        event(agent=f"a{at % 3}", time_us=at * HOUR_US, path="x", outcome="denied" if at % 7 == 0 else "ok")
        for at in range(50)
    ]
    told = []
    for ledger in (book, other):
        ledger.append_all(rows)
        ledger.sum_up(30)
        questions, wanted = Questions(ledger), Slice("/w", agent="a1", outcome="failed", since_us=HOUR_US)
        every = Slice("/w")
        found = questions.sessions(every, limit=5, search="%")
        told.append(
            [
                *(questions.sums(one, "tool") for one in (every, wanted)),
                *(questions.series(one, "agent") for one in (every, wanted)),
                questions.files(every, 5),
                questions.sessions(wanted, limit=5),
                found,
                questions.session("/w", "s", "a1", ""),
                questions.calls(wanted, limit=3),
                questions.showing("/w", "a.txt"),
                questions.workspaces(),
                questions.days(every, limit=5),
                questions.days(wanted, limit=5),
                questions.named_sessions("/w", ["S"], ["s"], limit=5),
                questions.named_files("/w", ["A", "txt"], limit=5),
                questions.asking("/w", ["A.TXT", "read"], limit=5),
                questions.asking("/w", ["a%"], limit=5),
                questions.refused(every, limit=5),
            ]
        )
    assert told[0] == told[1]


def test_the_time_is_that_of_the_server(url: str) -> None:
    """Machines whose clocks differ have one time together: here the server's is far ahead."""
    with psycopg.connect(url, autocommit=True) as connection:
        ahead = "SELECT pg_catalog.clock_timestamp() + interval '30 days'"
        connection.execute(
            f"CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ {ahead} $$"
        )
    first = f"{url}?options=-c%20search_path%3Dpublic%2Cpg_catalog"
    with closing(PostgresBackend(first)) as backend:
        before, again = (backend.run(lambda execute: execute.now_us(), write=False) for _ in range(2))
    days = (before - time.time_ns() // 1000) / 86_400e6
    assert 29 < days < 31
    assert before <= again


def test_the_command_reads_a_ledger_at_an_address(
    url: str, book: Ledger, capsys: pytest.CaptureFixture[str]
) -> None:
    book.append(event(agent="somebody"))
    assert main(["ledger", "--file", url]) == 0
    assert "somebody" in capsys.readouterr().out


def test_the_printed_command_makes_a_token_that_the_server_finds(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "operator.toml"
    config.write_text(f'[serve]\nauth = "required"\nstate = "{url}"\n', encoding="utf-8")
    words = [sys.executable, "-m", "readroom", "serve", str(tmp_path), "--config", str(config), "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        said = next(line for line in server.stdout if "create NAME" in line)
        server.terminate()
        server.stdout.read()
    create = re.findall(r"`(.+ token create NAME.*?)`", said)[0]
    subprocess.run(create.replace("NAME", "bot"), shell=True, check=True, capture_output=True)
    assert main(["token", "list", "--config", str(config)]) == 0
    assert "bot" in capsys.readouterr().out
