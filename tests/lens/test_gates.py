"""`audit --fail-on` passes only over records that it has read whole, whatever form they have."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from readroom.cli.exits import ExitCode
from readroom.lens import records
from tests.cli.running import Cli
from tests.lens.ground_truth import SESSIONS, unpacked
from tests.lens.making import called, record, returned

GATE = ("--fail-on", "instructions", "--no-secrets", "--limit", "0")
"""A kind that none of the recorded sessions has."""


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, capsys)


def _secret(data: bytes) -> int:
    """The offset at which the file with secrets was shown."""
    found = re.search(rb"AKIA|postgres://|PASSWORD|api_key|secret", data)
    return found.start() if found else len(data) // 2


def _one_comma_more(data: bytes) -> bytes:
    line = data.rfind(b"\n", 0, _secret(data)) + 1
    at = data.index(b":", line)
    return data[:at] + b",:" + data[at + 1 :]


def _cut(data: bytes) -> bytes:
    return data[: _secret(data)]


def _overwritten(data: bytes) -> bytes:
    line = data.rfind(b"\n", 0, _secret(data)) + 1
    end = data.find(b"\n", line)
    end = len(data) if end < 0 else end
    return data[:line] + b"{" * min(64, end - line) + data[line + min(64, end - line) :]


TEXTS = (_one_comma_more, _cut, _overwritten)
TEXT_SESSIONS = [one for one in SESSIONS if not one.startswith(("opencode/", "kilo/", "inspect/"))]
"""Sessions whose records are texts, at least one of them."""


@pytest.mark.parametrize("damage", TEXTS)
@pytest.mark.parametrize("session", TEXT_SESSIONS)
def test_a_text_record_that_is_damaged_at_a_secret_does_not_pass(
    session: str, damage: Callable[[bytes], bytes], tmp_path: Path, cli: Cli
) -> None:
    found = [one for one in unpacked(session, tmp_path) if one.suffix in (".jsonl", ".json", ".traj")]
    path = max(found, key=lambda one: one.stat().st_size)
    assert cli.bare("audit", str(path), *GATE).code == ExitCode.OK
    path.write_bytes(damage(path.read_bytes()))
    done = cli.bare("audit", str(path), *GATE)
    assert done.code == ExitCode.UNCHECKED, done.out
    assert str(path) in done.err
    assert "Traceback" not in done.err


def test_a_database_with_a_broken_row_does_not_pass(tmp_path: Path, cli: Cli) -> None:
    (path,) = (one for one in unpacked("opencode/tools", tmp_path) if one.suffix == ".db")
    assert cli.bare("audit", str(path), *GATE).code == ExitCode.OK
    with closing(sqlite3.connect(path)) as connection:
        where = "id = (SELECT max(id) FROM part WHERE data LIKE '%\"tool\"%')"
        connection.execute(f"UPDATE part SET data = substr(data, 1, length(data) - 9) WHERE {where}")
        connection.commit()
    assert cli.bare("audit", str(path), *GATE).code == ExitCode.UNCHECKED
    with path.open("r+b") as stream:
        stream.truncate(path.stat().st_size // 2)
    assert cli.bare("audit", str(path), *GATE).code == ExitCode.UNCHECKED


def test_a_ledger_with_a_broken_row_does_not_pass(tmp_path: Path, cli: Cli) -> None:
    (path, *_) = (one for one in unpacked("readroom-ledger/codex", tmp_path) if one.suffix == ".sqlite3")
    assert cli.bare("audit", str(path), *GATE).code == ExitCode.OK
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE calls SET shown = '[[' WHERE number = 3")
        connection.commit()
    assert cli.bare("audit", str(path), *GATE).code == ExitCode.UNCHECKED


@pytest.mark.parametrize("at", ["member", "end"])
def test_a_log_in_an_archive_that_is_damaged_does_not_pass(at: str, tmp_path: Path, cli: Cli) -> None:
    (path,) = (one for one in unpacked("inspect/tools", tmp_path) if one.suffix == ".eval")
    assert cli.bare("audit", str(path), *GATE).code == ExitCode.OK
    with zipfile.ZipFile(path) as packed:
        sample = next(one for one in packed.infolist() if one.filename.startswith("samples/"))
    data = bytearray(path.read_bytes())
    middle = sample.header_offset + 100 + sample.compress_size // 2
    data[middle : middle + 16] = bytes(16)
    path.write_bytes(data if at == "member" else data[: len(data) - 40])
    assert cli.bare("audit", str(path), *GATE).code == ExitCode.UNCHECKED


def _session(path: Path) -> Path:
    call = called(1, "Read", {"file_path": "/home/dev/shop/a.py"})
    return record(path, [call, returned(1, "1\ta = 1")])


def _of_no_client(folder: Path) -> None:
    (folder / "new.jsonl").write_text('{"kind": "of a client of tomorrow"}\n' * 3)


def _truncated_document(folder: Path) -> None:
    (folder / "messages.json").write_text('{"messages": [{"role": "us')


def _blank_head(folder: Path) -> None:
    (folder / "late.jsonl").write_text("\n" * 40 + "{" * 40)


def _archive_cut(folder: Path) -> None:
    (folder / "run.eval").write_bytes(b"PK\x03\x04" + b"\0" * 60)


def _of_sqlite(folder: Path) -> None:
    (folder / "half.db").write_bytes(b"SQLite format 3\0" + b"\0" * 500)


OTHERS = (_of_no_client, _truncated_document, _blank_head, _archive_cut, _of_sqlite)


@pytest.mark.parametrize("put", OTHERS)
def test_a_file_that_no_reader_knows_does_not_pass(
    put: Callable[[Path], None], tmp_path: Path, cli: Cli
) -> None:
    _session(tmp_path / "good.jsonl")
    (tmp_path / "empty.jsonl").write_text("")
    assert cli.bare("audit", str(tmp_path), *GATE).code == ExitCode.OK
    put(tmp_path)
    done = cli.bare("audit", str(tmp_path), *GATE)
    assert done.code == ExitCode.UNCHECKED, done.out
    assert "could not be read" in done.err
    assert cli.bare("audit", str(tmp_path), "--limit", "0").code == ExitCode.OK


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_may_not_be_opened_does_not_pass(what: str, tmp_path: Path, cli: Cli) -> None:
    _session(tmp_path / "good.jsonl")
    (tmp_path / "closed").mkdir()
    _session(tmp_path / "closed/other.jsonl")
    shut = tmp_path / "closed" if what == "folder" else tmp_path / "closed/other.jsonl"
    shut.chmod(0)
    try:
        done = cli.bare("audit", str(tmp_path), *GATE)
    finally:
        shut.chmod(0o700)
    assert done.code == ExitCode.UNCHECKED
    assert "closed" in done.err


def test_a_folder_that_cannot_be_listed_is_a_part_that_was_not_read(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    with pytest.raises(records.NotReadable):
        next(iter(records.read(gone)))
    shutil.rmtree(gone)


def test_what_is_found_counts_more_than_what_was_not_read(tmp_path: Path, cli: Cli) -> None:
    _session(tmp_path / "good.jsonl")
    _of_no_client(tmp_path)
    call = called(1, "Read", {"file_path": "/home/dev/shop/.env"})
    record(tmp_path / "bad.jsonl", [call, returned(1, "1\ta = 1")])
    done = cli.bare("audit", str(tmp_path), "--fail-on", "denied", "--no-secrets")
    assert done.code == ExitCode.FOUND


def test_a_gate_counts_only_files_that_hold_something(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    for number in range(3):
        (folder / f"empty{number}.jsonl").touch()
    (folder / "other.json").write_text('{"of": "no client"}', encoding="utf-8")
    done = cli("audit", str(folder), *GATE)
    assert done.code == ExitCode.UNCHECKED
    assert "1 part could not be read" in done.err
    assert "other.json" in done.err
