"""Note what a call has shown or changed, so that its own changes are no news."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import final

from msgspec.structs import replace

from readroom.core import errors
from readroom.core.engine.services import Services
from readroom.core.limits.session import SEEN_FILES
from readroom.core.paths import WorkPath, may_lead_inside
from readroom.core.session.conversation import Session, ShownLines
from readroom.core.session.seen import UNKNOWN, SeenFile, SeenLines
from readroom.core.since.authors import renames
from readroom.core.text import hashes
from readroom.core.values import Request, Result, Version
from readroom.core.values.changes import (
    ChangesResult,
    DeleteRequest,
    EditResult,
    WriteResult,
)
from readroom.core.values.history import UndoResult
from readroom.core.values.verbs import BY_REQUEST, changes

_COARSE_NS = 20_000_000
"""How late the clock of a file system may be: it is set with each tick of the kernel."""

_TRIES = 3
"""Attempts to note a file that other calls of the conversation note as well."""


@final
class Notes:
    """The additions of one call to what its conversation knows."""

    def __init__(
        self,
        services: Services,
        session: Session,
        files: Sequence[SeenFile],
        still: Container[str],
        began_ns: int,
    ) -> None:
        """`files` is what was known when the call began, at that time; `still` had not changed then."""
        self._services = services
        self._session = session
        self._known = {seen.path: seen for seen in files}
        self._still = still
        self._began_ns = began_ns

    def take(self, request: Request, result: Result, shown: Sequence[ShownLines]) -> None:
        """Note a result. Raises StateFailed."""
        if getattr(request, "dry_run", False):
            return
        traces = BY_REQUEST[type(request)].traces if changes(request) else "none"
        if traces == "command":
            self._refresh(self._current())
        elif traces == "edit":
            self._current()
            for gone, to in renames(result):
                self._rename(gone, to)
            if isinstance(result, UndoResult):
                names = {name for one in result.undone for name in (one.path, one.to)}
                self._refresh(seen for seen in self._current() if seen.path in names)
        runs: dict[WorkPath, list[ShownLines]] = {}
        for span in (*shown, *_changed_lines(result)):
            if not span.path.startswith("/") and not may_lead_inside(span.path) and self._changes(span.path):
                runs.setdefault(WorkPath(span.path), []).append(span)
        for path, spans in list(runs.items())[:SEEN_FILES]:
            self._show(path, request.path, spans)
        if traces == "edit":
            self._aliases(runs)

    def _changes(self, path: str) -> bool:
        """Whether a name may mean another state later: a file at a revision of git stays as it is."""
        return "@" not in path or self._version(WorkPath(path)) is not None

    def take_failed(self, request: Request) -> None:
        """Note what a call that failed has perhaps changed. Raises StateFailed."""
        if not changes(request):
            return
        if BY_REQUEST[type(request)].traces == "command":
            self._refresh(self._current())
        elif isinstance(request, DeleteRequest):
            self._refresh(seen for seen in self._current() if self._version(seen.path) is None)

    # --- what was shown -------------------------------------------------------------------------

    def _show(self, path: WorkPath, asked: str, spans: Sequence[ShownLines]) -> None:
        for _ in range(_TRIES):
            before = self._known.get(path)
            after = self._shown(path, asked, before, spans)
            if self._session.exchange(path, before, after):
                return
            self._current()

    def _shown(
        self, path: WorkPath, asked: str, before: SeenFile | None, spans: Sequence[ShownLines]
    ) -> SeenFile:
        digest = next((span.content_hash for span in spans if span.content_hash is not None), None)
        digits = None if digest is None else digest.removeprefix(hashes.PREFIX)
        if before is not None and digits in (None, before.digits) and path in self._still:
            if len(spans) == 1 and not before.grows and _covers(before, spans[0]):
                return before  # the usual case, and a third of the time
            version, digits = before.version, before.digits
        else:
            version = self._settled(path, digits)
        runs = [SeenLines(span.first, span.last, digits) for span in spans if span.first > 0]
        name = before.name if before is not None else self._name(path, asked)
        lines = () if before is None else before.lines
        return SeenFile(path, name, version, digits, lines).shown(runs)

    def _name(self, path: str, asked: str) -> str:
        """The name as the caller wrote it, if that is the one."""
        try:
            return asked if asked != path and self._services.guard.parse(asked) == path else path
        except errors.ReadroomError:
            return path

    def _is_still(self, seen: SeenFile) -> bool:
        return self._services.guard.store.is_still(WorkPath(seen.path), seen.version)

    def _version(self, path: str) -> Version | None:
        try:
            return self._services.guard.store.version(WorkPath(path))
        except errors.ReadroomError:
            return None

    def _settled(self, path: str, digits: str | None) -> Version:
        """The version of the state with that hash; UNKNOWN if the file has another one by now.

        A file that changed during the call may have changed after it was read or written.
        """
        version = self._version(path)
        if version is None:
            return UNKNOWN
        texts = self._services.texts
        if digits is None or version.ctime_ns < self._began_ns - _COARSE_NS or not texts.wants(version.size):
            return version
        try:
            with self._services.guard.open(path) as source:
                if not texts.wants(source.size):
                    return UNKNOWN
                data = source.read_at(0, source.size)
                return source.version if sha256(data).hexdigest() == digits else UNKNOWN
        except errors.ReadroomError:
            return UNKNOWN

    # --- what was changed -----------------------------------------------------------------------

    def _current(self) -> Sequence[SeenFile]:
        """The files that are known by now."""
        files = self._session.files()
        self._known = {seen.path: seen for seen in files}
        return files

    def _refresh(self, files: Iterable[SeenFile]) -> None:
        """Take the state of these files as known: a command of the conversation may have changed them."""
        for seen in files:
            if not self._is_still(seen):
                version = self._version(seen.path)
                if version != seen.version:
                    after = replace(seen, version=version, digits=None, lines=(), grows=False)
                    self._exchange(seen, after)

    def _rename(self, gone: str, to: str | None) -> None:
        """Note that a name, with what is below it, is gone or has another one."""
        for seen in list(self._known.values()):
            if seen.path != gone and not seen.path.startswith(f"{gone}/"):
                continue
            self._exchange(seen, None)
            if to is not None:
                path = WorkPath(to + seen.path[len(gone) :])
                after = replace(seen, path=path, name=path, version=self._version(path))
                self._session.exchange(path, self._known.get(path), after)
        self._current()

    def _aliases(self, changed: Iterable[str]) -> None:
        """Note that other names of changed files, such as links to them, lead to the new states."""
        versions = {self._version(path) for path in changed} - {None}
        if not versions:
            return
        for seen in self._current():
            if not self._is_still(seen):
                version = self._version(seen.path)
                if version != seen.version and version in versions:
                    self._exchange(seen, replace(seen, version=version, digits=None, lines=()))

    def _exchange(self, before: SeenFile, after: SeenFile | None) -> None:
        self._session.exchange(before.path, before, after)


def _covers(seen: SeenFile, span: ShownLines) -> bool:
    return any(
        run.first <= span.first and span.last <= run.last for run in seen.lines if run.digits == seen.digits
    )


def _changed_lines(result: Result) -> Iterator[ShownLines]:
    """The lines that a change has written, which its caller knows."""
    match result:
        case EditResult(content_hash=str(digest)):
            yield ShownLines(result.path, digest, result.first_line, result.last_line)
        case WriteResult():
            if result.total_lines:
                yield ShownLines(result.path, result.content_hash, 1, result.total_lines)
        case ChangesResult():
            for one in result.results:
                yield from _changed_lines(one)  # type: ignore[arg-type]
        case _:
            pass
