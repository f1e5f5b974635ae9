"""How the native contract words a listing: `bytes<TAB>name`, dated where its date is not the usual one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache, partial

from readroom.contracts.native import facts as native_facts
from readroom.contracts.native.closing import Aside, closing, ending
from readroom.contracts.native.facts import timestamp
from readroom.contracts.native.render import body_within, reply, short, warning_parts
from readroom.quoting import quote
from readroom.text.select import byte_size
from readroom.values import Cap, EntryKind, ListEntry, ListResult, Reply

# -----------------------------------------------------------------------------
# A name of a listing as a line: `bytes<TAB>name`, dated where its date is not the usual one of the page.
# -----------------------------------------------------------------------------

_DAY_NS = 86_400_000_000_000

_NO_DAY = "?"

_SHARED_DAYS = 3
"""Files of one date from which naming it in the header is shorter than beside each."""


def usual_day(entries: Sequence[ListEntry]) -> str | None:
    """The date that most files of a page share, when saying it once is shorter than saying it each time.

    A date costs 7 tokens, a file without one 8 (o200k): in a fresh checkout this halves the page.
    """
    days = Counter(_day(entry) for entry in entries if entry.kind is EntryKind.FILE)
    if not days:
        return None
    day, count = days.most_common(1)[0]
    return day if day != _NO_DAY and count >= _SHARED_DAYS else None


def _day(entry: ListEntry) -> str:
    return _NO_DAY if entry.mtime_ns is None else _date(entry.mtime_ns // _DAY_NS)


@lru_cache
def _date(day: int) -> str:
    """The date of a day since the epoch; formatting one for each entry took a tenth of a listing's time."""
    return (timestamp(day * _DAY_NS) or _NO_DAY)[: len("2026-01-01")]


def entry_line(entry: ListEntry, usual: str | None = None) -> str:
    """Size first: `123<TAB>name` is one token shorter than the other way round."""
    name = quote(entry.path)
    if entry.kind is EntryKind.FOLDER:
        return f"{name}/"
    if entry.kind is EntryKind.LINK:
        return f"{name} -> {'(denied or outside)' if entry.target is None else quote(entry.target)}"
    if entry.kind is EntryKind.OTHER:
        return f"{name} (special file)"
    day = _day(entry)
    size = "?" if entry.size is None else entry.size
    return f"{size}\t{name}" if day == usual else f"{size} {day}\t{name}"


def entry_bytes(entry: ListEntry) -> int:
    """What an entry costs at most: with its date."""
    return len(entry_line(entry).encode()) + 1


def render_list(result: ListResult, cap: Cap) -> Reply:
    """The reply for a listing that was selected under `cap`."""
    return reply(_list_text(result, cap), partial(native_facts.of_list, result))


def _list_text(result: ListResult, cap: Cap) -> str:
    usual = usual_day(result.entries)
    rows = [_list_header(result, usual, cap), *(entry_line(entry, usual) for entry in result.entries)]
    parts: list[str | Aside] = []
    if result.ignored:
        parts.append(f"{result.ignored} ignored.")
    if result.denied:
        parts.append(f"{result.denied} denied by policy.")
    if not result.total_known:
        parts.append("Time limit: not everything below was seen.")
    parts += warning_parts(result.warnings)
    if result.next is None and result.omitted:
        parts.append(Aside("Instead", result.omitted[0].request))
    sentences = ending(parts, result.next)
    body = body_within("\n".join(rows), cap)
    return f"{body}\n{closing(sentences or ['end of list'], cap.size - byte_size(body) - 1)}"


def _list_header(result: ListResult, usual: str | None, cap: Cap) -> str:
    path = short(result.request.path, cap)
    total = f"{result.total}{'' if result.total_known else '+'}"
    if not result.entries:
        none = "no entry matches the glob" if result.request.glob else "no entries"
        return f"{path} | {f'no entries of {total}' if result.total else none}"
    last = result.first + len(result.entries) - 1
    more = " (more below)" if result.next is not None else ""
    dates = f" | files modified {usual} unless dated" if usual is not None else ""
    return f"{path} | entries {result.first}-{last} of {total}{more}{dates}"
