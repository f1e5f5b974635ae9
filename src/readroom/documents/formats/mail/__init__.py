"""Mail as documents: a part is a message, or a file attached to it.

Readers of the formats give `Letter`s, which are laid out here: a message comes before its attachments, and an
attached message counts as a message. An attachment is shown as text, as a picture, or as the text of a
document.

Knows: how messages and attachments become parts.
Does not know: files and processes; formats of attachments, which have their own readers.
May be touched: freely.
"""

from __future__ import annotations

import importlib
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.core.formats.kinds import PICTURE_TYPES, UNKNOWN, is_archive_name, recognise, sniff
from readroom.core.formats.registry import table
from readroom.core.limits import HEAD_BYTES
from readroom.core.paths import BORDER
from readroom.core.quoting import quote
from readroom.core.text import encodings
from readroom.documents.formats import (
    Area,
    Count,
    Heading,
    Part,
    Picture,
    Skimmed,
    Unit,
    Unreadable,
    charsets,
    html,
    omission_note,
    opener,
    sections,
    told,
)
from readroom.documents.formats.legible import legible
from readroom.documents.limits import DOCUMENT_PART_CHARS, MAIL_BYTES, MAIL_PARTS

if TYPE_CHECKING:
    from readroom.documents.formats.mail.packed import PackedFile, PackedFiles

HEADERS = ("From", "Sender", "Reply-To", "To", "Cc", "Bcc", "Date", "Subject")
"""Those that are shown, in this order; the others are counted."""

_KNOWN = frozenset(name.lower() for name in HEADERS)
_PACKED = frozenset(("application/ms-tnef", "application/vnd.ms-tnef"))
_NOT_OPENED = frozenset(("eml", "msg", "tnef"))
_MESSAGES = frozenset(("eml", "msg", "oft", "tnef"))
_SOURCES = frozenset(("message/rfc822", "message/global", "message/partial"))


class Attachment(Struct, frozen=True):
    """A file that a message carries: `data` reads it, `letter` is the message that it is, if it is one."""

    name: str
    mime: str
    size: int
    data: Callable[[], bytes]
    charset: str = ""
    letter: Callable[[], Letter] | None = None


class Letter(Struct, frozen=True):
    """A message: its headers, decoded, in their order; its text, or the HTML that it is."""

    headers: Sequence[tuple[str, str]]
    lines: Sequence[str]
    attachments: Sequence[Attachment] = ()
    dropped: Counter[str] = field(default_factory=Counter)
    notes: Sequence[str] = ()

    @property
    def subject(self) -> str:
        """Its subject in one line."""
        return next(
            (" ".join(words.split()) for name, words in self.headers if name.lower() == "subject"), ""
        )


class _Entry(Struct, frozen=True):
    """A part: a message or an attachment, its depth, its title, and its path if it is attached."""

    title: str
    level: int
    letter: Letter | None = None
    attachment: Attachment | None = None
    packed: PackedFiles | None = None
    path: str = ""


MAIL_DEPTH = 5
"""Nested messages that are opened; deeper ones are attachments."""


