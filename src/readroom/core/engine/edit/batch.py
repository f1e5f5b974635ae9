"""Change several files, all of them or none: by replacements, or as a patch says.

Each file is prepared in memory, and failures are collected, so that a caller learns of all of them; what
is written is written together (`names`).
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256

from msgspec import Struct

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.edit.checks import require_editable, require_few
from readroom.core.engine.edit.intent import announce
from readroom.core.engine.edit.names import EDIT_FILES_BYTES, HeldName, Names, attempted
from readroom.core.engine.edit.patching import Room, Section, found, patch
from readroom.core.engine.edit.told import CHECKED_BYTES, Before, about_edit, text_of
from readroom.core.engine.services import Job, Services
from readroom.core.limits import HEAD_BYTES, MATCHES_NAMED
from readroom.core.stores.base import Moved, Source
from readroom.core.text import encodings, hashes
from readroom.core.text.edits.diff import between, common_end, common_start, cost
from readroom.core.text.edits.lenient import ManyPlaces, NoPlace, replaced
from readroom.core.text.edits.slips import slip_in
from readroom.core.text.encodings import UTF8, Encoding
from readroom.core.values import Version
from readroom.core.values.changes import (
    Diff,
    Edit,
    EditFilesRequest,
    EditFilesResult,
    FileEdited,
    FileEdits,
    Slip,
)
from readroom.core.values.files import Warn
from readroom.core.values.patches import FilePatch

EDIT_FILES = 100
"""Files in one call that edits. All are held open until the last is written, next to their new contents."""


def perform(services: Services, job: Job[EditFilesRequest]) -> EditFilesResult:
    """Replace texts in several files. Nothing is changed when this raises.

    Raises:
        TooLarge: The call itself is.
        SameFile: Two of its paths are one file.
        EditsFailed: Some of the files cannot be changed so; with the failure of each.
        NoSpace, ReadOnlyPlace, NoPermission, StoreFailed: From writing.
        TimedOut, Cancelled: On the way.
        Changed: Another program kept saving one of them.
    """
    _require_usable(job.request)

    def attempt(names: Names) -> _Batch:
        batch = _Batch(services, job, names)
        batch.change()
        return batch

    return attempted(services, job, attempt).result()


def _require_usable(request: EditFilesRequest) -> None:
    files = request.files
    if len(files) > EDIT_FILES:
        raise errors.TooLarge("files", len(files), EDIT_FILES, "files", "Send them in several calls.")
    edits = [edit for file in files if isinstance(file, FileEdits) for edit in file.edits]
    require_few(edits)


class _EditedFile(Struct):
    """A file of the call that gets replacements."""

    asked: FileEdits
    name: HeldName
    encoding: Encoding = UTF8
    before: bytes = b""
    after: bytes = b""
    replacements: int = 0
    diff: Diff = Diff()
    broken: Sequence[Warn] | None = None

    @property
    def path(self) -> str:
        """Its path in the workspace."""
        return self.name.path

    def told(self, deadline: Deadline) -> Sequence[Warn]:
        """Warnings about what its change broke."""
        if self.before == self.after or max(len(self.before), len(self.after)) > CHECKED_BYTES:
            return ()
        if self.broken is None:
            before = Before(self.before, self.encoding)
            after = text_of(self.after, self.encoding)
            self.broken = about_edit(self.name.place.real, before, after, deadline)
        return self.broken


class _Batch:
    """One attempt at a call."""

    def __init__(self, services: Services, job: Job[EditFilesRequest], names: Names) -> None:
        self._texts = services.texts
        self._room = job.cap.size
        self._request = job.request
        self._deadline = job.deadline
        self._names = names
        self._files: list[_EditedFile | Section] = []

    def change(self) -> None:
        """Find, prepare and write the files."""
        files, names = self._request.files, self._names
        made: dict[int, _EditedFile | Section] = {}
        for number, file in enumerate(files):
            with names.collecting(number):
                made[number] = self._found(file, number)
        self._require_several()
        names.require_together()
        if not self._request.dry_run:
            names.lock()
        self._files = list(made.values())
        for number, one in made.items():
            with names.collecting(number):
                self._prepare(one)
        if names.failures:
            failed = sorted(names.failures.items())
            raise errors.EditsFailed([(files[at].path, failure) for at, failure in failed])
        if not self._request.dry_run:
            names.commit_contents(partial(announce, self.result, self._versions))
            for one in self._files:
                self._remember(one)

    def result(self) -> EditFilesResult:
        """The outcome for the files; asked for once they and their folders are free again."""
        shown = self._names.places.guard.as_shown
        files = [_described(made, self._deadline, shown) for made in self._files]
        return EditFilesResult(files, self._request.dry_run)

    def _versions(self) -> list[Version | None]:
        sources = [made.name.source for made in self._files]
        return [None if source is None else source.version for source in sources]

    def _found(self, file: FileEdits | FilePatch, number: int) -> _EditedFile | Section:
        if isinstance(file, FilePatch):
            return found(self._names, file, number)
        if file.problem is not None:
            raise file.problem
        name = self._names.find(file.path, number)
        if name.found is None:
            raise errors.NotFound(name.path)
        return _EditedFile(file, name)

    def _require_several(self) -> None:
        """Refuse two names of one file: the second change would overwrite the first."""
        seen = dict[object, int]()
        for number, file in enumerate(self._request.files):
            if isinstance(file, FilePatch):
                continue
            failure = self._names.failures.get(number)
            if isinstance(failure, errors.SameFile):
                raise failure
            for key in self._keys(number, failure):
                other = seen.setdefault(key, number)
                if other != number:
                    raise errors.SameFile(file.path, self._request.files[other].path)

    def _keys(self, number: int, failure: errors.ReadroomError | None) -> Iterator[object]:
        """Keys that two names of one file have in common."""
        if isinstance(failure, errors.SymbolicLink):
            yield failure.target  # a link to a file that has an entry of its own
        for name in self._names:
            if name.change == number:
                yield name.place.real
                if name.found is not None and name.found.inode:
                    yield name.found.device, name.found.inode

    # --- preparing ----------------------------------------------------------------------------

    def _prepare(self, made: _EditedFile | Section) -> None:
        self._deadline.check()
        if isinstance(made, Section):
            room = Room(self._room, self._request.diff)
            patch(self._names, made, room, self._deadline)
        else:
            self._edit(made)
        self._room -= sum(cost(hunk) for hunk in made.diff.hunks)

    def _edit(self, file: _EditedFile) -> None:
        before = self._names.content(file.name)
        if before is None:
            raise Moved
        file.before = file.after = before
        assert file.name.source is not None
        encoding = file.encoding = _encoding(file.name.source, file)
        start = len(encoding.bom)
        text = encodings.decode(before[start:], encoding)
        changed = self._edited(file, text)
        if changed != text:
            file.after = before[:start] + _encoded(file.path, text, changed, encoding, before[start:])
            file.diff = between(text, changed, self._room, self._request.diff)
            self._names.put(file.name, file.after)

    def _edited(self, file: _EditedFile, text: str) -> str:
        """Make each edit in the text that the edits before it left."""
        for number, edit in enumerate(file.asked.edits):
            if not edit.old_text:
                raise errors.BadValue(
                    f"edits[{number}].old_text", "", "is empty", "Send the text to be replaced."
                )
            self._deadline.check()
            try:
                text, count = replaced(
                    text, edit.old_text, edit.new_text, every=edit.replace_all, named=MATCHES_NAMED
                )
            except NoPlace as none:
                raise _no_match(file.path, number, text, edit, none) from None
            except ManyPlaces as many:
                raise errors.ManyMatches(file.path, number, many.lines, many.count) from None
            file.replacements += count
            if len(text) > EDIT_FILES_BYTES:
                raise errors.TooLarge(
                    "The changed file", len(text), EDIT_FILES_BYTES, "characters", "Replace less."
                )
        return text

    def _remember(self, made: _EditedFile | Section) -> None:
        """Keep both states, so that a later call with the hash of one can learn what changed."""
        states: Sequence[tuple[HeldName, bytes | None]]
        if isinstance(made, _EditedFile):
            states = ((made.name, made.before), (made.name, made.after))
        else:
            states = ((made.name, made.previous), (made.to or made.name, made.content))
        for name, data in states:
            if data is not None:
                data = self._names.places.guard.as_shown(data)
                self._texts.put(name.place.real, sha256(data).hexdigest(), data)


def _broken(made: Section, deadline: Deadline) -> Sequence[Warn]:
    """Warnings about what a section of a patch broke."""
    old, new = made.previous, made.content
    if old is None or new is None or old == new or max(len(old), len(new)) > CHECKED_BYTES:
        return ()
    encoding = encodings.detect(old[:HEAD_BYTES], complete=len(old) <= HEAD_BYTES) or UTF8
    name = made.to or made.name
    return about_edit(name.place.real, Before(old, encoding), text_of(new, encoding), deadline)


def _described(
    made: _EditedFile | Section, deadline: Deadline, shown: Callable[[bytes], bytes]
) -> FileEdited:
    if isinstance(made, Section):
        name = made.to or made.name
        return FileEdited(
            made.file.path,
            name.path,
            _hash(made.previous, shown),
            _hash(made.content, shown),
            len(made.content or b""),
            len(made.file.hunks),
            made.diff,
            tuple(dict.fromkeys((*made.name.warnings, *name.warnings, *_broken(made, deadline)))),
            action=made.file.action,
        )
    return FileEdited(
        made.asked.path,
        made.path,
        _hash(made.before, shown),
        _hash(made.after, shown),
        len(made.after),
        made.replacements,
        made.diff,
        (*made.name.warnings, *made.told(deadline)),
    )


def _no_match(path: str, number: int, text: str, edit: Edit, none: NoPlace) -> errors.NoMatch:
    slip = Slip(line_ends=True) if none.line_ends else slip_in(text, edit.old_text, edit.new_text)
    return errors.NoMatch(path, number, "Compare it with the file, blanks and all.", slip=slip)


def _hash(data: bytes | None, shown: Callable[[bytes], bytes]) -> str | None:
    return None if data is None else hashes.full(sha256(shown(data)).hexdigest())


def _encoding(source: Source, file: _EditedFile) -> Encoding:
    sample = file.before[:HEAD_BYTES]
    encoding = encodings.detect(sample, complete=len(sample) == source.size)
    return require_editable(file.path, source, sample, encoding, "Only text can be edited.")


def _encoded(path: str, old: str, new: str, encoding: Encoding, before: bytes) -> bytes:
    """The changed text as bytes, in which unchanged text keeps its bytes, invalid ones included."""
    start = common_start(old, new)
    end = common_end(old, new, start)
    head, tail = _as_it_was(old[:start], encoding), _as_it_was(old[len(old) - end :], encoding)
    if not before.startswith(head) or not before.endswith(tail):
        raise errors.BrokenPlace(path, old.count("\n", 0, start) + 1, encoding.name)
    inserted = new[start : len(new) - end]
    try:
        encoded = head + _as_it_was(inserted, encoding) + tail
    except UnicodeEncodeError as error:
        line = new.count("\n", 0, start + error.start) + 1
        char = inserted[error.start]
        advice = "Use characters that it has."
        raise errors.Unencodable(path, "replace", char, line, encoding.name, advice) from None
    if encodings.decode(encoded, encoding) != new:
        raise errors.BrokenPlace(path, old.count("\n", 0, start) + 1, encoding.name)
    return encoded


def _as_it_was(text: str, encoding: Encoding) -> bytes:
    if encoding.unit == 1:
        return text.encode(encoding.name, "readroom.restore")
    return text.encode(encoding.name, "surrogatepass")


def _restored(error: UnicodeError) -> tuple[bytes, int]:
    """Error handler that restores an invalid byte, which decoding carries as a lone surrogate."""
    assert isinstance(error, UnicodeEncodeError)
    code = ord(error.object[error.start]) - 0xDC00
    if not 0 <= code <= 0xFF:
        raise error
    return bytes([code]), error.start + 1


codecs.register_error("readroom.restore", _restored)
