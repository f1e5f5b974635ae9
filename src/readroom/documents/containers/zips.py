"""ZIP archives: members by the directory at the end.

    end         the record at the very end says where the directory is; ZIP64 has a second one
    directory   one entry for each member; nothing else in the file says which members there are
    member      a header that repeats the entry, then the content

The standard library makes an object of 700 bytes for each member and expands bzip2 and LZMA without a bound,
so the directory is read here. Sizes are claims: a member is never expanded beyond its claim, and has to
match it.
"""

from __future__ import annotations

import calendar
import stat
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.formats.compressed import Compression
from readroom.core.stores.base import is_far
from readroom.core.text import encodings
from readroom.core.values import Bytes
from readroom.documents.containers.cut_zips import MARK, CutZip, Found
from readroom.documents.containers.expanding import decoded, inflated_raw, lzma1_filter, unpacked
from readroom.documents.containers.members import (
    WRONG_SUM,
    BadContainer,
    Container,
    Member,
    MemberKind,
    arranged,
    link_target,
    pieces,
)
from readroom.documents.limits import (
    CONTAINER_DIRECTORY_BYTES,
    CONTAINER_MEMBERS,
    CONTAINER_RATIO,
    CONTAINER_RATIO_BYTES,
)

_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")

_COMMENT_BYTES = 65_535
"""Longest comment after the end record."""

_FULL_16, _FULL_32 = 0xFFFF, 0xFFFFFFFF
"""Marks a value that is in the ZIP64 record."""

_ENCRYPTED, _PATCH, _HIDDEN, _UTF8 = 0x1, 0x20, 0x2000, 0x800
_STORED, _DEFLATED, _BZIP2, _LZMA, _ZSTD, _XZ, _AES = 0, 8, 12, 14, 93, 95, 99
_STREAMS: Mapping[int, Compression] = {_BZIP2: "bzip2", _ZSTD: "zstd", _XZ: "xz"}
_LZMA_HEAD = 9
_UNIX_SYSTEMS = (3, 19)
_EXTRA_64, _EXTRA_TIMES, _EXTRA_NAME = 0x1, 0x5455, 0x7075

_NAMES_BYTES = 16 * 1024
"""Bytes of names that are examined to detect their encoding."""

_TELLING_LETTERS = 8
"""With fewer letters outside ASCII no encoding is detected: then it is the format's."""

_IN_PARTS = "it is one of several parts of a split archive"

_OTHER_METHODS = {
    1: "shrink", 2: "reduce", 3: "reduce", 4: "reduce", 5: "reduce", 6: "implode", 9: "Deflate64",
    10: "PKWARE", 16: "IBM CMPSC", 18: "IBM TERSE", 19: "IBM LZ77", 94: "MP3", 96: "JPEG", 97: "WavPack",
    98: "PPMd",
}  # fmt: skip
"""Names of methods that cannot be read."""

_CUT_SHORT = "it is damaged or cut short"
_OF_ANOTHER = "it is cut short: its only end record is that of an archive in it"

_DESCRIPTOR = 24
"""The longest data descriptor after a content."""

_GAPS = 1_000
"""Maximum headers read to find gaps between members; most archives need none."""

_FAR_GAPS, _FAR_GAP_BYTES = 8, 1024
"""The same where each is a request, and how many more bytes there a gap has than a name."""


