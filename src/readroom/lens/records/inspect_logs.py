"""Inspect AI: `logs/*.eval`, a zip of `header.json` and `samples/<id>_epoch_<n>.json`; a sample is a session.

`messages` of a sample is the whole conversation; `events` repeats it. The members are compressed with
Zstandard, which the standard library reads from 3.14 on. Their library is not needed, so a log costs no
import of 2 seconds, and a sample of any size is read element by element.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from readroom.lens.records.events import Event, Opened, Skipped
from readroom.lens.records.messages import message_events
from readroom.lens.records.stream import elements
from readroom.lens.records.values import NotReadable, Object, as_object, as_text, decode, time_of
from readroom.limits.lens import RECORD_DIRECTORY_BYTES, RECORD_DOCUMENT_BYTES, RECORD_MEMBER_BYTES

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile

NAME = "Inspect AI"
MAGIC = b"PK\x03\x04"


def read(path: Path) -> Iterator[Event]:
    """The events of every sample in a log."""
    try:
        with _SmallReads(path) as stream, zipfile.ZipFile(stream) as archive:
            header = _header(archive)
            evaluation = as_object(header.get("eval"))
            version = as_text(as_object(evaluation.get("packages")).get("inspect_ai"))
            for member in archive.infolist():
                name = member.filename
                if not name.startswith("samples/") or not name.endswith(".json"):
                    continue
                if member.file_size > RECORD_MEMBER_BYTES:
                    yield Skipped(name[:80], f"{member.file_size:,} bytes")
                    continue
                if member.compress_type not in _METHODS:
                    yield Skipped(name[:80], "packed as no log is")
                    continue
                session = f"{as_text(evaluation.get('eval_id')) or path.stem}/{name[8:-5]}"
                yield Opened(
                    session,
                    NAME,
                    version,
                    model=as_text(evaluation.get("model")),
                    time=time_of(evaluation.get("created")),
                )
                with archive.open(member) as sample:
                    yield from _sample(cast("BinaryIO", sample), member.file_size, session)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, RuntimeError, ValueError) as error:
        raise NotReadable(f"not a zip that can be read ({type(error).__name__})") from error


_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_ZSTANDARD})
"""How a log is packed. LZMA would take as much memory as a member says it needs, up to 4 GB."""


class _SmallReads(io.FileIO):
    """A file whose directory is not read when it is too large: it is read at once, and kept."""

    def read(self, size: int | None = -1, /) -> bytes:
        """The next bytes. Raises OSError when they are too many."""
        if size is None or not 0 <= size <= RECORD_DIRECTORY_BYTES:
            raise OSError("a directory of too many members")
        return super().read(size)


def _header(archive: zipfile.ZipFile) -> Object:
    for name in ("header.json", "_journal/start.json"):
        try:
            with archive.open(name) as stream:
                return as_object(decode(stream.read(RECORD_DOCUMENT_BYTES)))
        except (KeyError, NotReadable):
            continue
    return {}


def _sample(stream: BinaryIO, size: int, session: str) -> Iterator[Event]:
    number = 0
    for element in elements(stream, size):
        if isinstance(element, Skipped):
            yield Skipped(element.where, element.why, session)
        elif element.key == "messages":
            number += 1
            yield from message_events(as_object(element.value), session, f"message {number}")
