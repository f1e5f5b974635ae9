"""Archives that are not what their directory, their headers or their end say, each small."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping

LINE = b"a line\n"
_ZEROS = b"\0" * 512
_END = _ZEROS * 2
_FULL = 2**32 - 1


# --- ZIP ---------------------------------------------------------------------------------------------------


def _zipped(members: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def head(name: bytes, data: bytes = LINE, flags: int = 0) -> bytes:
    """What stands before a content."""
    sizes = (zlib.crc32(data), len(data), len(data))
    return struct.pack("<4s5H3L2H", b"PK\3\4", 20, flags, 0, 0, 33, *sizes, len(name), 0) + name


def entry(
    name: bytes, at: int, data: bytes = LINE, size: int | None = None, extra: bytes = b"", flags: int = 0
) -> bytes:
    """What the directory says of a member."""
    sizes = (zlib.crc32(data), *[len(data) if size is None else size] * 2)
    places = (len(name), len(extra), 0, 0, 0, 0, at)
    return struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, flags, 0, 0, 33, *sizes, *places) + name + extra


def ended(body: bytes, directory: bytes, count: int) -> bytes:
    """An archive of these."""
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + end


def hidden_zip() -> bytes:
    """A member between two others that the directory does not name."""
    shown, last = head(b"shown.txt") + LINE, head(b"last.txt") + LINE
    before = shown + head(b"hidden.txt") + LINE
    return ended(before + last, entry(b"shown.txt", 0) + entry(b"last.txt", len(before)), 2)


def two_zips() -> bytes:
    """An archive behind another one, of which only the last is opened."""
    return _zipped({"first.txt": LINE}) + _zipped({"second.txt": LINE})


def end_in_comment_zip() -> bytes:
    """A comment that is the end of an empty archive."""
    other = ended(b"", b"", 0)
    return _zipped({"first.txt": LINE})[:-2] + struct.pack("<H", len(other)) + other


def far_zip() -> bytes:
    """A member that is behind the end of the file, by the fields for large ones."""
    far = entry(b"far.txt", _FULL, size=_FULL, extra=struct.pack("<HHQQQ", 1, 24, 7, 7, 2**62))
    return ended(head(b"a.txt") + LINE, entry(b"a.txt", 0) + far, 2)


def far_directory_zip() -> bytes:
    """A directory that is said to be behind the last byte any file can have."""
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, 2**63, 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, _FULL, _FULL, 0)
    return head(b"a.txt") + LINE + entry(b"a.txt", 0) + locator + end


def no_paths_zip() -> bytes:
    """Names that are deeper and longer than any path."""
    names = (b"a/" * 2_000 + b"f", b"x" * 60_000, b"../" * 900 + b"y")
    body = b"".join(head(name) + LINE for name in names)
    places = (0, len(head(names[0]) + LINE), len(body) - len(head(names[2]) + LINE))
    return ended(body, b"".join(map(entry, names, places)), len(names))


def many_ways_zip() -> bytes:
    """Members that are compressed in seven ways which nothing reads."""
    body = directory = b""
    for way in (1, 2, 6, 9, 10, 97, 98):
        listed = entry(b"%d.txt" % way, len(body))
        directory += listed[:10] + struct.pack("<H", way) + listed[12:]
        body += head(b"%d.txt" % way) + LINE
    return ended(body, directory, 7)


def cut_extra_zip() -> bytes:
    """The field for large sizes, without the sizes."""
    return ended(head(b"a.txt") + LINE, entry(b"a.txt", _FULL, size=_FULL, extra=b"\1\0\x18\0\1"), 1)


def folder_zip() -> bytes:
    """A folder that has a content."""
    body = head(b"folder/") + LINE
    return ended(body, entry(b"folder/", 0), 1)


def nameless_zip() -> bytes:
    """Members whose names are none."""
    names = (b"", b".", b"a.txt")
    bodies = [head(name) + LINE for name in names]
    places = [sum(map(len, bodies[:at])) for at in range(len(bodies))]
    return ended(b"".join(bodies), b"".join(map(entry, names, places)), len(names))


def own_head_zip() -> bytes:
    """A member that is encrypted by its own head, and in the clear by the directory."""
    return ended(head(b"a.txt", flags=1) + LINE, entry(b"a.txt", 0), 1)


def own_name_zip() -> bytes:
    """Archives in archives, all of one name."""
    data = _zipped({"self.txt": LINE})
    for _ in range(6):
        data = _zipped({"self.zip": data})
    return data


def named_zip(*names: bytes, flags: int = 0, unicode: bytes | None = None, of: bytes | None = None) -> bytes:
    """Members with names as other programs write them, and with the field that has one in Unicode."""
    bodies = [head(name, flags=flags) + LINE for name in names]
    places = [sum(map(len, bodies[:at])) for at in range(len(bodies))]
    extra = b""
    if unicode is not None:
        said = b"\1" + struct.pack("<I", zlib.crc32(of or names[0])) + unicode
        extra = struct.pack("<HH", 0x7075, len(said)) + said
    entries = [entry(name, at, extra=extra, flags=flags) for name, at in zip(names, places, strict=True)]
    return ended(b"".join(bodies), b"".join(entries), len(names))


def first_part_zip() -> bytes:
    """The first of several parts, with the mark that such archives begin with, and no end."""
    return b"PK\7\x08" + head(b"a.txt") + LINE


def last_part_zip() -> bytes:
    """The last of several parts: its directory is about members of all of them."""
    body, directory = head(b"b.txt") + LINE, entry(b"a.txt", 0) + entry(b"b.txt", 0)
    return body + directory + struct.pack("<4s4H2LH", b"PK\5\6", 2, 2, 2, 2, len(directory), 0, 0)


# --- ar ----------------------------------------------------------------------------------------------------


def ar_member(name: bytes, data: bytes = LINE, size: bytes | None = None) -> bytes:
    """A header of `ar` and its content."""
    length = b"%d" % len(data) if size is None else size
    return (
        b"%-16s%-12s%-6s%-6s%-8s%-10s`\n" % (name, b"86400", b"0", b"0", b"100644", length)
        + data
        + (b"\n" if len(data) % 2 else b"")
    )


def ar(*members: bytes) -> bytes:
    """An archive of these."""
    return b"!<arch>\n" + b"".join(members)


# --- tar ---------------------------------------------------------------------------------------------------


def block(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0, target: str = "") -> bytes:
    """One header."""
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, size, target
    return info.tobuf(tarfile.GNU_FORMAT)


def member(name: str, data: bytes = LINE, kind: bytes = tarfile.REGTYPE) -> bytes:
    """A header and its content."""
    return block(name, kind, len(data)) + padded(data)


def padded(data: bytes) -> bytes:
    """Filled up to a whole block."""
    return data.ljust(-(-len(data) // 512) * 512, b"\0")


def said(field: bytes, value: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    """A header that says one thing of the next member, or of all that follow."""
    length = len(field) + len(value) + 3
    length += len(str(length + len(str(length))))
    return member("said", b"%d %s=%s\n" % (length, field, value), kind)


def huge_number_tar() -> bytes:
    """A size of twelve bytes, beyond all files."""
    data = bytearray(block("x"))
    data[124:136] = b"\x80" + b"\x7f" * 11
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data)
    return bytes(data) + _END


def long_names_a(count: int = 60_000) -> bytes:
    """Members that all have the same name, of a megabyte."""
    return ar(ar_member(b"//", b"n" * 2**20), *[ar_member(b"/0", b"")] * count)


def long_names_tar(count: int = 120) -> bytes:
    """Names and links of a megabyte each, which next to nothing stands for."""
    name = said(b"path", b"n" * 1_048_000) + member("a.txt")
    link = said(b"linkpath", b"l" * 1_048_000) + block("link", tarfile.SYMTYPE, target="x")
    return gzip.compress((name + link) * count + _END, compresslevel=1, mtime=0)


def said_of_all_tar(count: int = 60_000) -> bytes:
    """Fifty thousand things that are said of each of so many members."""
    fields = b"".join(b"%d junk%05d=v\n" % (15, at) for at in range(50_000))
    every = member("said", fields, tarfile.XGLTYPE)
    return gzip.compress(every + member("a.txt") * count + _END, compresslevel=1, mtime=0)


ARCHIVES: Mapping[str, Callable[[], bytes]] = {
    "hidden.zip": hidden_zip,
    "two-archives.zip": two_zips,
    "end-in-comment.zip": end_in_comment_zip,
    "far.zip": far_zip,
    "far-directory.zip": far_directory_zip,
    "no-paths.zip": no_paths_zip,
    "many-ways.zip": many_ways_zip,
    "cut-extra.zip": cut_extra_zip,
    "folder.zip": folder_zip,
    "nameless.zip": nameless_zip,
    "own-head.zip": own_head_zip,
    "own-name.zip": own_name_zip,
    "japanese.zip": lambda: named_zip("日本語/テキスト表.txt".encode("cp932")),
    "two-encodings.zip": lambda: named_zip("日本語/表.txt".encode("cp932"), b"\xff\xfe\xfd.txt"),
    "other-name.zip": lambda: named_zip(b"\x81.txt", unicode=b".env", of=b"\x81.txt"),
    "out-name.zip": lambda: named_zip(b"\x81.txt", unicode=b"../../x", of=b"\x81.txt"),
    "first-part.zip": first_part_zip,
    "last-part.zip": last_part_zip,
    "names.deb": lambda: ar(
        ar_member(b"/etc/passwd"), ar_member(b"../x"), ar_member(b".env"), ar_member(b"#1/4", b".env" + LINE)
    ),
    "tables.a": lambda: ar(
        ar_member(b"/", b"\0" * 8), ar_member(b"//", b"long name.txt/\n"), ar_member(b"/0")
    ),
    "far-name.a": lambda: ar(ar_member(b"/99999999999"), ar_member(b"#1/99999999")),
    "cut.a": lambda: ar(ar_member(b"a.txt"), ar_member(b"b.txt", size=b"9999999999")),
    "no-size.a": lambda: ar(ar_member(b"a.txt"), ar_member(b"b.txt", size=b"-1")),
    "many.a": lambda: ar(*[ar_member(b"a", b"")] * 60_000),
    "long-names.a": long_names_a,
    "long-names.tar.gz": long_names_tar,
    "said-of-all.tar.gz": said_of_all_tar,
    "behind-end.tar": lambda: member("a.txt") + _END + member("hidden.txt") + _END,
    "lone-zeros.tar": lambda: member("a.txt") + _ZEROS + member("hidden.txt") + _END,
    "two-tars.tar.gz": lambda: (
        gzip.compress(member("a.txt") + _END, mtime=0) + gzip.compress(member("b.txt") + _END, mtime=0)
    ),
    "huge-number.tar": huge_number_tar,
    "far-end.tar": lambda: member("a.txt") + block("far.bin", size=2**33 - 1) + LINE,
    "headers.tar": lambda: said(b"comment", b"x" * 900) * 20_000 + member("a.txt") + _END,
    "header-alone.tar": lambda: member("a.txt") + said(b"path", b"lost.txt") + _END,
    "damaged-header.tar": lambda: (
        member("said", b"99999 path=other.txt\n", tarfile.XHDTYPE) + member("a.txt") + _END
    ),
    "one-name.tar": lambda: (
        said(b"path", b"same.txt", tarfile.XGLTYPE) + member("a.txt", b"1\n") + member("b.txt", b"2\n") + _END
    ),
    "one-size.tar": lambda: said(b"size", b"100000", tarfile.XGLTYPE) + member("a.txt") + _END,
    "odd-numbers.tar": lambda: said(b"size", b"-5") + said(b"mtime", b"-1e400") + member("a.txt") + _END,
    "long-name.tar": lambda: (
        member("././@LongLink", b"d/" * 200 + b".env\0", tarfile.GNUTYPE_LONGNAME) + member("a.txt") + _END
    ),
    "two-names.tar": lambda: (
        member("././@LongLink", b".env\0", tarfile.GNUTYPE_LONGNAME)
        + said(b"path", b"notes.txt")
        + member("a.txt")
        + _END
    ),
    "circle.tar": lambda: (
        block("a", tarfile.LNKTYPE, target="b") + block("b", tarfile.LNKTYPE, target="a") + _END
    ),
    "link-content.tar": lambda: block("l", tarfile.SYMTYPE, 7, "a.txt") + member("a.txt") + _END,
}
"""By names that say what they do."""


SAID: Mapping[str, str] = {
    "hidden.zip": "between its members belong to no member in its directory",
    "two-archives.zip": "bytes before its first member are not read",
    "end-in-comment.zip": "bytes before its first member are not read",
    "folder.zip": "1 of its folders has content, not shown",
    "japanese.zip": "its names are read as cp932, guessed from their bytes",
    "no-size.a": "it is damaged at byte 76: the rest is not read",
    "many.a": "members with a name that is already used: they cannot be read",
    "behind-end.tar": "data after its end at byte 1,024 is not read",
    "lone-zeros.tar": "data after its end at byte 1,024 is not read",
    "two-tars.tar.gz": "data after its end at byte 1,024 is not read",
    "far-end.tar": "it is cut short",
    "header-alone.tar": "it is cut short",
    "damaged-header.tar": "the extended header at byte 1,024 is damaged",
    "one-name.tar": "1 more member with a name that is already used: the last counts",
    "one-size.tar": "it is cut short",
}
"""What has to be said of some of them: what they have beside what is listed."""
