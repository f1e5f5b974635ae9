"""A writer of 7z files that writes whatever it is told, and 7z files that are made to do harm."""

from __future__ import annotations

import bz2
import functools
import lzma
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

MB = 1024 * 1024
_UNIX, _FOLDER = 0x8000, 0x10
LINK = 0o120777 << 16 | _UNIX
_LZMA2 = {"id": lzma.FILTER_LZMA2, "dict_size": MB}
_LZMA = {"id": lzma.FILTER_LZMA1, "dict_size": MB, "lc": 3, "lp": 0, "pb": 2}


def number(value: int) -> bytes:
    """As the format writes numbers: a bit of the first byte for each further one."""
    for more in range(9):
        if value < 1 << 7 * (more + 1):
            break
    first = (0xFF00 >> more) & 0xFF
    rest = value.to_bytes(8, "little")[:more]
    return bytes([first | (value >> 8 * more if more < 7 else 0)]) + rest


@dataclass
class Coder:
    """One step of a folder."""

    method: bytes
    properties: bytes = b""


LZMA2 = Coder(b"\x21", b"\x10")
METHODS: Mapping[str, tuple[Coder, ...]] = {
    "copy": (Coder(b"\0"),),
    "lzma2": (LZMA2,),
    "lzma": (Coder(b"\3\1\1", b"\x5d" + struct.pack("<L", MB)),),
    "deflate": (Coder(b"\4\1\x08"),),
    "bzip2": (Coder(b"\4\2\2"),),
    "delta": (LZMA2, Coder(b"\3", b"\3")),
    "bcj": (LZMA2, Coder(b"\3\3\1\3")),
}
"""In the order in which they unpack."""


def packed(method: str, data: bytes) -> bytes:
    """Bytes as a folder of that method holds them."""
    if method == "deflate":
        return zlib.compress(data)[2:-4]
    if method == "bzip2":
        return bz2.compress(data)
    before = {"delta": {"id": lzma.FILTER_DELTA, "dist": 4}, "bcj": {"id": lzma.FILTER_X86}}.get(method)
    chosen = [*([before] if before else []), _LZMA if method == "lzma" else _LZMA2]
    return data if method == "copy" else lzma.compress(data, lzma.FORMAT_RAW, filters=chosen)


@dataclass
class Entry:
    """One file as it is written; without data a folder, an empty file or an anti-item."""

    name: str
    data: bytes | None = None
    attributes: int = 0
    is_anti: bool = False
    size: int | None = None


@dataclass
class Writer:
    """What stands in the header; each field can lie."""

    entries: Sequence[Entry]
    coders: Sequence[Coder] = (LZMA2,)
    stream: bytes = b""
    size: int | None = None
    count: int | None = None
    extra: bytes = b""
    sums: bool = True
    _streams: list[Entry] = field(default_factory=list)

    def folder(self, size: int) -> bytes:
        """The coders, each fed by the one before."""
        bound = b"".join(number(at) + number(at - 1) for at in range(1, len(self.coders)))
        steps = b"".join(
            bytes([len(one.method) | (0x20 if one.properties else 0)])
            + one.method
            + (number(len(one.properties)) + one.properties if one.properties else b"")
            for one in self.coders
        )
        return number(len(self.coders)) + steps + bound

    def streams(self) -> bytes:
        """Where the content is, and which part of it is whose."""
        own = [entry for entry in self.entries if entry.data]
        size = sum(entry.size or len(entry.data or b"") for entry in own) if self.size is None else self.size
        info = b"\6" + number(0) + number(1) + b"\x09" + number(len(self.stream)) + b"\0"
        info += b"\7\x0b" + number(1) + b"\0" + self.folder(size)
        info += b"\x0c" + number(size) * len(self.coders) + b"\0"
        sizes = b"".join(number(entry.size or len(entry.data or b"")) for entry in own[:-1])
        info += b"\x08\x0d" + number(len(own)) + b"\x09" + sizes
        if self.sums:
            sums = b"".join(struct.pack("<L", zlib.crc32(entry.data or b"")) for entry in own)
            info += b"\x0a\1" + sums
        return info + b"\0\0"

    def files(self) -> bytes:
        """Names and kinds."""
        count = len(self.entries) if self.count is None else self.count
        empty = [not entry.data for entry in self.entries]
        without = [entry for entry in self.entries if not entry.data]
        names = "".join(f"{entry.name}\0" for entry in self.entries).encode("utf-16-le", "surrogatepass")
        info = b"\5" + number(count)
        flags = (
            (14, empty),
            (15, [entry.data is not None for entry in without]),
            (16, [entry.is_anti for entry in without]),
        )
        for mark, data in (
            *((mark, _bits(values)) for mark, values in flags if any(values)),
            (17, b"\0" + names),
            (20, b"\1\0" + struct.pack("<Q", 116_444_736_000_000_000 + 17 * 10**15) * len(self.entries)),
            (21, b"\1\0" + b"".join(struct.pack("<L", entry.attributes) for entry in self.entries)),
        ):
            info += bytes([mark]) + number(len(data)) + data
        return info + self.extra + b"\0"

    def header(self) -> bytes:
        """All of it."""
        has_streams = any(entry.data for entry in self.entries)
        return b"\1" + (b"\4" + self.streams() if has_streams else b"") + self.files() + b"\0"

    def written(self) -> bytes:
        """The file."""
        return framed(self.stream, self.header())