def open_zip(file: Bytes, check: Callable[[], object]) -> Container:
    """The archive in `file`; of one without its directory, what the headers of its members say.

    Args:
        file: The archive.
        check: Called while headers are looked for, and raises what ends that.

    Raises:
        BadContainer: Its directory is too much, or damaged and no member is found.
    """
    try:
        at, size, count, shift = _directory(file)
    except BadContainer as error:
        if error.problem == _IN_PARTS:
            raise
        return _recovered(file, check, [], error)
    if size > CONTAINER_DIRECTORY_BYTES:
        raise BadContainer(
            f"its directory has {size:,} bytes, more than the limit of {CONTAINER_DIRECTORY_BYTES:,}"
        )
    data = file.read_at(at, size)
    codec = _codec((fields[3], raw) for fields, raw, _ in _entries(data))
    members = [_member(*found, shift, codec) for found in _entries(data)]
    notes = _about_names(codec)
    if len(members) > CONTAINER_MEMBERS:
        notes.append(f"only the first {CONTAINER_MEMBERS:,} of {max(count, len(members)):,} members are read")
        members = members[:CONTAINER_MEMBERS]
    elif len(members) != count:
        said = f"{count:,} member{'' if count == 1 else 's'}"
        problem = f"its end record claims {said}, its directory has {len(members):,}"
        if len(members) < count:
            return _recovered(file, check, members, BadContainer(problem))
        notes.append(problem)
    notes += _unnamed(file, members, at)
    return arranged("zip", _Zip(file), _apart(members, at), notes, last_counts=False)


def _recovered(
    file: Bytes, check: Callable[[], object], known: list[Member], error: BadContainer
) -> Container:
    """The archive of the members that its directory still has, and of those whose headers are found.

    Raises `error`, which says what is wrong with the directory, if there is none at all.
    """
    walk = CutZip(file, check)
    places = {member.at for member in known}
    found = [one for one in walk.members() if one.at not in places]
    codec = _codec((one.fields[1], one.name) for one in found)
    members = [*known, *(_of_header(one, codec) for one in found)]
    if not members:
        raise error
    notes = [error.problem, *_about_names(codec), *walk.notes]
    if found:
        which = f"{len(found):,} member{' is' if len(found) == 1 else 's are'}"
        notes.insert(1, f"{which} recovered from headers, unproven: links and permissions are not known")
    made = arranged("zip", _Zip(file), _apart(members, file.size), notes, last_counts=False)
    return replace(made, is_cut=True)


def _of_header(found: Found, codec: str) -> Member:
    """The member that a header alone tells of."""
    needed, flags, method, clock, day = found.fields[:5]
    numbers = (0, 0, needed, flags, method, clock, day, found.check, found.packed, found.size)
    extras = {kind: data for kind, data in found.extras.items() if kind != _EXTRA_64}
    member = _member((*numbers, 0, 0, 0, 0, 0, 0, found.at), found.name, extras, 0, codec)
    return replace(member, problem=found.problem or member.problem)


def _about_names(codec: str) -> list[str]:
    is_usual = codec in ("ascii", "utf-8", "cp437")
    return [] if is_usual else [f"its names are read as {codec}, guessed from their bytes"]


def is_behind(file: Bytes) -> bool:
    """Whether a file that begins with something else ends as an archive does, its directory in place."""
    try:
        at, size, _, _ = _directory(file)
    except BadContainer:
        return False
    return size > 0 and file.read_at(at, 4) == b"PK\1\2"


def _directory(file: Bytes) -> tuple[int, int, int, int]:
    """Offset, length and entries of the directory, and how far the archive is shifted against its offsets."""
    start = max(0, file.size - _END.size - _COMMENT_BYTES)
    tail = file.read_at(start, file.size - start)
    place, is_behind_all = _last_end(tail)
    if place is None and file.read_at(0, 8) == b"PK\7\x08PK\3\4":
        raise BadContainer(_IN_PARTS)
    if place is None:
        raise BadContainer("it has no end record: it is cut short, or something else was appended to it")
    _, disk, first_disk, _, count, size, offset, _ = _END.unpack_from(tail, place)
    end = start + place
    if disk not in (0, _FULL_16) or first_disk not in (0, _FULL_16):
        raise BadContainer(_IN_PARTS)
    if _FULL_16 in (count, disk) or _FULL_32 in (size, offset):
        longer = _end_64(file, end)
        if longer is not None:
            end, count, size, offset = longer
    at = end - size
    shift = at - offset
    if at < 0 or shift < 0:
        raise BadContainer(_CUT_SHORT)
    if shift and not is_behind_all and file.read_at(0, 4) == MARK:
        raise BadContainer(_OF_ANOTHER)
    return at, size, count, shift


