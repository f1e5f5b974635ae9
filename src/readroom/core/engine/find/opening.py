"""How a ranked search opens files, in folders and in archives, and decodes their text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.services import Services
from readroom.core.errors import TooLarge
from readroom.core.formats.compressed import MAGIC_BYTES, by_magic
from readroom.core.formats.kinds import classify
from readroom.core.limits import HEAD_BYTES
from readroom.core.limits.find import FIND_DOCUMENT_S, FIND_FILE_BYTES
from readroom.core.paths import WorkPath, may_lead_inside
from readroom.core.policy.guard import Guard
from readroom.core.quoting import quote
from readroom.core.search.pattern import is_mixed
from readroom.core.stores.base import Folder, Source
from readroom.core.text import encodings
from readroom.core.text.encodings import Encoding
from readroom.core.values import GrepRequest, Kind

_ADVICE = "Search it with grep_files, or read a part of it."


@final
class Opener:
    """Opens files for one search.

    Attributes:
        guard: Of the workspace, or of the archive in which the searched folder is.
        archives: Whether members of archives are looked at.
        compressed: Whether compressed files are.
    """

    def __init__(self, services: Services, deadline: Deadline, *, archives: bool, compressed: bool) -> None:
        self.guard = services.guard
        self.archives = archives
        self.compressed = compressed
        self._services = services
        self._room = services.archives
        self._deadline = deadline

    @contextmanager
    def file(self, path: WorkPath) -> Iterator[tuple[Guard, Source]]:
        """A file by its real path, and the guard that let it through. Raises as `Guard.open` does."""
        with ExitStack() as opened:
            guard = self.guard
            if self.archives and may_lead_inside(path):
                inner = self._room().entered(guard, path, self._deadline)
                if inner is not None:
                    opened.callback(inner.close)
                    guard = inner
            yield guard, opened.enter_context(guard.open(path))

    def text(self, source: Source, deadline: Deadline) -> DecodedFile | None:
        """The text of an opened file; None if it is not text, or compressed and not asked for.

        Raises:
            TooLarge: It is more than is ranked at once.
            Binary, BrokenData, TimedOut: Of what is compressed.
        """
        read = None if source.size > FIND_FILE_BYTES else read_text(source)
        return self._content(source, deadline) if read is None and self.compressed else read

    def _content(self, source: Source, deadline: Deadline) -> DecodedFile | None:
        from readroom.core.engine.read.compressed import searchable  # few searches need it
        from readroom.core.session.expansions import ExpandedSource

        services, request = self._services, GrepRequest("", source.real)
        if source.size > FIND_FILE_BYTES and is_packed(source):
            raise TooLarge(quote(source.real), source.size, FIND_FILE_BYTES, "bytes", _ADVICE)
        with (
            deadline.share(FIND_DOCUMENT_S) as within,  # bounds a decompression bomb
            searchable(source, request, services.indexes, services.limits, within) as content,
        ):
            if content is source:
                return None
            if content.size > FIND_FILE_BYTES:
                raise TooLarge(quote(source.real), content.size, FIND_FILE_BYTES, "bytes expanded", _ADVICE)
            read = read_text(content)
            if read is None or not isinstance(content, ExpandedSource):
                return read
            problem = "" if content.stopped is None else content.stopped.detail
            return replace(read, digits=content.digits or read.digits, problem=problem)

    @contextmanager
    def members(
        self, guard: Guard, path: WorkPath, deadline: Deadline
    ) -> Iterator[tuple[Guard, Folder] | None]:
        """The folder of an archive, and its guard; None if the file is not an archive.

        Raises:
            BrokenData, BadDocument: It cannot be opened.
            TimedOut: It was not expanded in time.
            ReadroomError: As `Guard.open` does.
        """
        with ExitStack() as opened:
            inside = self._room().folder(guard, path, deadline)
            if inside is None:
                yield None
                return
            inner, top = inside
            opened.callback(inner.close)
            yield inner, opened.enter_context(inner.open_folder(top))


class DecodedFile(Struct, frozen=True):
    """A decoded file: text, bytes and problems; `digits` is the file's hash if it is compressed."""

    text: str
    data: bytes
    encoding: Encoding
    digits: str = ""
    problem: str = ""

    @property
    def hash(self) -> str:
        """The hash of the file in hex, of its compressed bytes if it is compressed."""
        return self.digits or hashlib.sha256(self.data).hexdigest()


def read_text(source: Source) -> DecodedFile | None:
    """The text of an opened file; None when it is not one."""
    head = source.read_at(0, min(source.size, HEAD_BYTES))
    encoding = encoding_of(source, head) if by_magic(head) is None else None
    if encoding is None:
        return None
    rest = source.size - len(head)
    data = head + source.read_at(len(head), rest) if rest > 0 else head
    text = encodings.decode(data[len(encoding.bom) :], encoding)
    return DecodedFile(encodings.visible(text), data, encoding)


def is_packed(source: Source) -> bool:
    """Whether an opened file is compressed."""
    return by_magic(source.read_at(0, MAGIC_BYTES)) is not None


def encoding_of(source: Source, head: bytes) -> Encoding | None:
    """The encoding of a file that begins with `head`; None if it is not text."""
    # ASCII that is not plain text: binary, an encoding with escapes, a document.
    if head.isascii() and b"\0" not in head and b"\x1b" not in head and b"%PDF" not in head:
        return encodings.UTF8
    if is_mixed(head):
        return encodings.UTF8
    encoding = encodings.detect(head, complete=source.size <= HEAD_BYTES)
    binary = encoding is None or classify(source.real, head, encoding) in (Kind.BINARY, Kind.IMAGE)
    return None if binary else encoding
