"""Archives and tables that people have: what opens, what is as its own reader has it, what is refused."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import tarfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import corpora
from benchmarks.measure import Record
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from readroom.documents.containers.members import normal_name
from readroom.documents.data import CELL_CHARS, cell

ARCHIVES, TABLES = corpora.HOME / "archives", corpora.HOME / "tables"
"""Folders of real files, which whoever runs this fills; what the committed run had stands in its README."""

_MEMBERS = 12
"""Members of each archive that are read: evenly spread over its names."""

_ROWS = 20

_TABLES = 60
"""Tables of each form that are read."""


def run(record: Record) -> None:
    """Every archive is listed and some of its members are read; of every table the first rows are compared.

    Fair to readroom only where the reference is another program: Parquet and Arrow are read by the
    library that is the reference, so that its figures say what goes by the process and the words,
    not who decodes better.
    """
    _archives(record)
    _tables(record)


# --- archives ----------------------------------------------------------------------------------


def _archives(record: Record) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    own, other = 0.0, 0.0
    with Workspace(ARCHIVES) as space:
        for path in sorted(ARCHIVES.iterdir()):
            form = "zip" if zipfile.is_zipfile(path) else "tar"
            start = time.perf_counter()
            expected = _reference(path)
            other += time.perf_counter() - start
            start = time.perf_counter()
            listed = _listed(space, path.name)
            own += time.perf_counter() - start
            counts[form, "archives"] += 1
            counts[form, "members"] += len(expected)
            counts[form, "same members"] += listed == set(expected)
            names = sorted(expected)
            for name in names[:: max(1, len(names) // _MEMBERS)][:_MEMBERS]:
                counts[form, _read(space, f"{path.name}!/{name}", expected[name])] += 1
    rows = []
    for form in ("zip", "tar"):
        found = {
            key: counts[form, key]
            for key in ("archives", "members", "same members", "exact", "binary", "refused", "wrong")
        }
        for key, value in found.items():
            record.add("opening", f"{form} {key}", "readroom", [float(value)], "")
        rows.append([form, *map(str, found.values())])
    record.table(
        ["archives", "files", "members", "all members listed", "read exactly", "binary", "refused", "wrong"],
        rows,
    )
    record.add("opening", "list all", "readroom", [own], "s")
    record.add("opening", "list all", "zipfile and tarfile", [other], "s")
    record.say(f"Listing all of them took {own:.1f} s, the standard library's directory {other:.1f} s.", "")


def _reference(path: Path) -> dict[str, Callable[[], bytes]]:
    """Regular files by their names inside, as the standard library has them."""
    found: dict[str, Callable[[], bytes]] = {}
    if zipfile.is_zipfile(path):
        zipped = zipfile.ZipFile(path)
        for info in zipped.infolist():
            name = normal_name(info.filename)
            if name and not info.is_dir() and (info.external_attr >> 16 & 0o170000) in (0, 0o100000):
                found[name] = lambda info=info: zipped.read(info)  # type: ignore[misc]
        return found
    tarred = tarfile.open(path)  # noqa: SIM115  its members are read later
    for member in tarred.getmembers():
        name = normal_name(member.name)
        if name and member.isreg():
            found[name] = lambda member=member: tarred.extractfile(member).read()  # type: ignore[misc, union-attr]
    return found


def _listed(space: Workspace, name: str) -> set[str]:
    reply = space.call(
        "list_directory",
        {"path": name, "depth": 64, "limit": 1000, "include": ["ignored"]},
        reply_bytes=10**6,
    )
    found: set[str] = set()
    while True:
        facts: Any = reply.facts
        if reply.is_error:
            return set()
        found |= {_plain(entry["path"]) for entry in facts["entries"] if entry["kind"] == "file"}
        if facts["next"] is None:
            return found
        reply = space.call("list_directory", facts["next"]["arguments"], reply_bytes=10**6)


def _plain(path: str) -> str:
    from readroom.core.quoting import is_in_quotes, without_quotes

    return without_quotes(path) if is_in_quotes(path) else path


def _read(space: Workspace, path: str, content: Callable[[], bytes]) -> str:
    from readroom.core.quoting import as_value

    reply = space.call("read_file", {"path": as_value(path), "limit": 1})
    facts: Any = reply.facts
    if reply.is_error:
        return "binary" if facts["error"]["code"] in ("binary", "bad_image", "bad_document") else "refused"
    digits = f"sha256:{hashlib.sha256(content()).hexdigest()}"
    return "exact" if facts["content_hash"] in (digits, None) else "wrong"


# --- tables ------------------------------------------------------------------------------------


def _tables(record: Record) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    refusals: Counter[str] = Counter()
    slowest = 0.0
    with Workspace(TABLES) as space:
        for form, path in _sample():
            counts[form, "files"] += 1
            start = time.perf_counter()
            reply = space.call(
                "read_file",
                {"path": str(path.relative_to(TABLES)), "pages": "1", "limit": _ROWS},
                reply_bytes=10**6,
            )
            slowest = max(slowest, time.perf_counter() - start)
            expected = _expected(path, form)
            outcome = _outcome(reply, expected)
            counts[form, outcome] += 1
            if outcome in ("refused", "refused alone", "different"):
                facts: Any = reply.facts
                why = (
                    facts["error"]["facts"].get("problem", facts["error"]["code"])
                    if reply.is_error
                    else "rows"
                )
                refusals[f"{outcome}: {str(why).partition(' (')[0]}"] += 1
    keys = ("files", "exact", "refused", "refused alone", "opened alone", "different")
    rows = []
    for form in ("sqlite", "parquet", "arrow", "csv"):
        found = [counts[form, key] for key in keys]
        for key, value in zip(keys, found, strict=True):
            record.add("opening", f"{form} {key}", "readroom", [float(value)], "")
        rows.append([form, *map(str, found)])
    record.table(
        [
            "tables",
            "files",
            "exact",
            "refused by both",
            "refused by us alone",
            "read by us alone",
            "different",
        ],
        rows,
    )
    record.say("Why: " + "; ".join(f"{why} ({count})" for why, count in refusals.most_common(12)) + ".", "")
    record.say(f"The slowest took {slowest:.1f} s.", "")


def _sample() -> list[tuple[str, Path]]:
    """Tables of each form, evenly spread over their names: each is read in a process of its own."""
    paths: dict[str, list[Path]] = {}
    for path in sorted(one for one in TABLES.rglob("*") if one.is_file()):
        form = _form(path)
        if form is not None:
            paths.setdefault(form, []).append(path)
    return [(form, path) for form, found in paths.items() for path in found[:: -(-len(found) // _TABLES)]]


def _form(path: Path) -> str | None:
    with path.open("rb") as file:
        head = file.read(16)
    if head.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if head.startswith((b"PAR1", b"PARE")):
        return "parquet"
    if head.startswith((b"ARROW1\0\0", b"FEA1")):
        return "arrow"
    return "csv" if path.suffix in (".csv", ".tsv") else None


def _expected(path: Path, form: str) -> tuple[int, list[list[str]]] | None:
    """Rows in all and the first of them, as the reference has them; None when it cannot read the file."""
    import pyarrow

    with contextlib.suppress(
        pyarrow.ArrowException, OSError, ValueError, KeyError, sqlite3.Error, LookupError, OverflowError
    ):
        total, rows = _REFERENCES[form](path)
        return total, [[cell(value, CELL_CHARS)[0] for value in row] for row in rows]
    return None


def _sqlite(path: Path) -> tuple[int, Iterator[tuple[object, ...]]]:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    query = (
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite^_%' ESCAPE '^' "
        "ORDER BY name"
    )
    name = connection.execute(query).fetchone()[0]
    (total,) = connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()
    return total, connection.execute(f'SELECT * FROM "{name}" LIMIT {_ROWS}')


def _arrow(path: Path) -> tuple[int, list[tuple[object, ...]]]:
    import pyarrow.ipc

    return _of_table(pyarrow.ipc.open_file(str(path)).read_all())


def _parquet(path: Path) -> tuple[int, list[tuple[object, ...]]]:
    import pyarrow.parquet

    return _of_table(pyarrow.parquet.ParquetFile(path).read())


def _of_table(table: Any) -> tuple[int, list[tuple[object, ...]]]:
    shown = [column.to_pylist() for column in table.slice(0, _ROWS).columns[:30]]
    return table.num_rows, list(zip(*shown, strict=True))


def _csv(path: Path) -> tuple[int, list[list[str]]]:
    import csv

    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",") if row]
    return len(rows) - 1, [row[:30] for row in rows[1 : _ROWS + 1]]


_REFERENCES: dict[str, Callable[[Path], tuple[int, Any]]] = {
    "sqlite": _sqlite,
    "parquet": _parquet,
    "arrow": _arrow,
    "csv": _csv,
}


def _outcome(reply: Reply, expected: tuple[int, list[list[str]]] | None) -> str:
    if reply.is_error:
        return "refused" if expected is None else "refused alone"
    if expected is None:
        return "opened alone"
    facts: Any = reply.facts
    (part,) = facts["document"]["parts"]
    lines = [line.split("\t", 1)[1] for line in reply.text.split("\n") if line.partition("\t")[0].isdigit()]
    shown = [[one.strip() for one in line.split(" | ")] for line in lines]
    wanted = [[one.strip() for one in " | ".join(row).split(" | ")] for row in expected[1]]
    same = len(lines) == min(_ROWS, len(shown)) and shown == wanted[: len(shown)]
    return "exact" if same and part["total_lines"] == expected[0] else "different"