def _last_end(tail: bytes) -> tuple[int | None, bool]:
    """Offset of the end record, and whether nothing follows it: the last such one, else the last one."""
    at = last = tail.rfind(b"PK\5\6")
    while at >= 0:
        if len(tail) - at >= _END.size and at + _END.size + _END.unpack_from(tail, at)[7] == len(tail):
            return at, True
        at = tail.rfind(b"PK\5\6", 0, at)
    return last if last >= 0 and len(tail) - last >= _END.size else None, False


def _end_64(file: Bytes, end: int) -> tuple[int, int, int, int] | None:
    """Offset of the ZIP64 end record, entries, length and offset of the directory; None without one."""
    place = file.read_at(max(0, end - _LOCATOR.size), _LOCATOR.size)
    if len(place) < _LOCATOR.size or not place.startswith(b"PK\6\7"):
        return None
    # With data in front of the archive its written offset is too small: it is just before the locator.
    for at in (end - _LOCATOR.size - _END_64.size, _LOCATOR.unpack(place)[2]):
        data = file.read_at(at, _END_64.size) if 0 <= at < file.size else b""
        if len(data) == _END_64.size and data.startswith(b"PK\6\6"):
            fields = _END_64.unpack(data)
            return at, fields[7], fields[8], fields[9]
    raise BadContainer(_CUT_SHORT)


_Entry: TypeAlias = tuple[tuple[int, ...], bytes, Mapping[int, bytes]]
"""The fields of a member in the directory, its name as stored, and its extra fields."""


def _entries(data: bytes) -> Iterator[_Entry]:
    """The members as the directory has them, one more than are looked at."""
    at = 0
    for _ in range(CONTAINER_MEMBERS + 1):
        if at + _ENTRY.size > len(data) or not data.startswith(b"PK\1\2", at):
            return
        fields = _ENTRY.unpack_from(data, at)
        names, extras, comment = fields[10], fields[11], fields[12]
        at += _ENTRY.size
        if at + names + extras > len(data):
            return
        yield fields, data[at : at + names], dict(_extras(data[at + names : at + names + extras]))
        at += names + extras + comment


def _codec(names: Iterable[tuple[int, bytes]]) -> str:
    """The encoding of names without a declared one, by their flags and bytes.

    The format says cp437, programs write what their machine uses.
    """
    unsaid = (raw for flags, raw in names if not (flags & _UTF8 or raw.isascii()))
    sample = b""
    for raw in unsaid:
        sample += raw + b"\n"
        if len(sample) > _NAMES_BYTES:
            break
    if not sample:
        return "ascii"
    with suppress(UnicodeDecodeError):
        sample.decode("utf-8")
        return "utf-8"
    if sum(byte > 0x7F for byte in sample) < _TELLING_LETTERS:
        return "cp437"
    encoding = encodings.detect(sample, complete=True)
    unusable = encodings.STATEFUL | encodings.UNITS.keys()
    return "cp437" if encoding is None or encoding.name in unusable else encoding.name


def _name(raw: bytes, flags: int, extras: Mapping[int, bytes], codec: str) -> str:
    """A name as text: by its flag or its field for Unicode, else in the encoding of all."""
    unicode = extras.get(_EXTRA_NAME, b"")
    if flags & _UTF8 or raw.isascii():
        return raw.decode("utf-8", "surrogateescape")
    if unicode[:5] == b"\1" + zlib.crc32(raw).to_bytes(4, "little"):
        raw, codec = unicode[5:], "utf-8"
    try:
        return raw.decode(codec)
    except (UnicodeDecodeError, LookupError):
        return raw.decode("cp437")


