"""Databases and packed logs that are made to hurt: what a record holds is not what it may take."""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from contextlib import closing
from pathlib import Path

from readroom.lens.audit import Options, audit
from readroom.lens.limits import RECORD_LINE_BYTES
from readroom.lens.normal_form import SkippedPart
from readroom.lens.sessions import Audited
from tests.core.formats.packing import PACK, greedy_zstd
from tests.suites import daily

_TABLES = """
CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, version TEXT);
CREATE TABLE message (id TEXT, session_id TEXT, data TEXT);
CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);
"""
_STATE = {"status": "completed", "input": {"filePath": "a.py"}, "output": "00001| first\n00002| second"}
_PART = json.dumps({"type": "tool", "callID": "c", "tool": "read", "state": _STATE})


def _database(path: Path, rows: list[tuple[str, str, str]], indexed: bool = True) -> Path:
    """An opencode database with one call in each session, by session, message and part."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(_TABLES)
        if indexed:
            connection.execute("CREATE INDEX of_session ON message (session_id)")
            connection.execute("CREATE INDEX of_message ON part (message_id)")
        for session, message, part in rows:
            connection.execute("INSERT INTO session VALUES (?, '', '/w', '1')", (session,))
            connection.execute(
                'INSERT INTO message VALUES (?, ?, \'{"role": "assistant"}\')', (message, session)
            )
            connection.execute("INSERT INTO part VALUES (?, ?, ?, ?)", (part, message, session, _PART))
    return path


def _parts(path: Path) -> tuple[list[Audited], list[SkippedPart]]:
    parts = list(audit(path, Options(secrets=False)))
    return (
        [part for part in parts if isinstance(part, Audited)],
        [part for part in parts if isinstance(part, SkippedPart)],
    )


def test_an_id_that_is_too_long_costs_its_own_session(tmp_path: Path) -> None:
    """Ids beyond what a line of a record may have, in each table; the sessions beside them are read."""
    long = "x" * (RECORD_LINE_BYTES + 2)
    rows = [("a" + long, "m1", "p1"), ("b", "m2" + long, "p2"), ("c", "m3", "p3" + long), ("d", "m4", "p4")]
    sessions, skipped = _parts(_database(tmp_path / "o.db", rows))
    assert [part.session.session for part in sessions] == ["d"]
    assert sum(part.count for part in skipped) == 3
    assert all("too long" in part.why for part in skipped)


def test_a_part_that_is_too_long_costs_itself(tmp_path: Path) -> None:
    """What stands before and behind it in its session is read."""
    path = _database(tmp_path / "o.db", [("s", f"m{number}", f"p{number}") for number in range(3)])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM session WHERE rowid > 1")
        data = _PART.replace('"c"', '"' + "c" * (RECORD_LINE_BYTES + 1) + '"')
        connection.execute("UPDATE part SET data = ? WHERE id = 'p1'", (data,))
    (session,), (skipped,) = _parts(path)
    assert (session.session.calls, session.session.turns) == (1, 3)
    assert (skipped.where, skipped.why[:9]) == ("part p1", "more than")


@daily(1, "all_alike", [False, True])
def test_a_database_without_indexes_ends_after_so_many_steps(tmp_path: Path, all_alike: bool) -> None:
    """Each session would look at all messages, or each message have all parts."""
    names = [
        ("s", "m", "p") if all_alike else (f"s{number}", f"m{number}", f"p{number}")
        for number in range(1_500)
    ]
    path = _database(tmp_path / "o.db", names, indexed=False)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM session WHERE rowid > 1 AND id = 's'")
    sessions, skipped = _parts(path)
    assert len(sessions) < 1_500
    assert [part.why for part in skipped] == ["a database whose rows take too many steps, read up to there"]


def test_a_small_database_without_indexes_is_read_whole(tmp_path: Path) -> None:
    """Somebody may have made it by hand."""
    names = [(f"s{number}", f"m{number}", f"p{number}") for number in range(200)]
    sessions, skipped = _parts(_database(tmp_path / "o.db", names, indexed=False))
    assert ([part.session.calls for part in sessions], skipped) == ([1] * 200, [])


_SAMPLE = json.dumps(
    {
        "messages": [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "c", "function": "read_file", "arguments": {"path": "a.py"}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "1\tfirst"},
        ]
    }
).encode()


def _log(path: Path, members: dict[str, tuple[int, bytes, bytes]]) -> Path:
    """A zip of members given by how they are packed, as they are, and as they are packed."""
    files, directory = b"", b""
    for name, (method, content, data) in members.items():
        fields = (20, 0, method, 0, 0x21, zlib.crc32(content), len(data), len(content), len(name), 0)
        head = struct.pack("<5H3L2H", *fields)
        directory += (
            b"PK\1\2"
            + struct.pack("<H", 20)
            + head
            + struct.pack("<3H2L", 0, 0, 0, 0, len(files))
            + name.encode()
        )
        files += b"PK\3\4" + head + name.encode() + data
    end = struct.pack("<4H2LH", 0, 0, len(members), len(members), len(directory), len(files), 0)
    path.write_bytes(files + directory + b"PK\5\6" + end)
    return path


def _sample(method: int = 0, content: bytes = _SAMPLE, data: bytes = _SAMPLE) -> tuple[int, bytes, bytes]:
    return method, content, data


def test_a_sample_that_is_packed_to_hurt_costs_itself(tmp_path: Path) -> None:
    """A window of 128 MB, more than is said, another sum, an end that never comes; the last is read."""
    good = PACK["zstd"](_SAMPLE)
    members = {
        "header.json": _sample(14),
        "samples/1_epoch_1.json": _sample(93, b"a line\n" * 100_000, greedy_zstd()),
        "samples/2_epoch_1.json": _sample(93, b"x", PACK["zstd"](b" " * 50_000_000)),
        "samples/3_epoch_1.json": _sample(93, _SAMPLE[:-1] + b"!", good),
        "samples/4_epoch_1.json": _sample(93, _SAMPLE, good[:-8]),
        "samples/5_epoch_1.json": _sample(14),
        "samples/6_epoch_1.json": _sample(93, _SAMPLE, good),
    }
    sessions, skipped = _parts(_log(tmp_path / "a.eval", members))
    assert [part.session.session.rpartition("/")[2] for part in sessions if part.calls][-1] == "6_epoch_1"
    why = " | ".join(f"{part.where}: {part.why}" for part in skipped)
    for number, words in enumerate(
        ("requires too much memory", "larger than it claims", "sum", "", "compressed in a way no log uses"), 1
    ):
        assert f"samples/{number}_epoch_1.json: " in why
        assert words in why


def test_a_log_is_read_however_it_is_packed(tmp_path: Path) -> None:
    """Not at all, with Deflate, with Zstandard; in the order of the file."""
    deflate = zlib.compressobj(wbits=-15)
    ways = {0: _SAMPLE, 8: deflate.compress(_SAMPLE) + deflate.flush(), 93: PACK["zstd"](_SAMPLE)}
    members = {
        f"samples/{9 - at}_epoch_1.json": _sample(way, _SAMPLE, data)
        for at, (way, data) in enumerate(ways.items())
    }
    sessions, skipped = _parts(_log(tmp_path / "a.eval", members))
    assert [part.session.session for part in sessions] == [f"a/{number}_epoch_1" for number in (9, 8, 7)]
    assert ([part.session.calls for part in sessions], skipped) == ([1, 1, 1], [])
