"""The parent's side of a process that extracts one document: start it, query it, end it in time.

A hostile file may control its answers.  So sizes are checked before anything is read, and an invalid
answer ends the process.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TypeVar, final

import msgspec
from msgspec.structs import astuple, replace

from readroom.core.deadline import Deadline
from readroom.core.errors import StoreFailed, TimedOut, TransferLimit
from readroom.core.limits import BLOCK_BYTES, HEAD_BYTES, SMALL_FILE_BYTES
from readroom.core.limits.files import CLOCK_S
from readroom.core.secrets import unmasked
from readroom.core.stores.base import Source, is_far
from readroom.core.stores.spending import COUNTED_BYTES
from readroom.core.text.line_index import Shrunk
from readroom.documents import limits
from readroom.documents.formats import Area, Encrypted, NoSuchColumn, Part, Picture, Unreadable, protocol
from readroom.documents.formats.protocol import RANGE_BYTES, Extracted, Opened, Refused, Wanted
from readroom.documents.reading import worker

_ENDED = "the program that reads it crashed: the file is broken, or takes too much memory"
_NO_ANSWER = "the program that reads it gave no usable answer"

_A = TypeVar("_A", Opened, Extracted)


DOCUMENT_CHILD_BYTES = 200 * 1024 * 1024
"""Memory that the process reading a document may allocate; with its libraries it stays below 256 MB."""

DOCUMENT_ANSWER_BYTES = 32 * 1024 * 1024
"""One answer of that process without pictures: DOCUMENT_PART_CHARS, escaped."""

DOCUMENT_PICTURES_BYTES = 32 * 1024 * 1024
"""Pictures of one part, as the document stores them."""


@final
class Extractor:
    """A document in a process of its own. For one caller at a time.

    Attributes:
        alive: Whether it can be asked: after anything but an answer it cannot.
        source: The document, if the process asks for its bytes; None if it has them. Another opening of the
            same state may take its place.
    """

    def __init__(
        self,
        source: Source,
        module: str,
        *,
        argument: str = "",
        memory_bytes: int = DOCUMENT_CHILD_BYTES,
        most_s: float = limits.DOCUMENT_CHILD_CPU_S,
    ) -> None:
        """Start the process; fetch its first answer with `opened`.

        `module` is what reads this kind of document, as in the table, with its `argument`; `most_s` is the
        processor time after which the kernel ends it. Raises StoreFailed.
        """
        self.alive = True
        self.source = source if is_read_by_ranges(source, module) else None
        self._most_s = math.ceil(most_s)
        plain = unmasked(source)
        self._masks = plain is not source
        """Whether what it answers has signs in the place of secrets."""
        if self._masks and _MAILS not in module and _is_text(source):
            plain = source
        self._process = _start(plain, module, argument, memory_bytes, self._most_s)
        self._charged = 0.0

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_fresh(self) -> bool:
        """Whether it has processor time left for another call."""
        return self._charged < self._most_s / 2

    def opened(self, deadline: Deadline) -> Opened:
        """The description of the document. To be called once. Raises Unreadable, TimedOut, Cancelled."""
        try:
            return self._answer(Opened, deadline)[0]
        except Unreadable:
            self.close()
            raise

    def part(self, number: int, area: Area | None, deadline: Deadline, *, text_only: bool = False) -> Part:
        """One part; `text_only` leaves out pictures that take time.

        Raises:
            Unreadable: It cannot be extracted.
            TimedOut, Cancelled: From the deadline.
        """
        cells = None
        if area is not None:
            cells = [area.first_row, area.last_row, area.first_column, area.last_column, area.lines]
        ask = worker.Ask(
            number=number,
            area=cells,
            formulas=area is not None and area.formulas,
            columns="" if area is None else area.columns,
            text_only=text_only,
            region=None if area is None or area.region is None else list(astuple(area.region)),
        )
        self._tell(json.dumps(ask).encode() + b"\n")
        extracted, blob = self._answer(Extracted, deadline)
        return self._checked(extracted, number, blob)

    def close(self) -> None:
        """End the process; a second call does nothing."""
        self.alive = False
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _tell(self, line: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
        except OSError:
            self.close()
            raise Unreadable(_ENDED, "") from None

    def _answer(self, kind: type[_A], deadline: Deadline) -> tuple[_A, bytes]:
        forget = deadline.on_cancel(self._process.kill)
        try:
            answer, blob = self._received(deadline)
            while isinstance(answer, Wanted):
                self._serve(answer, deadline)
                answer, blob = self._received(deadline)
            if self._masks:
                from readroom.core.secrets.texts import without_secrets  # few operators mask

                answer = without_secrets(answer)
        except BaseException:
            self.close()
            raise
        finally:
            forget()
        if isinstance(answer, Refused):
            known = Encrypted if answer.encrypted else NoSuchColumn if answer.no_column else Unreadable
            raise known(_shown(answer.problem), _shown(answer.advice))
        if not isinstance(answer, kind):
            self.close()
            raise Unreadable(_NO_ANSWER, "")
        return answer, blob

    def _received(self, deadline: Deadline) -> tuple[protocol.Answer, bytes]:
        sizes = self._exactly(protocol.LENGTHS.size, deadline)
        size, blob_size = protocol.LENGTHS.unpack(sizes)
        if size > DOCUMENT_ANSWER_BYTES or blob_size > DOCUMENT_PICTURES_BYTES:
            raise Unreadable(_NO_ANSWER, "")
        data = self._exactly(size, deadline)
        return _decoded(data), self._exactly(blob_size, deadline)

    def _serve(self, wanted: Wanted, deadline: Deadline) -> None:
        """Send the bytes that it wants, and only bytes of the document.

        Raises Shrunk, and what reading raises.
        """
        source, at, size = self.source and unmasked(self.source), wanted.offset, wanted.size
        if source is None or not 0 < size <= RANGE_BYTES or not 0 <= at <= source.size - size:
            raise Unreadable(_NO_ANSWER, "")
        data = memoryview(source.read_at(at, size))
        if len(data) < size:
            raise Shrunk
        pipe = self._process.stdin
        assert pipe is not None
        os.set_blocking(pipe.fileno(), False)  # it may never take them
        waiting = select.poll()
        waiting.register(pipe, select.POLLOUT)
        try:
            while data:
                self._watch(deadline)
                if waiting.poll(self._patience(deadline)):
                    data = data[os.write(pipe.fileno(), data) :]
        except OSError:
            deadline.check()
            raise Unreadable(_ENDED, "") from None
        finally:
            os.set_blocking(pipe.fileno(), True)

    def _watch(self, deadline: Deadline) -> None:
        deadline.check()
        self._charge(deadline)

    @staticmethod
    def _patience(deadline: Deadline) -> float:
        """Milliseconds to wait until the deadline is looked at again."""
        left = deadline.remaining
        return 1000 * (CLOCK_S if left is None else min(CLOCK_S, left))

    def _exactly(self, size: int, deadline: Deadline) -> bytes:
        out = self._process.stdout
        assert out is not None
        waiting = select.poll()
        waiting.register(out, select.POLLIN)
        received = bytearray()
        while len(received) < size:
            self._watch(deadline)
            if not waiting.poll(self._patience(deadline)):
                continue
            data = os.read(out.fileno(), min(BLOCK_BYTES, size - len(received)))
            if not data:
                deadline.check()  # it may have been ended for this reason
                if self._process.wait() == -signal.SIGXCPU:
                    raise TimedOut(self._most_s, processor=True)
                raise Unreadable(_ENDED, "")
            received += data
        return bytes(received)

    def _charge(self, deadline: Deadline) -> None:
        """Charge the deadline with the processor time used since the last call."""
        worked = _processor_s(self._process.pid)
        if worked is not None:
            spent, self._charged = worked - self._charged, worked
            deadline.charge(spent)

    def _checked(self, extracted: Extracted, number: int, blob: bytes) -> Part:
        """The part, if the answer is plausible."""
        sizes = [size for _, size in extracted.pictures]
        rows = (extracted.first_row, extracted.total_rows or 0, extracted.left_out, extracted.brief or 0)
        texts = (
            extracted.title,
            extracted.header or "",
            *extracted.notes,
            *extracted.lines,
            *extracted.counted,
        )
        if min(rows) < 0 or min(sizes, default=0) < 0 or sum(sizes) != len(blob) or not _follow(extracted):
            self.close()
            raise Unreadable(_NO_ANSWER, "")
        if any("\n" in text for text in texts):
            self.close()
            raise Unreadable(_NO_ANSWER, "")
        pictures, at = [], 0
        for mime, size in extracted.pictures:
            pictures.append(Picture(blob[at : at + size], mime))
            at += size
        part = Part(
            number,
            extracted.title,
            extracted.lines,
            pictures,
            extracted.header,
            extracted.first_row,
            extracted.total_rows,
            extracted.notes,
            extracted.brief,
            extracted.total_known,
            extracted.naming,
            extracted.rows,
            max(0, extracted.figures),
            extracted.drawn,
            extracted.counted,
            extracted.is_bare,
            max(0, extracted.formulas),
        )
        if not extracted.left_out:
            return part
        note = (
            f"{extracted.left_out:,} lines after line {len(extracted.lines):,} are too many to be read here."
        )
        return replace(part, notes=[*extracted.notes, note])


_CONTAINERS = (b"%PDF", b"PK")

_MAILS = ".formats.mail."
"""Readers of mails, whose codings a sign would break; the text that they give is judged."""


def _is_text(source: Source) -> bool:
    """Whether the bytes of a document are its text, so that the view of them is a document as well."""
    head = source.read_at(0, HEAD_BYTES)
    return b"\0" not in head and not head.startswith(_CONTAINERS)


def _follow(extracted: Extracted) -> bool:
    """Whether the row numbers are in order: one for each line, and one after them."""
    rows = extracted.rows
    if not rows:
        return True
    in_order = all(before < after for before, after in pairwise(rows))
    return len(rows) == len(extracted.lines) + 1 and rows[0] == extracted.first_row and in_order


def _decoded(data: bytes) -> protocol.Answer:
    try:
        return protocol.DECODER.decode(data)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError):
        raise Unreadable(_NO_ANSWER, "") from None


DOCUMENT_TITLE_CHARS = 200
"""Longest title or heading."""


def _shown(text: str) -> str:
    """An error message of the child as one short, printable line.

    Libraries quote bytes of the file in their errors: those that drive a terminal are shown as marks.
    """
    line = " ".join(text.split())[:DOCUMENT_TITLE_CHARS]
    return "".join(char if char.isprintable() else "\ufffd" for char in line)


def _processor_s(pid: int) -> float | None:
    """Processor time used by another process; None where that cannot be measured."""
    if sys.platform != "linux":
        return None
    try:
        # The value of clock_getcpuclockid(3); Python offers it for threads only.
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return None  # it has ended


_OWN = str(Path(worker.__file__).parents[3])
"""The folder that the package is in."""


@cache
def _holds_libraries(path: str) -> bool:
    """Whether a folder has Python's own or installed modules; others might belong to a served folder."""
    python = sysconfig.get_path("stdlib")
    own = (python, os.path.join(python, "lib-dynload"), _OWN)
    try:
        return path in own or any(name.endswith(".dist-info") for name in os.listdir(path))
    except OSError:
        return False


