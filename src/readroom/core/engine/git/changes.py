"""Show the changes of the files as they are, or of a revision, since another revision."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from typing import final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.git.asked import GitQuestion, asked, patience
from readroom.core.engine.git.blame import as_committed
from readroom.core.engine.git.files import ChangedPath, TreeDifference, between, of_folder
from readroom.core.engine.services import Job, Services
from readroom.core.history.merging import MERGED_BYTES
from readroom.core.limits import HEAD_BYTES, MAX_WARNINGS
from readroom.core.limits.outline import OUTLINE_BYTES
from readroom.core.quoting import quote
from readroom.core.repository.process import TooLargeBlob
from readroom.core.repository.repositories import Revision
from readroom.core.repository.trees import EXECUTABLE, LINK, SUBMODULE, Node
from readroom.core.stores.revision import is_pointer
from readroom.core.text import encodings, hidden
from readroom.core.text.edits.diff import DiffBlock, cost, hunks, split
from readroom.core.values.changes import Diff, Hunk
from readroom.core.values.files import Row, Warn
from readroom.core.values.git import (
    ChangedDefinition,
    ChangedFile,
    GitChangesRequest,
    GitChangesResult,
)

FILE_BYTES = 120
"""The cost of the row of a file, besides its names."""

SHARE = 0.85
"""The part of a reply that files and hunks get; its first and last line take the rest."""

PIECE_BYTES = 6_000
"""Larger hunks are shown as several: the smallest reply that clients pass on has 11,500 bytes."""

PARSE_S = 2.0
"""Time for the definitions of one side of a file."""


def perform(services: Services, job: Job[GitChangesRequest]) -> GitChangesResult:
    """The changes, as many as fit the reply.

    Raises:
        Denied, NoRepository, RepositoryRefused, NoSuchRevision, RepositoryFailed, MissingProgram: From git.
        BadCursor: The cursor is of another call, or the files changed since.
    """
    request = job.request
    about = asked(services, request.path, job.deadline)
    old, new = _sides(about, request.revision)
    difference = of_folder(about, old) if new is None else between(about, old, new)
    if not difference.files:
        about.exists(old, *([new] if new else []))
    print_of = _print(request, old, new, difference)
    first, skipped = _place(request, print_of, len(difference.files))
    page = _ChangesPage(services, about, request, job, difference.files, print_of)
    page.fill(first, skipped)
    warnings = hidden.in_names(_words(page.files), limit=MAX_WARNINGS)
    if about.repository.place.shallow:
        warnings.append(Warn("shallow", "this is a shallow clone; nothing is fetched"))
    if difference.left_out:
        warnings.append(Warn("new", f"{difference.left_out:,} names were not looked at for new files"))
    return GitChangesResult(
        about.path,
        old.commit,
        None if new is None else new.commit,
        page.files,
        len(difference.files),
        difference.hidden,
        page.cursor,
        warnings,
    )


def _words(files: Sequence[ChangedFile]) -> Iterator[str]:
    """The names and lines that a page shows."""
    for file in files:
        yield from (file.path, file.old or "", *(one.name for one in file.definitions))
        if file.diff is not None:
            yield from file.diff.text.split("\n")


def _sides(about: GitQuestion, revision: str) -> tuple[Revision, Revision | None]:
    """Both sides; None for the files as they are."""
    old, dots, new = revision.partition("..")
    if not dots:
        return about.revision(old), None
    if new.startswith("."):
        other = new[1:] or "HEAD"
        return about.revision(other, base=old or "HEAD"), about.revision(other)
    return about.revision(old), about.revision(new)


def _print(
    request: GitChangesRequest, old: Revision, new: Revision | None, difference: TreeDifference
) -> str:
    """Tells this comparison from another one."""
    sides = (old.commit.id, new.commit.id if new else "", request.path, request.by)
    digest = hashlib.sha256(repr(sides).encode("utf-8", "surrogatepass"))
    for file in difference.files:
        ids = (file.path, file.before.id if file.before else "", file.after.id if file.after else "")
        digest.update(repr(ids).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:10]


def _place(request: GitChangesRequest, print_of: str, total: int) -> tuple[int, int]:
    """The file and the hunk in it with which the page begins."""
    if request.cursor is None:
        return 0, 0
    begins, *numbers = request.cursor.split(".")
    again = replace(request, cursor=None)
    if len(numbers) != 2 or not all(number.isdecimal() and len(number) < 9 for number in numbers):
        raise errors.BadCursor("is not one that changes gave", next_request=again)
    if begins != print_of or int(numbers[0]) >= total:
        raise errors.BadCursor("is of other arguments, or files changed since", next_request=again)
    return int(numbers[0]), int(numbers[1])


class _Sides(Struct, frozen=True):
    """Both texts of a file as lines, and the blocks in which they differ."""

    before: list[str]
    after: list[str]
    blocks: Sequence[DiffBlock]


@final
class _ChangesPage:
    """One page of changes.

    Attributes:
        files: Those that fit.
        cursor: Where the next page begins; None if there is none.
    """

    def __init__(
        self,
        services: Services,
        about: GitQuestion,
        request: GitChangesRequest,
        job: Job[GitChangesRequest],
        changed: Sequence[ChangedPath],
        print_of: str,
    ) -> None:
        self._guard = services.guard
        self._about = about
        self._by = request.by
        self._deadline: Deadline = job.deadline
        self._room = int(job.cap.size * SHARE)
        self._changed = changed
        self._print = print_of
        self.files: list[ChangedFile] = []
        self.cursor: str | None = None

    def fill(self, first: int, skipped: int) -> None:
        """Add files from one on, of the first one the hunks after those that were shown."""
        ends = time.monotonic() + patience(self._deadline)
        for number in range(first, len(self._changed)):
            self._deadline.check()
            if self.files and time.monotonic() > ends:
                self.cursor = f"{self._print}.{number}.0"
                return
            file = self._changed[number]
            shown, next_hunk = self._file(file, skipped)
            if shown is None:
                self.cursor = f"{self._print}.{number}.{skipped}"
                return
            self.files.append(shown)
            if next_hunk:
                self.cursor = f"{self._print}.{number}.{next_hunk}"
                return
            skipped = 0

    def _file(self, file: ChangedPath, skipped: int) -> tuple[ChangedFile | None, int]:
        """A file as it fits, and the hunk with which it continues; None if not even its name fits."""
        named = self._about.named
        old = named(file.old) if file.old != file.path and file.letter == "R" else None
        own = ChangedFile(named(file.path), file.letter, old)
        self._room -= FILE_BYTES + len(quote(own.path).encode("utf-8", "replace")) * (2 if old else 1)
        if self._room < 0 and self.files:
            return None, 0
        note = _about_kind(file)
        if note:
            return replace(own, note=note), 0
        data = self._bytes(file)
        if isinstance(data, str):
            return replace(own, note=data), 0
        sides = self._compared(file, *data)
        if isinstance(sides, str):
            return replace(own, note=sides), 0
        added = sum(block.new_end - block.new_start for block in sides.blocks)
        removed = sum(block.old_end - block.old_start for block in sides.blocks)
        own = replace(own, added=added, removed=removed, note=_about_mode(file, data))
        if self._by == "file":
            return own, 0
        if self._by == "definition":
            return replace(own, definitions=self._definitions(file, sides)), 0
        return self._with_hunks(own, sides, skipped)

    def _with_hunks(self, own: ChangedFile, sides: _Sides, skipped: int) -> tuple[ChangedFile | None, int]:
        whole = hunks(sides.before, sides.after, changed=sides.blocks)
        every = [piece for hunk in whole for piece in _in_pieces(hunk)]
        fitting: list[Hunk] = []
        for hunk in every[skipped:]:
            size = cost(hunk)
            if size > self._room and (fitting or self.files):
                break
            self._room -= size  # alone it is shown even where it does not fit, and the reply is cut
            fitting.append(hunk)
        if not fitting and every[skipped:]:
            return None, 0
        reached = skipped + len(fitting)
        left = every[reached:]
        diff = Diff(
            _joined(fitting),
            len(left),
            left[0].new_start if left else 0,
            left[-1].new_start + left[-1].new_count if left else 0,
        )
        return replace(own, diff=diff), reached if left else 0

    def _bytes(self, file: ChangedPath) -> tuple[bytes, bytes] | str:
        """Both sides, or why they cannot be compared."""
        try:
            before = b"" if file.before is None else self._committed(file.before)
            if file.after is None:
                return before, b""
            if not file.is_open:
                return before, self._committed(file.after)
            after = self._as_it_is(file)
        except TooLargeBlob as error:
            return f"{error.size:,} bytes, which is too large to be compared"
        if isinstance(after, str):
            return after
        return before, as_committed(after, before) if before else after

    def _committed(self, node: Node) -> bytes:
        return self._guard.as_shown(self._about.repository.blob(node.id, self._deadline))

    def _as_it_is(self, file: ChangedPath) -> bytes | str:
        """The file as it is; it is opened under the rules once more."""
        path = self._about.named(file.path)
        try:
            if file.after is not None and file.after.mode == LINK:
                return b""
            with self._guard.open(path) as source:
                if source.size > MERGED_BYTES:
                    return f"{source.size:,} bytes, which is too large to be compared"
                return source.read_at(0, source.size)
        except errors.ReadroomError as error:
            return f"it cannot be read now: {error.message}"

    def _compared(self, file: ChangedPath, before: bytes, after: bytes) -> _Sides | str:
        texts: list[list[str]] = []
        by_bytes = not self._guard.masks  # git would compare what is not shown
        for data in (before, after):
            if len(data) > MERGED_BYTES:
                return f"{len(data):,} bytes, which is too large to be compared"
            encoding = encodings.UTF8
            if data:
                found = encodings.detect(data[:HEAD_BYTES], complete=len(data) <= HEAD_BYTES)
                if found is None or (b"\0" in data[:HEAD_BYTES] and found.unit == 1):
                    return f"binary, {len(before):,} to {len(after):,} bytes"
                encoding = found
            by_bytes = by_bytes and encoding.unit == 1
            texts.append(split(encodings.decode(data[len(encoding.bom) :], encoding)))
        if not by_bytes or not before or not after:
            from readroom.core.text.edits.diff import blocks

            return _Sides(texts[0], texts[1], blocks(texts[0], texts[1]))
        assert file.before is not None
        assert file.after is not None
        other = after if file.is_open else file.after.id
        found_blocks = self._about.repository.compare(file.before.id, other, self._deadline)
        sizes = (len(texts[0]), len(texts[1]))
        if any(block.old_end > sizes[0] or block.new_end > sizes[1] for block in found_blocks):
            return "its lines cannot be compared"
        return _Sides(texts[0], texts[1], found_blocks)

    # --- by definition ------------------------------------------------------------------------

    def _definitions(self, file: ChangedPath, sides: _Sides) -> Sequence[ChangedDefinition]:
        """The innermost definitions with changes; those of both sides are matched by their names."""
        before, after = self._rows(file.old, sides.before), self._rows(file.path, sides.after)
        names_before = {row.name for row in before}
        names_after = {row.name for row in after}
        counts: dict[tuple[str, str, int, int], list[int]] = {}
        for block in sides.blocks:
            for line in range(block.new_start + 1, block.new_end + 1):
                _count(counts, after, line, names_before, "added", 0)
            for line in range(block.old_start + 1, block.old_end + 1):
                _count(counts, before, line, names_after, "deleted", 1)
        merged: dict[str, ChangedDefinition] = {}
        for (name, what, first, last), (added, removed) in counts.items():
            known = merged.get(name)
            if known is None:
                merged[name] = ChangedDefinition(name, what, first, last, added, removed)  # type: ignore[arg-type]
            else:
                merged[name] = replace(known, added=known.added + added, removed=known.removed + removed)
        found = sorted(merged.values(), key=lambda one: (one.what == "deleted", one.first))
        kept: list[ChangedDefinition] = []
        for one in found:
            self._room -= len(one.name.encode("utf-8", "replace")) + 40
            if self._room < 0 and kept:
                break
            kept.append(one)
        return kept

    def _rows(self, path: str, lines: Sequence[str]) -> list[Row]:
        from readroom.core.outline import Unparsable, build, can_outline
        from readroom.core.outline.languages import language_of
        from readroom.core.values.files import main_rows

        text = "".join(lines)
        language = language_of(path, text[:1000])
        if language is None or not can_outline(language) or len(text) > OUTLINE_BYTES:
            return []
        try:
            return list(main_rows(build(text, language, self._deadline.of_thread(PARSE_S)).items))
        except (Unparsable, errors.TimedOut):
            self._deadline.check()
            return []


def _count(
    counts: dict[tuple[str, str, int, int], list[int]],
    rows: Sequence[Row],
    line: int,
    others: set[str],
    alone: str,
    which: int,
) -> None:
    """Count a changed line for the innermost definition that has it, or for the top of the file."""
    inner = None
    for row in rows:
        if row.item.start <= line <= row.item.end:
            inner = row
    if inner is None:
        key = ("", "changed", 0, 0)
    else:
        what = "changed" if inner.name in others else alone
        key = (inner.name, what, inner.item.start, inner.item.end)
    counts.setdefault(key, [0, 0])[which] += 1


def _in_pieces(hunk: Hunk) -> Iterator[Hunk]:
    """A hunk as several that follow one another, so that a page can end inside a large one."""
    old, new = hunk.old_start + (not hunk.old_count), hunk.new_start + (not hunk.new_count)
    lines: list[str] = []
    size = 0
    for at, line in enumerate(hunk.lines):
        size += len(line.encode("utf-8", "replace")) + 1
        if size > PIECE_BYTES and lines and not line.startswith("\\"):
            piece = _piece(old, new, lines)
            old, new = old + piece.old_count, new + piece.new_count
            yield piece
            lines, size = [], size - PIECE_BYTES
        lines.append(hunk.lines[at])
    yield _piece(old, new, lines)


def _joined(pieces: Sequence[Hunk]) -> list[Hunk]:
    """Pieces that follow one another as one hunk: git would insert each piece of a new file at its top."""
    found: list[Hunk] = []
    ends = (-1, -1)
    for piece in pieces:
        old, new = piece.old_start + (not piece.old_count), piece.new_start + (not piece.new_count)
        if (old, new) == ends:
            last = found.pop()
            first = (last.old_start + (not last.old_count), last.new_start + (not last.new_count))
            found.append(_piece(*first, [*last.lines, *piece.lines]))
        else:
            found.append(piece)
        ends = (old + piece.old_count, new + piece.new_count)
    return found


def _piece(old: int, new: int, lines: list[str]) -> Hunk:
    """A hunk of these lines, the first of which have these numbers."""
    old_count = sum(line[:1] in (" ", "-") for line in lines)
    new_count = sum(line[:1] in (" ", "+") for line in lines)
    return Hunk(old - (not old_count), old_count, new - (not new_count), new_count, lines)


def _about_kind(file: ChangedPath) -> str:
    """The kind of a file that has no lines to compare."""
    modes = [node.mode for node in (file.before, file.after) if node is not None]
    if SUBMODULE in modes:
        ids = [node.id[:10] if node is not None else "none" for node in (file.before, file.after)]
        return f"submodule, commit {ids[0]} to {ids[1]}"
    if LINK in modes:
        return "symbolic link"
    return ""


def _about_mode(file: ChangedPath, data: tuple[bytes, bytes]) -> str:
    notes = []
    if file.before is not None and file.after is not None and file.before.mode != file.after.mode:
        notes.append(f"mode {file.before.mode:o} to {file.after.mode:o}")
    if file.before is None and file.after is not None and file.after.mode == EXECUTABLE:
        notes.append(f"mode {EXECUTABLE:o}")
    if any(is_pointer(side) for side in data):
        notes.append("pointer of git LFS")
    return ", ".join(notes)