class Mail:
    """Messages with their attachments."""

    unit = Unit.PART

    def __init__(self, letters: Sequence[Letter]) -> None:
        """Lay out the parts; too many are counted."""
        self._left = 0
        self._room = MAIL_BYTES
        self._entries: list[_Entry] = []
        for letter in letters:
            self._lay_out(letter, letter.subject, 1)

    @property
    def titles(self) -> Sequence[str]:
        """The subject of each message, the name of each attachment."""
        return [entry.title for entry in self._entries]

    @property
    def names(self) -> Sequence[str]:
        """The path of each attachment; empty for messages that are attached to none."""
        return [entry.path for entry in self._entries]

    @property
    def contents(self) -> Sequence[Heading]:
        """The messages, with attachments below them."""
        listed = enumerate(self._entries, 1)
        return sections.bounded(
            [sections.entry(entry.level, entry.title or "(no subject)", number) for number, entry in listed]
        )

    def part(self, number: int, area: Area | None = None) -> Part:
        """The part with this number. Raises Unreadable."""
        entry = self._entries[sections.checked(number, len(self._entries), self.unit, area) - 1]
        if entry.packed is not None:
            return self._unpacked(number, entry, entry.packed)
        if entry.attachment is not None:
            return _attached(number, entry.title, entry.attachment, entry.path)
        assert entry.letter is not None
        part = written(number, entry.letter, self._numbers(number), entry.path)
        left = {"message or attachment": self._left if number == 1 else 0}
        return replace(part, notes=[*part.notes, *omission_note(left)])

    def _unpacked(self, number: int, entry: _Entry, packed: PackedFiles) -> Part:
        """The list of the files in an archive."""
        files = [_as_attachment(file) for file in packed.files]
        lines, naming = _named_files("file", files, self._numbers(number), entry.path)
        left = {"file": max(0, len(packed.files) - len(self._numbers(number)))}
        notes = [*packed.notes, *omission_note(left)]
        return Part(number, entry.title, lines, notes=notes, naming=naming)

    def _lay_out(self, letter: Letter, title: str, level: int, path: str = "") -> None:
        if self._enter(_Entry(title, level, letter=letter, path=path)):
            for attachment in letter.attachments:
                self._attach(attachment, level + 1, path)

    def _attach(self, attachment: Attachment, level: int, path: str) -> None:
        """Lay out an attachment, and the content of a message or an archive."""
        place = inside(path, attachment.name)
        inner = self._letter_in(attachment) if level <= MAIL_DEPTH else None
        if inner is not None:
            self._lay_out(inner, inner.subject or attachment.name, level, place)
            return
        packed = self._files_in(attachment) if level <= MAIL_DEPTH else None
        if self._enter(_Entry(attachment.name, level, attachment=attachment, packed=packed, path=place)):
            for file in () if packed is None else packed.files:
                self._attach(_as_attachment(file), level + 1, place)

    def _enter(self, entry: _Entry) -> bool:
        """Add a part; False if there are too many."""
        if len(self._entries) >= MAIL_PARTS:
            self._left += 1
            return False
        self._entries.append(entry)
        return True

    def _letter_in(self, attachment: Attachment) -> Letter | None:
        """The message that an attachment is; None if it is not one that can be opened."""
        try:
            if attachment.letter is not None:
                return attachment.letter()
            ending = attachment.name.rpartition(".")[2].lower()
            is_packed = attachment.mime in _PACKED or attachment.name.lower() == "winmail.dat"
            if not (is_packed or ending in _MESSAGES) or not self._has_room(attachment):
                return None
            data = attachment.data()
            found = recognise(attachment.name.lower(), data[:HEAD_BYTES])
            form = "tnef" if is_packed else found.format if found is not None else ""
            if form not in _NOT_OPENED or data.startswith(b"From "):
                return None  # something else, or a mailbox
            letter: Letter = importlib.import_module(table().rows[form].opener).letter_in(data)
            return letter
        except Unreadable:
            return None

    def _files_in(self, attachment: Attachment) -> PackedFiles | None:
        """The files in an attachment that is an archive by its name."""
        if not is_archive_name(attachment.name) or not self._has_room(attachment):
            return None
        from readroom.documents.formats.mail import packed

        with suppress(Unreadable):
            return packed.files_in(attachment.data)
        return None

    def _has_room(self, attachment: Attachment) -> bool:
        """Whether an attachment may be opened to list its content: the total size is limited."""
        self._room -= attachment.size
        return self._room >= 0

    def _numbers(self, number: int) -> Sequence[int]:
        """The parts that the attachments of a message are, or the files of an archive."""
        level = self._entries[number - 1].level
        numbers = []
        for at in range(number, len(self._entries)):
            if self._entries[at].level <= level:
                break
            if self._entries[at].level == level + 1:
                numbers.append(at + 1)
        return numbers


def _as_attachment(file: PackedFile) -> Attachment:
    return Attachment(file.name, UNKNOWN.name, file.size, file.data)


def inside(path: str, name: str) -> str:
    """The path of an attachment of a message, which may have a path itself."""
    return f"{path}{BORDER}/{name}" if path else name


def written(number: int, letter: Letter, numbers: Sequence[int], path: str = "") -> Part:
    """A message as a part; `numbers` are the parts of its attachments, as far as they are parts."""
    lines = [f"{name}: {' '.join(words.split())}" for name, words in _shown_headers(letter) if words.strip()]
    lines += ["", *letter.lines] if letter.lines else []
    listed, naming = _named_files("attachment", letter.attachments, numbers, path)
    lines += ["", *listed] if listed else []
    dropped = letter.dropped + Counter(
        {
            **Counter(
                told("other header", f"{name}: {' '.join(words.split())}")
                for name, words in letter.headers
                if _is_other(name.lower())
            ),
            "attachment": max(0, len(letter.attachments) - len(numbers)),
        }
    )
    notes = [*letter.notes, *omission_note(dict(sorted(dropped.items())))]
    return Part(number, letter.subject, lines, notes=notes, naming=naming)


def _named_files(
    word: str, attachments: Sequence[Attachment], numbers: Sequence[int], path: str
) -> tuple[list[str], list[tuple[str, str]]]:
    """A line for each attachment, and with each line the path of that attachment."""
    lines = []
    for at, attachment in enumerate(attachments):
        where = f": part {numbers[at]}" if at < len(numbers) else ""
        size = f", {attachment.size:,} bytes" if attachment.size else ""
        mime = "" if attachment.mime == UNKNOWN.name and word == "file" else f", {quote(attachment.mime)}"
        lines.append(f"[{word}: {quote(attachment.name)}{mime}{size}{where}]")
    paths = [inside(path, attachment.name) for attachment in attachments]
    return lines, list(zip(lines, paths, strict=True))