def _member(
    fields: tuple[int, ...], raw: bytes, extras: Mapping[int, bytes], shift: int, codec: str
) -> Member:
    _, made, _, flags, method, clock, day, check, packed, size = fields[:10]
    external, offset = fields[15], fields[16]
    size, packed, offset = _longer(extras.get(_EXTRA_64, b""), size, packed, offset)
    name = _name(raw, flags, extras, codec)
    name = name.replace("\\", "/")  # some programs for Windows write them, which the format forbids
    mode = external >> 16 if made >> 8 in _UNIX_SYSTEMS and external >> 16 else None
    return Member(
        name,
        _kind(name, mode),
        size,
        packed,
        _time(clock, day, extras.get(_EXTRA_TIMES, b"")),
        None if mode is None else stat.S_IMODE(mode),
        problem=_why_not(flags, method, size, packed),
        at=offset + shift,
        method=method,
        check=check,
        is_encrypted=_is_encrypted(flags, method),
    )


def _kind(name: str, mode: int | None) -> MemberKind:
    if name.endswith("/"):
        return "folder"
    form = stat.S_IFMT(mode or 0)
    if form == stat.S_IFLNK:
        return "link"
    if form == stat.S_IFDIR:
        return "folder"
    return "file" if form in (0, stat.S_IFREG) else "other"


def _is_encrypted(flags: int, method: int) -> bool:
    return bool(flags & (_ENCRYPTED | _HIDDEN)) or method == _AES


def _why_not(flags: int, method: int, size: int, packed: int) -> str:
    if _is_encrypted(flags, method):
        return "it is encrypted"
    if flags & _PATCH or method not in (_STORED, _DEFLATED, _BZIP2, _LZMA, _ZSTD, _XZ):
        return f"its compression is not supported ({_OTHER_METHODS.get(method, method)})"
    if size > CONTAINER_RATIO_BYTES and size > CONTAINER_RATIO * packed:
        ratio = size // max(packed, 1)
        return f"it claims to expand {ratio:,}-fold, like a decompression bomb"
    if method == _STORED and size != packed:
        return "it is damaged"
    return ""


