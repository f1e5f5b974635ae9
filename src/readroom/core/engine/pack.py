"""Pack files into a zip archive, each opened through the guard.

The archive is written to a temporary file first: its size is known, and what it holds is settled, before a
byte is sent.  A file that cannot be packed is reported in it and does not stop the others.  A path may be a
link, which leads no further than a read; links that a glob finds are not followed.
"""

from __future__ import annotations

import re
import time
import zipfile
from collections.abc import Iterator
from typing import IO, cast, final

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.read.as_bytes import require_showable
from readroom.core.engine.services import Job, Services
from readroom.core.engine.walk import Walk
from readroom.core.limits import BLOCK_BYTES, LIST_MAX_DEPTH
from readroom.core.paths import WorkPath, join
from readroom.core.policy.guard import Guard
from readroom.core.policy.rules.gitignore import UnusablePattern, byte_text, translate
from readroom.core.search.globs import alternatives
from readroom.core.secrets.shown import starred
from readroom.core.session.expansions import TempSpool
from readroom.core.stores.base import Source
from readroom.core.values import EntryKind
from readroom.core.values.files import Stream
from readroom.core.values.packing import NotPacked, PackedFile, Packing, PackRequest, PackResult, Wanted, Why

PACK_S = 60.0
"""Time for collecting files: a client waits this long for the first byte. Compression takes 3 s of it for
100 MiB."""

_MAGIC = re.compile(r"[*?{\[\\]")
"""Ends the literal beginning of a glob."""

_FIRST_YEAR, _LAST_YEAR = 1980, 2107
"""Years that a zip archive can hold."""


def perform(services: Services, job: Job[PackRequest]) -> PackResult:
    """Pack files.

    Raises:
        StoreFailed: The archive cannot be written.
        Cancelled: The caller went away.
    """
    pack = _Pack(services.guard, job.request, job.deadline.within(PACK_S))
    try:
        for wanted in job.request.wanted:
            if not pack.collect(wanted):
                break
        return pack.result()
    except OSError as error:
        raise errors.store_failure(error, "the archive") from None
    finally:
        pack.end()


@final
class _Spooled:
    """A spool as the file that an archive is written to, and that its reader closes."""

    def __init__(self) -> None:
        self.spool: TempSpool = TempSpool()

    def write(self, data: bytes) -> int:
        self.spool.append(data)
        return len(data)

    def flush(self) -> None: ...

    def read_at(self, offset: int, size: int) -> bytes:
        return self.spool.read_at(offset, size)

    def close(self) -> None: ...