def _is_other(name: str) -> bool:
    """Whether a header is not shown and is more than technical."""
    return name not in _KNOWN and not name.startswith("content-") and name != "mime-version"


def _shown_headers(letter: Letter) -> Iterator[tuple[str, str]]:
    for name in HEADERS:
        yield from ((name, words) for header, words in letter.headers if header.lower() == name.lower())


def body_of_html(data: bytes, charset: str) -> tuple[list[str], Counter[str]]:
    """The lines of an HTML message, and counts of what is not shown."""
    try:
        text = data.decode(charsets.codec_name(charset)) if charset else html.decoded(data)
    except (LookupError, ValueError):  # codecs raise other exceptions as well
        text = html.decoded(data)
    page, blocks = html.read(text)
    return list(html.lines_of(blocks)), page.dropped


def body_of_text(data: bytes, charset: str, *, stripped: bool = True) -> list[str]:
    """The lines of a text, by its charset if that is right, or by its bytes; `stripped` of blanks at ends."""
    try:
        text = data.decode(charsets.codec_name(charset or "utf-8"))
    except (LookupError, ValueError):  # codecs raise other exceptions as well
        encoding = encodings.detect(data[:HEAD_BYTES], complete=len(data) <= HEAD_BYTES)
        text = data.decode("utf-8", "replace") if encoding is None else encodings.decode(data, encoding)
    lines = (
        text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").split("\n")
    )
    while lines and not lines[-1].strip():
        lines.pop()
    return [line.rstrip() for line in lines] if stripped else lines


def _attached(number: int, title: str, attachment: Attachment, path: str) -> Part:
    """An attachment as a part."""
    data = attachment.data()
    head = data[:HEAD_BYTES]
    media = sniff(head)
    if media is not None and media.name in PICTURE_TYPES:
        return Part(number, title, (), pictures=[Picture(data, media.name)])
    recognised = recognise(attachment.name.lower(), head)
    form = "" if recognised is None else recognised.format
    if attachment.letter is not None or form in _NOT_OPENED or attachment.mime in _SOURCES:
        # Its source would show what policy denies of its own attachments.
        return Part(
            number, title, (), notes=[f"It is a nested message that is not opened ({len(data):,} bytes)."]
        )
    if form in table().rows:
        return _document(number, title, data, form, path)
    if attachment.mime == "text/html":
        lines, dropped = body_of_html(data, attachment.charset)
        return Part(number, title, lines, notes=html.notes(dropped))
    is_text = attachment.mime.startswith(("text/", "message/"))
    if is_text or (media is None and encodings.detect(head, complete=len(data) <= HEAD_BYTES) is not None):
        return Part(number, title, body_of_text(data, attachment.charset))
    note = f"It is a binary file ({attachment.mime}, {len(data):,} bytes), and is not shown."
    return Part(number, title, (), notes=[Count(note, legible(data), is_bare=False)])


ATTACHED_PARTS = 200
"""Pages, sheets or slides of an attached document that its part shows."""


def _document(number: int, title: str, data: bytes, kind: str, path: str) -> Part:
    """The text of an attached document, its parts one after the other."""
    try:
        document = opener(kind)(io.BytesIO(data))
        total = len(document.titles)
    except Unreadable as error:
        return Part(number, title, (), notes=[f"It cannot be shown: {error.problem}."])
    lines: list[str] = []
    notes: list[str] = []
    counted: list[str] = []
    naming: list[tuple[str, str]] = []
    room, pictures = DOCUMENT_PART_CHARS // 2, 0
    for at in range(1, total + 1):
        if room < 0 or at > ATTACHED_PARTS:
            notes.append(f"Shown up to {document.unit} {at - 1} of {total}.")
            break
        try:
            part = document.text_part(at) if isinstance(document, Skimmed) else document.part(at)
        except Unreadable as error:
            lines.append(f"[{document.unit} {at} cannot be read: {error.problem}]")
            continue
        head = f"[{document.unit} {at}{': ' + part.title if part.title else ''}]"
        lines += [head] if total > 1 else []
        lines += [*(f"[{note}]" for note in part.notes), *part.lines]
        for note in part.notes:
            if isinstance(note, Count):
                counted += note.counted
                naming += [(line, inside(path, name)) for line, name in note.naming]
        pictures += len(part.pictures)
        room -= sum(map(len, part.lines))
    if counted:
        notes.append(Count("Its notes count things that are not shown.", counted, is_bare=False))
    return Part(number, title, lines, notes=[*notes, *omission_note({"picture": pictures})], naming=naming)