def _extras(extra: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        yield kind, extra[at + 4 : at + 4 + size]
        at += 4 + size


def _longer(extra: bytes, size: int, packed: int, offset: int) -> tuple[int, int, int]:
    """Sizes and offset, taken from the ZIP64 field where they did not fit."""
    at, values = 0, []
    for value in (size, packed, offset):
        if value == _FULL_32 and at + 8 <= len(extra):
            value = int.from_bytes(extra[at : at + 8], "little")
            at += 8
        values.append(value)
    return values[0], values[1], values[2]


def _time(clock: int, day: int, extra: bytes) -> int:
    """Nanoseconds since the epoch: the field of UTC where there is one, else a wall clock somewhere."""
    if len(extra) >= 5 and extra[0] & 1:
        return int.from_bytes(extra[1:5], "little", signed=True) * 1_000_000_000
    fields = (1980 + (day >> 9), day >> 5 & 15, day & 31, clock >> 11, clock >> 5 & 63, (clock & 31) * 2)
    if not (1 <= fields[1] <= 12 and 1 <= fields[2] <= 31):
        return 0
    return calendar.timegm((*fields, 0, 0, 0)) * 1_000_000_000


def _unnamed(file: Bytes, members: list[Member], directory: int) -> list[str]:
    """Notes on bytes that belong to no member: a program in front, other archives, hidden members."""
    places = sorted((member.at, member.packed, len(member.name)) for member in members)
    notes = []
    front = min(places[0][0] if places else directory, directory)
    if front:
        notes.append(f"{front:,} bytes before its first member are not read")
    between = looked = 0
    most, least = (_FAR_GAPS, _FAR_GAP_BYTES) if is_far(file) else (_GAPS, 0)
    ends = [at for at, _, _ in places[1:]] + [directory]
    for (at, packed, name), end in zip(places, ends, strict=False):
        if end - at - _LOCAL.size - packed <= name + least or looked == most:
            continue
        looked += 1
        header = file.read_at(at, _LOCAL.size)
        if len(header) == _LOCAL.size:
            lengths = _LOCAL.unpack(header)[9:]
            gap = end - at - _LOCAL.size - sum(lengths) - packed
            between += gap if gap > _DESCRIPTOR else 0
    if between:
        notes.append(f"{between:,} bytes between its members belong to no member in its directory")
    contents = sum(member.kind == "folder" and member.size > 0 for member in members)
    if contents:
        notes.append(f"{contents:,} of its folders {'has' if contents == 1 else 'have'} content, not shown")
    return notes


def _apart(members: list[Member], directory: int) -> list[Member]:
    """The members; those that share bytes are marked as unreadable.

    Bombs are made of them, and different programs read them differently.
    """
    shared, end, holder = set[int](), 0, -1
    for at, number in sorted((member.at, number) for number, member in enumerate(members)):
        member = members[number]
        own_end = at + _LOCAL.size + member.packed
        if own_end > directory:  # empty: neither it nor the bytes it would reach over are shared
            members[number] = replace(member, problem=member.problem or _CUT_SHORT)
            continue
        if at < end:
            shared |= {number, holder}
        end, holder = max((end, holder), (own_end, number))
    for number in shared:
        member = members[number]
        if member.kind != "folder" and not member.problem:
            members[number] = replace(member, problem="its bytes are also those of another member")
    return members


class _Zip(Struct, frozen=True):
    """Reads members."""

    file: Bytes

    def place(self, member: Member) -> tuple[int, int] | None:
        """Offset and length of a content that is stored. Raises BadContainer."""
        if member.problem:
            raise BadContainer(member.problem)
        return (self._start(member), member.size) if member.method == _STORED else None

    def pieces(self, member: Member) -> Iterator[bytes]:
        """The content, checked by its size and sum. Raises BadContainer."""
        size = check = 0
        for piece in self._expanded(member):
            size += len(piece)
            if size > member.size:
                raise BadContainer("it is damaged: it is larger than it claims")
            check = zlib.crc32(piece, check)
            yield piece
        if size != member.size or check != member.check:
            raise BadContainer(WRONG_SUM)

    def target(self, member: Member) -> str:
        return link_target(member, self.pieces(member))

    def over(self, file: Bytes) -> _Zip:
        return _Zip(file)

    def _start(self, member: Member) -> int:
        """Offset of the content, after a header whose length only the header has."""
        header = self.file.read_at(member.at, _LOCAL.size)
        if len(header) < _LOCAL.size or not header.startswith(b"PK\3\4"):
            raise BadContainer("it is damaged")
        fields = _LOCAL.unpack(header)
        return member.at + _LOCAL.size + int(fields[9]) + int(fields[10])

    def _packed(self, member: Member) -> Iterator[bytes]:
        return pieces(self.file, self._start(member), member.packed)

    def _expanded(self, member: Member) -> Iterator[bytes]:
        if member.problem:
            raise BadContainer(member.problem)
        if member.method == _STORED:
            yield from self._packed(member)
        elif member.method == _DEFLATED:
            yield from inflated_raw(self._packed(member))
        elif member.method == _LZMA:
            yield from _unpacked_lzma(self._packed(member))
        else:
            yield from decoded(_STREAMS[member.method], self._packed(member))


def _unpacked_lzma(packed: Iterator[bytes]) -> Iterator[bytes]:
    """A content of LZMA, which ZIP writes with a header of its own: version, length and properties."""
    head = b""
    for piece in packed:
        head += piece
        if len(head) >= _LZMA_HEAD:
            break
    if int.from_bytes(head[2:4], "little") != 5:
        raise BadContainer("it is damaged (its properties are wrong)")
    return unpacked([lzma1_filter(head[4:_LZMA_HEAD])], chain([head[_LZMA_HEAD:]], packed))
