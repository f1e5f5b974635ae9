"""`readroom ledger`: what a person and a program learn from the record."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import sys
import unicodedata
from pathlib import Path

import pytest

from readroom.cli.exits import ExitCode
from readroom.cli.main import main
from tests.server.ledger.events import book, event


@pytest.fixture
def file(tmp_path: Path) -> str:
    found = book(tmp_path)
    found.append(event(path="src/a.py", shown='[["src/a.py","sha256:aa",1,50]]', tokens=500, agent="one"))
    found.append(event(path="src/a.py", shown='[["src/a.py","sha256:aa",40,60]]', tokens=200, agent="two"))
    found.append(event(path=".env", decision="refused", outcome="denied", rule=".env", shown="[]"))
    found.append(
        event(tool="grep_files", path=".", shown='[["src/b_c.py",null,3,4],["src/a.py",null,1,1]]', tokens=90)
    )
    found.append(event(path="=evil()", outcome="not_found", shown="[]"))
    found.close()
    return str(tmp_path / "ledger.sqlite3")


def run(capfdbinary: pytest.CaptureFixture[bytes], *arguments: str) -> tuple[int, str]:
    code = main(["ledger", *arguments])
    out, error = capfdbinary.readouterr()
    return code, (out + error).decode()


def listed(capfdbinary: pytest.CaptureFixture[bytes], file: str, *options: str) -> list[int]:
    code, out = run(capfdbinary, "list", "--file", file, "--json", *options)
    found = json.loads(out)
    assert (code == ExitCode.OK) == bool(found["rows"])
    return [row["number"] for row in found["rows"]]


def test_the_list_says_how_many_there_are(capfdbinary: pytest.CaptureFixture[bytes], file: str) -> None:
    code, out = run(capfdbinary, "--file", file, "--limit", "2")
    lines = out.splitlines()
    assert code == ExitCode.OK
    assert lines[0].split() == [
        "row",
        "time",
        "(UTC)",
        "agent",
        "folder",
        "tool",
        "path",
        "lines",
        "outcome",
        "tokens",
        "ms",
    ]
    assert [line.split()[0] for line in lines[1:3]] == ["4", "5"]
    assert lines[-1] == "2 of 5 calls (--limit shows more)"


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        (["--agent", "two"], [2]),
        (["--tool", "grep_files"], [4]),
        (["--path", "src"], [1, 2, 4]),
        (["--path", "src/b_c.py"], [4]),
        (["--path", "src/b.c.py"], []),
        (["--path", "src/bXc.py"], []),
        (["--outcome", "failed"], [3, 5]),
        (["--outcome", "denied"], [3]),
        (["--since", "2020-01-01"], [1, 2, 3, 4, 5]),
        (["--until", "2020-01-01"], []),
        (["--agent", "' OR 1=1 --"], []),
    ],
)
def test_filters(
    capfdbinary: pytest.CaptureFixture[bytes], file: str, options: list[str], rows: list[int]
) -> None:
    assert listed(capfdbinary, file, *options) == rows


def test_totals_files_refusals_and_spans_shown_twice(
    capfdbinary: pytest.CaptureFixture[bytes], file: str
) -> None:
    def rows(action: str, *options: str) -> list[dict[str, object]]:
        found = json.loads(run(capfdbinary, action, "--file", file, "--json", *options)[1])["rows"]
        assert isinstance(found, list)
        return found

    assert [(one["name"], one["calls"], one["tokens"], one["failed"]) for one in rows("totals")] == [
        ("read_file", 4, 720, 2),
        ("grep_files", 1, 90, 0),
    ]
    assert [one["name"] for one in rows("totals", "--by", "path")][:2] == ["src/a.py", "."]
    assert [(one["name"], one["calls"]) for one in rows("files")] == [("src/a.py", 3), ("src/b_c.py", 1)]
    assert [one["number"] for one in rows("refused")] == [3]
    (twice,) = rows("twice")
    assert (twice["path"], twice["first"], twice["last"], twice["rows"]) == ("src/a.py", 40, 50, [1, 2])


def test_verify_prints_a_head_and_names_what_is_wrong(
    capfdbinary: pytest.CaptureFixture[bytes], file: str
) -> None:
    code, out = run(capfdbinary, "verify", "--file", file)
    assert code == ExitCode.OK
    head = out.strip().rsplit("Head: ")[1]
    assert run(capfdbinary, "verify", "--file", file, "--noted", head)[0] == ExitCode.OK
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE calls SET path = 'x' WHERE number = 2")
    connection.close()
    code, out = run(capfdbinary, "verify", "--file", file)
    assert code == ExitCode.FAILED
    assert "row 2 was changed" in out


def test_exports_hold_every_row(capfdbinary: pytest.CaptureFixture[bytes], file: str, tmp_path: Path) -> None:
    lines = run(capfdbinary, "export", "--file", file)[1].splitlines()
    assert [json.loads(line)["number"] for line in lines] == [1, 2, 3, 4, 5]
    out = tmp_path / "out.csv"
    assert run(capfdbinary, "export", "--file", file, "--format", "csv", "--output", str(out))[0] == 0
    rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))
    assert [row["number"] for row in rows] == ["1", "2", "3", "4", "5"]
    assert rows[4]["path"] == "'=evil()", "a spreadsheet would run it"
    code, told = run(capfdbinary, "export", "--file", file, "--format", "csv", "--output", str(out))
    assert (code, "cannot be written" in told) == (ExitCode.USAGE, True)


def test_parquet_is_written_or_the_install_command_is_said(
    capfdbinary: pytest.CaptureFixture[bytes], file: str, tmp_path: Path
) -> None:
    out = tmp_path / "out.parquet"
    code, told = run(capfdbinary, "export", "--file", file, "--format", "parquet", "--output", str(out))
    try:
        import pyarrow.parquet
    except ImportError:
        assert code == ExitCode.FAILED
        assert "readroom[parquet]" in told
    else:
        assert pyarrow.parquet.read_table(out).num_rows == 5


def test_pruning_leaves_a_chain_that_verifies(capfdbinary: pytest.CaptureFixture[bytes], file: str) -> None:
    assert run(capfdbinary, "prune", "--file", file)[0] == ExitCode.USAGE
    code, out = run(capfdbinary, "prune", "--file", file, "--older-than", "9999")
    assert (code, out) == (ExitCode.OK, "No row is that old.\n")
    code, out = run(capfdbinary, "prune", "--file", file, "--older-than", "0")
    assert (code, out.startswith("5 rows removed")) == (ExitCode.OK, True)
    assert run(capfdbinary, "verify", "--file", file)[0] == ExitCode.OK


def test_without_a_ledger_nothing_is_made(
    capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    code, out = run(capfdbinary, "list", "--root", str(tmp_path))
    assert code == ExitCode.FAILED
    assert "there is no such file" in out
    assert not (tmp_path / "state").exists()


def test_a_noted_row_that_was_removed_ends_with_a_code_of_its_own(
    capfdbinary: pytest.CaptureFixture[bytes], file: str
) -> None:
    head = run(capfdbinary, "verify", "--file", file)[1].strip().rsplit("Head: ")[1]
    assert run(capfdbinary, "prune", "--older-than", "0", "--file", file)[0] == ExitCode.OK
    code, out = run(capfdbinary, "verify", "--file", file, "--noted", head)
    assert code == ExitCode.UNCHECKED
    assert "not against the noted head" in out
    assert "cannot be compared, because the rows up to 5 were removed, as row 6 says" in out
    assert json.loads(run(capfdbinary, "verify", "--file", file, "--noted", head, "--json")[1])["uncompared"]
    newer = out.split("Head: ")[1].split()[0]
    assert run(capfdbinary, "verify", "--file", file, "--noted", newer)[0] == ExitCode.OK


LEADS = [
    *"=+-@\t\r\n",
    *(
        chr(at)
        for at in range(0x80, sys.maxunicode)
        if unicodedata.normalize("NFKC", chr(at))[:1] in tuple("=+-@")
    ),
]
"""Every character that some spreadsheet reads as the start of a formula."""


def test_no_cell_of_an_export_begins_a_formula(
    capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    found = book(tmp_path)
    begun = [before + lead for lead in LEADS for before in ("", " ", "\u3000", "\ufeff", "\x0b")]
    names = [f"{begin}1+1" for begin in begun]
    found.append_all([event(agent=name, path=name) for name in names])
    plain = ["a=1", "src/a-b.py", "é", "'=1", "(none)", "1"]
    found.append_all([event(agent=name) for name in plain])
    found.close()
    out = tmp_path / "out.csv"
    file = str(tmp_path / "ledger.sqlite3")
    assert run(capfdbinary, "export", "--file", file, "--format", "csv", "--output", str(out))[0] == 0
    with out.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["agent"], row["path"]) for row in rows[: len(names)]] == [
        (f"'{one}", f"'{one}") for one in names
    ]
    assert [row["agent"] for row in rows[len(names) :]] == plain
