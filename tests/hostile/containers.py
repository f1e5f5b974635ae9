"""Archives that are made to do harm, each small, whatever it claims.

python -m tests.hostile.containers FOLDER   writes them all
"""

from __future__ import annotations

import bz2
import functools
import gzip
import io
import lzma
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.hostile import misleading, sevens

MB = 1024 * 1024
LINK_MODE = 0o120777 << 16


def zipped(members: Mapping[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(members: Mapping[str, bytes], *, form: int = tarfile.PAX_FORMAT, mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=form) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1_700_000_000
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def tar_of(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, data in entries:
            info.size = len(data) if info.isreg() else 0
            archive.addfile(info, io.BytesIO(data) if info.isreg() else None)
    return out.getvalue()


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def escaping() -> dict[str, bytes]:
    """Names that lead out, written as no careful program writes them."""
    names = [
        "../../escaped.txt",
        "/etc/cron.d/escaped",
        "a/../../escaped",
        "ok.txt",
        "..\\win.txt",
        "./dot/ok.txt",
    ]
    raw = zipped({name: b"content of " + name.encode() for name in names})
    return {
        "names.zip": raw,
        "names.tar": tar_of(*((entry(name), b"content of " + name.encode()) for name in names)),
    }


def linked() -> dict[str, bytes]:
    """Links that lead out, in circles, and to what is denied."""
    links = {
        "out": "../../../etc/passwd",
        "abs": "/etc/passwd",
        "loop": "loop",
        "denied": ".env",
        "good": "a/b.txt",
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, target in links.items():
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, LINK_MODE
            archive.writestr(info, target)
        archive.writestr("a/b.txt", "linked content\n")
        archive.writestr(".env", "SECRET=zip\n")
    hard = [(entry(f"hard-{name}", tarfile.LNKTYPE, target), b"") for name, target in links.items()]
    return {
        "links.zip": out.getvalue(),
        "links.tar": tar_of(
            (entry("a/b.txt"), b"linked content\n"),
            (entry(".env"), b"SECRET=tar\n"),
            *((entry(name, tarfile.SYMTYPE, target), b"") for name, target in links.items()),
            *hard,
            (entry("folder", tarfile.SYMTYPE, "a"), b""),
            (entry("tty", tarfile.CHRTYPE), b""),
            (entry("pipe", tarfile.FIFOTYPE), b""),
        ),
    }


def doubled() -> dict[str, bytes]:
    """Two members of one name, of which programs take different ones; and a file that is a folder, too."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("twice.txt", "first\n")
        archive.writestr("once.txt", "once\n")
        archive.filelist[0].filename = archive.filelist[0].filename
        info = zipfile.ZipInfo("twicf.txt")
        archive.writestr(info, "second\n")
    again = out.getvalue().replace(b"twicf.txt", b"twice.txt")
    return {
        "twice.zip": again,
        "twice.tar": tar_of((entry("twice.txt"), b"first\n"), (entry("twice.txt"), b"second\n")),
        "both.tar": tar_of((entry("x"), b"file\n"), (entry("x/y"), b"below a file\n")),
    }


def bomb(size: int = 128 * MB) -> bytes:
    """A member of nothing but zeros, which says so."""
    return zipped({"zeros": b"\0" * size, "small.txt": b"small\n"})


def lying_bomb() -> bytes:
    """A member that says it has ten bytes and has a hundred million."""
    data = zlib.compress(b"a" * 100_000_000, 9)[2:-4]
    raw = bytearray(zipped({"lies.txt": b"0123456789"}, zipfile.ZIP_STORED))
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 33, 0, len(data), 10, 8, 0) + b"lies.txt" + data
    central = struct.pack(
        "<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 33, 0, len(data), 10, 8, 0, 0, 0, 0, 0, 0
    ) + b"lies.txt"  # fmt: skip
    raw = bytearray(local + central)
    return bytes(raw) + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local), 0)


def overlapping(count: int = 200) -> bytes:
    """Many members that are one and the same bytes, as bombs that need no nesting."""
    content = b"b" * 1_000_000
    data, check = zlib.compress(content, 9)[2:-4], zlib.crc32(content)
    sizes = (check, len(data), len(content))
    body = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 33, *sizes, 1, 0) + b"m" + data
    one = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 33, *sizes, 4, 0, 0, 0, 0, 0, 0)
    directory = b"".join(one + b"m%03d" % number for number in range(count))
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + end


def encrypted() -> bytes:
    """One member in the clear, one that says to be encrypted, one by AES."""
    raw = bytearray(zipped({"plain.txt": b"plain\n", "secret.txt": b"secret\n", "aes.txt": b"aes\n"}))
    for name, flags, method in ((b"secret.txt", 1, 8), (b"aes.txt", 1, 99)):
        at = raw.rfind(name) - 46
        raw[at + 8] |= flags
        raw[at + 10 : at + 12] = struct.pack("<H", method)
    return bytes(raw)


def many_members(count: int = 200_000) -> bytes:
    """More entries than anybody looks at, all of one empty member."""
    one = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 0, 0, 33, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0)
    directory = b"".join(one + b"%06d" % number for number in range(count))
    return directory + struct.pack(
        "<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFE, 0xFFFE, len(directory), 0, 0
    )  # fmt: skip


def no_zip_start(data: bytes) -> bytes:
    """An archive behind something else that begins like one."""
    return b"PK\3\4" + b"\0" * 26 + data


def huge_header() -> bytes:
    """A tar whose extended header says to have a terabyte."""
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 1 << 40
    return info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 1024


def negative() -> bytes:
    """A tar member with a negative size, on which a walk could go back for ever."""
    info = tarfile.TarInfo("x")
    data = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    data[124:136] = b"\xff" + b"\xff" * 9 + b"\xfe\x00"
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data)
    return bytes(data) + b"\0" * 1024


def damaged() -> dict[str, bytes]:
    whole = zipped({"a.txt": b"a line\n" * 1000, "b.txt": b"b line\n"})
    broken = bytearray(whole)
    broken[60:64] = b"\xff\xff\xff\xff"
    stored = tarred({"a.txt": b"a line\n" * 1000, "b.txt": b"b\n" * 2000})
    return {
        "cut.zip": whole[: len(whole) // 2],
        "broken.zip": bytes(broken),
        "cut.tar": stored[: len(stored) // 2],
        "no-members.tar": b"\0" * 10_240,
    }


def nested(depth: int) -> bytes:
    """A text in an archive in an archive, so deep."""
    data, name = b"the innermost line\n", "inner.txt"
    for level in range(depth):
        data, name = zipped({name: data}), f"level{level + 1}.zip"
    return data


def odd_names() -> bytes:
    """Names that look like our own words, or like nothing."""
    return tar_of(
        *(
            (entry(name), b"content\n")
            for name in (
                "a!/b.txt", "x.zip!/y", "line\nbreak", "\x1b[31mred", "-rf", "é", "end of listing | next: x",
                "\u202etxt.exe", "a\\.env", " ", "'quoted'",
            )
        )
    )  # fmt: skip


def large_dictionary_zip() -> bytes:
    """A member that wants four gigabytes of memory to be expanded in."""
    data = zipped({"words.txt": b"a line\n" * 100}, zipfile.ZIP_LZMA)
    at = data.index(b"\x5d", data.index(b"words.txt"))
    return data[: at + 1] + b"\xff\xff\xff\xff" + data[at + 5 :]


def large_dictionary_xz() -> bytes:
    """A stream of xz that wants four gigabytes."""
    data = bytearray(lzma.compress(tarred({"words.txt": b"a line\n" * 100})))
    end = 12 + 4 * (data[12] + 1)
    at = data.index(b"\x21\x01", 12, end)
    data[at + 2] = 40
    data[end - 4 : end] = struct.pack("<I", zlib.crc32(data[12 : end - 4]))
    return bytes(data)


def large_window_zst() -> bytes:
    """A frame of Zstandard that wants two gigabytes."""
    content = tarred({"words.txt": b"a line\n" * 100})
    block = struct.pack("<I", len(content) << 3 | 1)[:3]
    return b"\x28\xb5\x2f\xfd" + b"\x00" + bytes([21 << 3]) + block + content


def streamed_bomb(open_stream: Callable[[io.BytesIO], io.BufferedIOBase], size: int = 200 * MB) -> bytes:
    """A tar whose only member is as large as it says, and nothing but zeros."""
    info = entry("zeros")
    info.size = size
    out = io.BytesIO()
    with open_stream(out) as stream:
        stream.write(info.tobuf())
        for _ in range(0, size, MB):
            stream.write(bytes(MB))
        stream.write(bytes(1024))
    return out.getvalue()


def huge_directory() -> bytes:
    """An end that says to have four thousand million members, in a directory that is elsewhere."""
    data = zipped({"a.txt": b"a line\n"})
    at = data.rindex(b"PK\5\6")
    return data[:at] + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 2**32 - 2, 2**32 - 2, 0)


def huge_member() -> bytes:
    """A member that says, in the fields for large ones, to be as large as a number can."""
    extra = struct.pack("<HHQQ", 1, 16, 2**63 - 1, 2**63 - 1)
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 45, 0, 8, 0, 33, 0, 2**32 - 1, 2**32 - 1, 5, len(extra))
    body = local + b"a.txt" + extra + zlib.compress(b"a line\n")[2:-4]
    central = struct.pack(
        "<4s6H3L5H2L", b"PK\1\2", 45, 45, 0, 8, 0, 33, 0, 2**32 - 1, 2**32 - 1, 5, len(extra), 0, 0, 0, 0, 0
    ) + b"a.txt" + extra  # fmt: skip
    return body + central + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(central), len(body), 0)


def two_names() -> bytes:
    """A member whose own head has another name than the directory, and a third in a field for Unicode."""
    name = b"notes.txt"
    extra = struct.pack("<HHBI", 0x7075, 5 + 4, 1, zlib.crc32(name)) + b".env"
    content = b"a line\n"
    sizes = (zlib.crc32(content), len(content), len(content))
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 0, 0, 33, *sizes, 4, 0) + b".env" + content
    central = struct.pack(
        "<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 0, 0, 33, *sizes, len(name), len(extra), 0, 0, 0, 0, 0
    ) + name + extra  # fmt: skip
    return local + central + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local), 0)


def cut_by_nul() -> bytes:
    """Names that end early for programs in C."""
    data = zipped({"notes.txt_.env": b"SECRET=zip\n", ".env_.txt": b"SECRET=zip\n", "plain.txt": b"line\n"})
    return data.replace(b"notes.txt_.env", b"notes.txt\0.env").replace(b".env_.txt", b".env\0.txt")


def said_otherwise() -> bytes:
    """Extended headers of tar that name a member anew: outside, denied, and with a size of its own."""
    return tar_of(
        *((_extended(name, **said), b"a line\n") for name, said in (
            ("a.txt", {"path": "../../escaped.txt"}),
            ("b.txt", {"path": "app/.env"}),
            ("c.txt", {"size": str(1 << 60)}),
            ("d.txt", {"GNU.sparse.major": "1", "GNU.sparse.realsize": str(1 << 50)}),
        ))
    )  # fmt: skip


def sparse_gnu(blocks: int = 3) -> bytes:
    """A sparse file of GNU whose map has so many blocks, and a plain one after it."""
    said = entry("real.img", tarfile.GNUTYPE_SPARSE)
    said.size = 7
    head = bytearray(said.tobuf(tarfile.GNU_FORMAT))
    head[386:495] = b"%011o\0%011o\0" % (8**10, 7) + bytes(72) + b"\1" + b"%011o\0" % (8**11 - 1)
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    more = (bytes(504) + b"\1" + bytes(7)) * (blocks - 1) + bytes(512)
    return bytes(head) + more + misleading.padded(b"a line\n") + misleading.member("after.txt", b"a line\n")


def _extended(name: str, **said: str) -> tarfile.TarInfo:
    info = entry(name)
    info.pax_headers = said
    return info


def long_chain(count: int = 50_000) -> bytes:
    """Links that lead to the next one, fifty thousand times."""
    first, last = entry("", tarfile.SYMTYPE).tobuf(), tar_of((entry(f"l{count}"), b"a line\n"))
    return b"".join([*(_named(first, b"l%d" % at, b"l%d" % (at + 1)) for at in range(count)), last])


def _named(head: bytes, name: bytes, target: bytes) -> bytes:
    """A head of tar that had neither: the standard library takes a second for fifty thousand."""
    found = (
        name.ljust(100, b"\0")
        + head[100:148]
        + b" " * 8
        + head[156:157]
        + target.ljust(100, b"\0")
        + head[257:]
    )
    return found[:148] + b"%06o\0 " % sum(found) + found[156:]


BUILDERS: Mapping[str, Callable[[], bytes]] = {
    "bomb.zip": bomb,
    "lying.zip": lying_bomb,
    "overlapping.zip": overlapping,
    "encrypted.zip": encrypted,
    "many.zip": lambda: no_zip_start(many_members()),
    "huge-header.tar": huge_header,
    "negative.tar": negative,
    "nested.zip": lambda: nested(12),
    "odd-names.tar": odd_names,
    "dictionary.zip": large_dictionary_zip,
    "dictionary.tar.xz": large_dictionary_xz,
    "window.tar.zst": large_window_zst,
    "bomb.tar.gz": lambda: streamed_bomb(lambda out: gzip.GzipFile(fileobj=out, mode="wb", mtime=0)),
    "bomb.tar.bz2": lambda: streamed_bomb(lambda out: bz2.BZ2File(out, "wb"), 20 * MB),
    "bomb.tar.xz": lambda: streamed_bomb(functools.partial(lzma.LZMAFile, mode="wb", preset=0), 50 * MB),
    "huge-directory.zip": huge_directory,
    "huge-member.zip": huge_member,
    "two-names.zip": two_names,
    "cut-names.zip": cut_by_nul,
    "said-otherwise.tar": said_otherwise,
    "chain.tar": long_chain,
    **sevens.hostile(),
    "sparse-gnu.tar": lambda: sparse_gnu() + bytes(1024),
    "sparse-endless.tar": lambda: sparse_gnu(20_000),
    **misleading.ARCHIVES,
}


SEVERAL: Mapping[tuple[str, ...], Callable[[], dict[str, bytes]]] = {
    ("names.zip", "names.tar"): escaping,
    ("links.zip", "links.tar"): linked,
    ("twice.zip", "twice.tar", "both.tar"): doubled,
    ("cut.zip", "broken.zip", "cut.tar", "no-members.tar"): damaged,
}

NAMES = sorted([*BUILDERS, *(name for names in SEVERAL for name in names)])


def archive(name: str) -> bytes:
    """One of them, made when it is asked for: some take a second."""
    if name in BUILDERS:
        return BUILDERS[name]()
    return next(build() for names, build in SEVERAL.items() if name in names)[name]


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        (target / name).write_bytes(archive(name))