DOCUMENT_CHILD_FILES = 64
"""Descriptors of that process; libraries open a few modules and fonts late."""

DOCUMENT_TITLES = 5_000
"""Titles of parts; later parts are identified by their number."""


def _start(
    source: Source, module: str, argument: str, memory_bytes: int, most_s: int
) -> subprocess.Popen[bytes]:
    descriptor = source.fileno()
    fd = descriptor
    if fd is None:
        fd = None if is_read_by_ranges(source, module) else _copied(source)
    nothing = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    paths = [path for path in sys.path if os.path.isabs(path)]
    order = worker.Order(
        paths=paths,
        libraries=[path for path in paths if _holds_libraries(path)],
        module=module,
        argument=argument,
        file=fd,
        size=source.size,
        memory_bytes=memory_bytes,
        cpu_s=most_s,
        files=DOCUMENT_CHILD_FILES,
        titles=DOCUMENT_TITLES,
        title_chars=DOCUMENT_TITLE_CHARS,
        note_chars=limits.DOCUMENT_NOTE_CHARS,
        contents=limits.DOCUMENT_CONTENTS,
        part_chars=limits.DOCUMENT_PART_CHARS,
        pictures_bytes=DOCUMENT_PICTURES_BYTES,
    )
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", worker.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=nothing,
            pass_fds=[] if fd is None else [fd],
            cwd="/",
            env={},
            bufsize=0,
        )
    except OSError as error:
        problem = f"the program that reads documents cannot be started: {error.strerror}"
        raise StoreFailed(source.real, problem) from None
    finally:
        os.close(nothing)
        if descriptor is None and fd is not None:
            os.close(fd)
    assert process.stdin is not None
    with contextlib.suppress(OSError):  # its end is noticed at the next request
        process.stdin.write(json.dumps(order).encode() + b"\n")
    return process


_NEEDS_FILE = frozenset(("readroom.documents.data.sqlite", "readroom.documents.large"))
"""Modules that need a file of the system."""


def is_read_by_ranges(source: Source, module: str = "") -> bool:
    """Whether the process asks for the bytes that it needs: a file that is not small, where reading costs."""
    return is_far(source) and source.size > SMALL_FILE_BYTES and module not in _NEEDS_FILE


def _copied(source: Source) -> int:
    """A descriptor of a copy, for a document that is not in a file.

    Raises TransferLimit, and what reading raises.
    """
    if is_far(source) and source.size > COUNTED_BYTES:
        advice = "All of it would be needed: ask the user for a copy in a folder, or for an export as text."
        raise TransferLimit(advice=advice, bound=f"{COUNTED_BYTES:,} bytes")
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("readroom")
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    try:
        for at in range(0, source.size, BLOCK_BYTES):
            data = memoryview(source.read_at(at, BLOCK_BYTES))
            while data:
                data = data[os.write(fd, data) :]
    except BaseException:
        os.close(fd)
        raise
    return fd
