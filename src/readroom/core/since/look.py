"""Look at a file whose version differs from the one that a conversation knows.

Small files are read and compared with the state that was shown, as far as that is still in memory; of large
ones only blocks that an index knows are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import islice

from msgspec.structs import replace

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.services import Services
from readroom.core.paths import WorkPath, join, parent
from readroom.core.session.seen import Lines, SeenFile, SeenLines
from readroom.core.since.values import News, Place, What
from readroom.core.stores.base import Source
from readroom.core.text import encodings, hashes
from readroom.core.text.edits.diff import DiffBlock, blocks, split
from readroom.core.text.line_index import Shrunk
from readroom.core.values import EntryKind, Version

HASHED_BYTES = 4 * 1024 * 1024
"""Larger files of the same size are not read to find out that only their times changed: 10 ms."""

RENAMED_NAMES = 500
"""Names next to a file that is gone which are looked at for its inode."""


def looked_at(services: Services, seen: SeenFile, deadline: Deadline, *, closely: bool) -> News | SeenFile:
    """The news of a file, or what is known of it now if nothing happened that matters.

    Args:
        services: With the guard that decides what may be said.
        seen: The file as the conversation knows it.
        deadline: Ends the look, not the call.
        closely: Whether the lines that were shown are looked for.
    """
    try:
        with services.guard.open(seen.path) as source:
            return _opened(services, seen, source, deadline, closely=closely)
    except (errors.Denied, errors.HardLinked):
        return News(seen, None, What.DENIED)
    except errors.NotFound:
        return _gone(services, seen)
    except (Shrunk, errors.TimedOut, errors.Changed):
        return seen  # it is being written; the next call looks again
    except errors.ReadroomError:
        return News(seen, None, What.REPLACED)


def _opened(
    services: Services, seen: SeenFile, source: Source, deadline: Deadline, *, closely: bool
) -> News | SeenFile:
    version = source.version
    known = replace(seen, version=version, digits=None)
    if version == seen.version:
        return seen
    at_ns = _moment(seen.version, version)
    if not services.texts.wants(source.size):
        return _large(services, seen, source, known, deadline, at_ns)
    data = source.read_at(0, source.size)
    known = replace(known, digits=sha256(data).hexdigest())
    if known.digits == seen.digits:
        back = seen.version is None
        return News(seen, known, What.BACK, at_ns=at_ns) if back else known
    assert known.digits is not None
    services.texts.put(source.real, known.digits, data)
    old = None if seen.digits is None else _former(services, source.real, seen.digits, asks=closely)
    if old and data.startswith(old):
        return _grown(seen, known, data, len(old), at_ns)
    known = replace(known, grows=False)
    news = News(seen, replace(known, lines=()), What.CHANGED, at_ns=at_ns)
    if old is None or not closely or not seen.lines:
        return news
    return _placed(services, news, known, source.real, (old, data))


def _former(services: Services, real: WorkPath, digits: str, *, asks: bool = True) -> bytes | None:
    """A former state of a file: as this process knows it, or as the history does, which takes a query."""
    known = services.texts.find(real, digits)
    if known is not None or not asks or services.history is None:
        return known
    try:
        return services.history.former(real, hashes.full(digits))
    except errors.ReadroomError:
        return None


def _moment(before: Version | None, now: Version) -> int:
    """When a file changed: its time of modification, unless that was kept or set back."""
    kept = before is not None and before.mtime_ns >= now.mtime_ns
    return now.ctime_ns if kept else now.mtime_ns


def _large(
    services: Services, seen: SeenFile, source: Source, known: SeenFile, deadline: Deadline, at_ns: int
) -> News | SeenFile:
    before = seen.version
    if before is not None and before.size == source.size and seen.digits and source.size <= HASHED_BYTES:
        known = replace(known, digits=hashes.digits_of(source, deadline))
        if known.digits == seen.digits:
            return known
    more = 0 if before is None else source.size - before.size
    if before is not None and services.indexes.only_grew(source, before):
        if seen.grows:
            return known
        known = replace(known, grows=True)
        return News(seen, known, What.GREW, grown_bytes=more, at_ns=at_ns)
    known = replace(known, lines=(), grows=False)
    return News(seen, known, What.CHANGED, grown_bytes=more, at_ns=at_ns)


def _grown(seen: SeenFile, known: SeenFile, data: bytes, size: int, at_ns: int) -> News | SeenFile:
    """The news of a file whose first `size` bytes are all that it had."""
    if seen.grows:
        return known
    text = _lines(data)
    lines = None
    if text is not None:
        whole = data.endswith(b"\n", 0, size)
        before = _lines(data[:size])
        first = len(before or ()) + 1 if whole else len(before or ())
        lines = (first, len(text))
    after = replace(known, grows=True)
    return News(seen, after, What.GREW, grown=lines, grown_bytes=len(data) - size, at_ns=at_ns)


def _gone(services: Services, seen: SeenFile) -> News | SeenFile:
    if seen.version is None:
        return seen
    to = _renamed(services, seen)
    if to is None:
        return News(seen, replace(seen, version=None), What.GONE)
    name, version = to
    same = (version.size, version.mtime_ns) == (seen.version.size, seen.version.mtime_ns)
    after = SeenFile(name, name, version, seen.digits if same else None, seen.lines if same else ())
    return News(seen, after, What.RENAMED, to=name, at_ns=version.ctime_ns)


def _renamed(services: Services, seen: SeenFile) -> tuple[WorkPath, Version] | None:
    """The visible name in the same folder that the file has now."""
    version = seen.version
    if version is None or not version.inode:
        return None
    try:
        with services.guard.open_folder(parent(WorkPath(seen.path))) as folder:
            kinds = services.guard.visible(folder).kinds
            files = (name for name, kind in kinds.items() if kind is EntryKind.FILE)
            for name in islice(files, RENAMED_NAMES):
                stat = folder.stat(name)
                if (stat.device, stat.inode) == (version.device, version.inode):
                    path = join(folder.real, name)
                    with services.guard.open(path) as source:
                        return path, source.version
    except errors.ReadroomError:
        return None
    return None


# --- where lines are ---------------------------------------------------------------------------


def _lines(data: bytes) -> list[str] | None:
    """The lines of a text with LF line ends; None of anything else."""
    encoding = encodings.detect(data, complete=True)
    if encoding is None:
        return None
    return split(encodings.decode(data[len(encoding.bom) :], encoding).replace("\r\n", "\n"))


def _placed(
    services: Services, news: News, known: SeenFile, real: WorkPath, states: tuple[bytes, bytes]
) -> News:
    """The news with the places of the lines that were shown."""
    old, new = map(_lines, states)
    if old is None or new is None:
        return news
    changed = blocks(old, new)
    places, after = [], []
    for run in news.seen.lines:
        at = _at(services, news.seen, run, real, old)
        if at is None:
            continue
        place = place_of((run.first, run.last), at, changed)
        places.append(place)
        if place.now is not None:
            after.append(SeenLines(*place.now, known.digits))
    return replace(news, places=tuple(places), after=replace(known, lines=tuple(after)))


def _at(
    services: Services, seen: SeenFile, run: SeenLines, real: WorkPath, old: Sequence[str]
) -> Lines | None:
    """The place of lines in the state that is known: the conversation may have changed the file itself."""
    if run.digits == seen.digits:
        return (run.first, min(run.last, len(old)))
    data = None if run.digits is None else _former(services, real, run.digits)
    shown = None if data is None else _lines(data)
    if shown is None:
        return None
    return place_of((run.first, run.last), (run.first, run.last), blocks(shown, old)).now


def place_of(seen: Lines, at: Lines, changed: Sequence[DiffBlock]) -> Place:
    """The place of lines after a change; `at` is where they were before it."""
    first, end = at[0] - 1, at[1]
    new_first, new_end, differ = first, end, []
    for block in changed:
        shift = block.new_end - block.old_end
        if block.old_end <= first:
            new_first = first + shift
        elif block.old_start < end:
            differ.append((block.new_start + 1, block.new_end))
            if block.old_start <= first:
                new_first = block.new_start
        if block.old_start < end:
            new_end = block.new_end if block.old_end >= end else end + shift
    now = (new_first + 1, new_end) if new_end > new_first else None
    return Place(seen, now, tuple(differ))
