"""readroom's own ledger: the SQLite file, or its export as JSON Lines.

It holds no text: only hashes, the ranges of lines that were shown, and sizes in tokens but not in characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from readroom.lens.limits import Bounds
from readroom.lens.records.events import (
    Answered,
    Called,
    Compacted,
    Event,
    Opened,
    Recorded,
    Remembered,
    Skipped,
)
from readroom.lens.records.sqlite import columns, opened
from readroom.lens.records.stream import Line, each
from readroom.lens.records.values import (
    NotReadable,
    Object,
    as_arguments,
    as_count,
    as_list,
    as_text,
    decode,
    time_of,
)

NAME = "readroom"


def recognises(line: Object) -> bool:
    """Whether a line is of an exported ledger."""
    return {"number", "contract", "tool", "outcome", "previous", "hash"} <= line.keys()


def read(lines: Iterable[Line | Skipped], bounds: Bounds) -> Iterator[Event]:
    """The events of an export."""
    reader = _RowReader(bounds)
    return each(lines, lambda row, _number: reader.events(row))


TABLES = {"calls", "ledger_schema"}
_COLUMNS = [
    "id", "time_us", "workspace", "agent", "session", "epoch", "tool", "arguments", "decision", "outcome",
    "shown", "tokens", "duration_us",
]  # fmt: skip


def read_database(path: Path, bounds: Bounds) -> Iterator[Event]:
    """The events of a ledger file."""
    reader = _RowReader(bounds)
    with opened(path) as connection:
        known = columns(connection, "calls")
        wanted = [name for name in _COLUMNS if name in known]
        for row in connection.execute(f"SELECT {', '.join(wanted)} FROM calls ORDER BY number"):
            entry: Object = dict(zip(wanted, row, strict=True))
            for name in {"arguments", "shown"} & known:
                try:
                    entry[name] = decode(str(entry[name]).encode())
                except NotReadable as error:
                    yield Skipped(f"call {as_text(entry['id'])[:40]}", f"{name}: {error}")
                    entry[name] = None
            yield from reader.events(entry)


class _RowReader:
    """The sessions met so far and the epoch of each."""

    def __init__(self, bounds: Bounds) -> None:
        self._epochs = Remembered[int](bounds.ids)

    def events(self, row: Object) -> Iterator[Event]:
        if row.get("outcome") == "begun":
            return
        session = as_text(row.get("session")) or "unnamed"
        time = time_of(row.get("time_us"))
        epoch = as_count(row.get("epoch"))
        before = self._epochs.get(session)
        if before is None:
            client = f"{NAME} for {as_text(row.get('agent'))}" if row.get("agent") else NAME
            yield Opened(session, client, folder=as_text(row.get("workspace")), time=time)
        elif epoch > before:
            yield Compacted(session, time)
        self._epochs.put(session, epoch)
        id = as_text(row.get("id"))
        yield Answered(session, id, time)
        yield Called(session, id, as_text(row.get("tool")), as_arguments(row.get("arguments")), time, NAME)
        spans = tuple(_spans(row.get("shown")))
        failed = as_text(row.get("outcome")) != "ok"
        yield Recorded(session, id, spans, as_count(row.get("tokens")), failed, time)


def _spans(rows: object) -> Iterator[tuple[str, int, int, str]]:
    for item in as_list(rows):
        if isinstance(item, list) and len(item) >= 4:
            yield as_text(item[0]), as_count(item[2]), as_count(item[3]), as_text(item[1])