class _Pack:
    """The making of one archive."""

    def __init__(self, guard: Guard, request: PackRequest, deadline: Deadline) -> None:
        self._guard = guard
        self._request = request
        self._limits = request.limits
        self._deadline = deadline
        self._left = request.limits.total_bytes
        self._seen: set[WorkPath] = set()
        self._files: list[PackedFile] = []
        self._missing: list[NotPacked] = []
        self._complete = True
        self._file = _Spooled()
        # It is written from its beginning to its end, without going back.
        self._zip = zipfile.ZipFile(cast("IO[bytes]", self._file), "w", zipfile.ZIP_DEFLATED)

    def result(self) -> PackResult:
        """The archive, with its last entry."""
        packing = Packing(self._files, self._missing, self._complete)
        name, content = self._request.last(packing)
        self._zip.writestr(name, content)
        self._zip.close()
        size = self._file.spool.size
        return PackResult(packing, size, Stream(self._file, 0, size))

    def end(self) -> None:
        """Leave an incomplete archive as it is: its writer would finish it when it is collected."""
        self._zip.fp = None

    def collect(self, wanted: Wanted) -> bool:
        """Pack a path or what a glob finds; False when a limit ends the archive."""
        try:
            self._deadline.check()
            if len(self._files) >= self._limits.files:
                return self._stop(wanted, "files")
            if not wanted.is_glob:
                return self._collect_file(wanted, self._guard.parse(wanted.pattern), None)
            return all(self._collect_file(wanted, path, real) for path, real in self._found(wanted))
        except errors.TimedOut:
            return self._stop(wanted, "time")
        except errors.Cancelled:
            raise
        except errors.ReadroomError as error:
            self._leave(wanted, "refused", problem=error)
            return True

    def _leave(
        self, wanted: Wanted, why: Why, path: WorkPath | None = None, *, problem: Exception | None = None
    ) -> None:
        self._missing.append(NotPacked(wanted.asked_as, why, path, problem))

    def _stop(self, wanted: Wanted, why: Why, path: WorkPath | None = None) -> bool:
        self._complete = False
        self._leave(wanted, why, path)
        return False

    # --- finding ------------------------------------------------------------------------------

    def _found(self, wanted: Wanted) -> list[tuple[WorkPath, WorkPath]]:
        """The paths and real names that a glob finds, in order, as many as may still be packed."""
        start = _MAGIC.search(wanted.pattern)
        assert start is not None
        beginning = wanted.pattern[: start.start()].rpartition("/")[0]
        base, glob = self._guard.parse(beginning or "/"), wanted.pattern[len(beginning) :].lstrip("/")
        most = self._limits.files - len(self._files)
        found: list[tuple[WorkPath, WorkPath]] = []
        for path, real, kind in self._matches(wanted, base, glob):
            if kind is EntryKind.LINK:
                self._leave(wanted, "link", path)
            elif len(found) == most:
                self._complete = False
                self._leave(wanted, "files")
                break
            else:
                found.append((path, real))
        if not found:
            self._leave(wanted, "none")
        return sorted(found, key=lambda pair: byte_text(pair[0]))

    def _matches(
        self, wanted: Wanted, base: WorkPath, glob: str
    ) -> Iterator[tuple[WorkPath, WorkPath, EntryKind]]:
        """The names that a glob matches below a folder, folders excepted."""
        try:
            patterns = [translate(byte_text(one)) for one in alternatives(glob)]
            top = self._guard.open_folder(base)
        except (UnusablePattern, errors.NotFound, errors.NotAFolder):
            return
        deep = LIST_MAX_DEPTH if "**" in glob else glob.count("/") + 1
        walk = Walk(
            self._guard, self._deadline, depth=deep, ignores=None, enters=lambda name: True, unit=None
        )
        with top:
            for run in walk.below(top, base):
                for name in run.names:
                    path, kind = run.prefix + name, run.kind(name)
                    matched = any(pattern.fullmatch(byte_text(path)) for pattern in patterns)
                    if matched and kind is not EntryKind.FOLDER:
                        yield join(base, path), join(run.folder.real, name), kind
        for folder, problem in walk.closed.items():
            self._leave(wanted, "refused", join(base, folder), problem=problem)
        if walk.denied:
            self._missing.append(NotPacked(wanted.asked_as, "denied", base, count=walk.denied))
        if not walk.finished:
            raise errors.TimedOut(PACK_S)

    # --- packing ------------------------------------------------------------------------------

    def _collect_file(self, wanted: Wanted, path: WorkPath, real: WorkPath | None) -> bool:
        """Pack a file; one with a real name must still have it, so that no link is followed."""
        self._deadline.check()
        if path in self._seen:
            return True
        if len(self._files) >= self._limits.files:
            return self._stop(wanted, "files", path)
        if self._left <= 0:
            return self._stop(wanted, "bytes", path)
        self._seen.add(path)
        try:
            with starred(self._guard.open(path)) as source:
                require_showable(path, source)
                if real is None or source.real == real:
                    self._add(wanted, path, source)
                else:
                    self._leave(wanted, "link", path)
        except (errors.TimedOut, errors.Cancelled):
            raise
        except errors.ReadroomError as error:
            self._leave(wanted, "refused", path, problem=error)
        return True

    def _add(self, wanted: Wanted, path: WorkPath, source: Source) -> None:
        """Add the end of a file, as much as the limits allow."""
        size, stat = source.size, source.stat
        start = at = size - min(size, self._limits.file_bytes, self._left)
        entry = zipfile.ZipInfo(self._request.name(path), _moment(stat.mtime_ns))
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100000 | (stat.mode & 0o777)) << 16
        try:
            with self._zip.open(entry, "w") as out:
                # A file that has become shorter ends early.
                while at < size and (piece := source.read_at(at, min(BLOCK_BYTES, size - at))):
                    out.write(piece)
                    at += len(piece)
                    self._deadline.check()
        finally:
            written = at - start
            self._left -= written
            self._complete = self._complete and written == size
            self._files.append(PackedFile(wanted.asked_as, path, size, stat.mtime_ns, written))


def _moment(mtime_ns: int) -> tuple[int, int, int, int, int, int]:
    """A time as archives have it: in UTC, to the second, within their years."""
    try:
        moment = time.gmtime(mtime_ns // 1_000_000_000)[:6]
    except (OverflowError, OSError, ValueError):
        moment = (_FIRST_YEAR, 1, 1, 0, 0, 0)
    if moment[0] < _FIRST_YEAR:
        return (_FIRST_YEAR, 1, 1, 0, 0, 0)
    return moment if moment[0] <= _LAST_YEAR else (_LAST_YEAR, 12, 31, 23, 59, 58)