def framed(stream: bytes, header: bytes) -> bytes:
    """A content and a header, with the beginning that leads to it."""
    start = struct.pack("<QQL", len(stream), len(header), zlib.crc32(header))
    return b"7z\xbc\xaf\x27\x1c\0\4" + struct.pack("<L", zlib.crc32(start)) + start + stream + header


def _bits(values: Sequence[bool]) -> bytes:
    text = "".join("1" if value else "0" for value in values)
    return bytes(int(text[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(text), 8))


def sevened(members: Mapping[str, bytes], method: str = "lzma2") -> bytes:
    """An archive of these members in one folder."""
    entries = [Entry(name, data) for name, data in members.items()]
    return Writer(entries, METHODS[method], packed(method, b"".join(members.values()))).written()


def encoded(members: Mapping[str, bytes], times: int = 1) -> bytes:
    """The same, its header packed so many times."""
    whole = b"".join(members.values())
    stream = packed("lzma2", whole)
    header = Writer([Entry(name, data) for name, data in members.items()], (LZMA2,), stream).header()
    for _ in range(times):
        small = packed("lzma2", header)
        info = b"\6" + number(len(stream)) + number(1) + b"\x09" + number(len(small)) + b"\0"
        info += b"\7\x0b" + number(1) + b"\0" + number(1) + b"\x21\x21\1\x10"
        info += b"\x0c" + number(len(header)) + b"\x0a\1" + struct.pack("<L", zlib.crc32(header)) + b"\0"
        header, stream = b"\x17" + info + b"\0", stream + small
    return framed(stream, header)


def bomb(size: int = 24 * MB) -> bytes:
    """Nothing but zeros, and a small file behind them in the same folder."""
    packer = lzma.LZMACompressor(lzma.FORMAT_RAW, filters=[_LZMA2])
    stream = b"".join(packer.compress(bytes(MB)) for _ in range(size // MB))
    stream += packer.compress(b"small\n") + packer.flush()
    entries = [Entry("zeros", b"\0", size=size), Entry("small.txt", b"small\n")]
    return Writer(entries, (LZMA2,), stream, sums=False).written()


@functools.cache
def hostile() -> dict[str, Callable[[], bytes]]:
    """Each with a name that says what it does."""
    line, text = b"a line\n", b"a line\n" * 100
    stream = packed("lzma2", line)
    odd = ["ok.txt", "../../escaped.txt", "/etc/absolute.txt", "a/../../up.txt", "\ud800.txt", "x\\..\\y.txt"]
    whole = sevened({"a.txt": text, "b.txt": text})
    entries = [Entry("a.txt", line)]
    return {
        "bomb.7z": bomb,
        "escaping.7z": lambda: sevened(dict.fromkeys(odd, line)),
        "twice.7z": lambda: Writer(
            [Entry("twice.txt", line), Entry("twice.txt", line), Entry("once.txt", line)],
            (LZMA2,),
            packed("lzma2", line * 3),
        ).written(),
        "links.7z": lambda: Writer(
            [
                Entry("good", b"a/b.txt", LINK),
                Entry("out", b"../../etc/passwd", LINK),
                Entry("long", b"x" * 9000, LINK),
                Entry("a/b.txt", line),
            ],
            (LZMA2,),
            packed("lzma2", b"a/b.txt../../etc/passwd" + b"x" * 9000 + line),
        ).written(),
        "anti.7z": lambda: Writer([*entries, Entry("gone.txt", is_anti=True)], (LZMA2,), stream).written(),
        "aes.7z": lambda: Writer(entries, (Coder(b"\6\xf1\7\1", b"\x13\0"), LZMA2), b"x" * 64).written(),
        "dictionary.7z": lambda: Writer(entries, (Coder(b"\x21", b"\x28"),), stream).written(),
        "dictionary-lzma.7z": lambda: Writer(
            entries, (Coder(b"\3\1\1", b"\x5d\xff\xff\xff\xff"),), packed("lzma", line)
        ).written(),
        "unknown.7z": lambda: Writer(entries, (Coder(b"\x7f\x7f"),), stream).written(),
        "more-than-it-says.7z": lambda: Writer(entries, (LZMA2,), packed("lzma2", text)).written(),
        "less-than-it-says.7z": lambda: Writer(
            [Entry("a.txt", line, size=5000), Entry("b.txt", line)], (LZMA2,), stream
        ).written(),
        "huge-size.7z": lambda: Writer(entries, (LZMA2,), stream, size=2**60).written(),
        "far-behind.7z": lambda: Writer(
            [Entry("first", b"\0", size=400 * MB), Entry("far.txt", line)], (LZMA2,), bytes(MB)
        ).written(),
        "huge-count.7z": lambda: Writer(entries, (LZMA2,), stream, count=2**40).written(),
        "huge-property.7z": lambda: Writer(
            entries, (LZMA2,), stream, extra=b"\x19" + number(2**50)
        ).written(),
        "coders.7z": lambda: Writer(entries, (LZMA2,) * 32, stream).written(),
        "encoded-deep.7z": lambda: encoded({"a.txt": line}, 9),
        "cut.7z": lambda: whole[: len(whole) // 2],
        "broken.7z": lambda: whole[:40] + bytes([whole[40] ^ 0xFF]) + whole[41:],
        "no-header.7z": lambda: framed(b"", b""),
        "start-only.7z": lambda: whole[:20],
    }
