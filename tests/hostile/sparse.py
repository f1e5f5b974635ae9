"""Sparse files in tar, in each of the four forms there are, true or with maps that are made to do harm."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Mapping, Sequence

from tests.hostile.misleading import member, padded

FORMS = ("gnu", "0.0", "0.1", "1.0")

Piece = tuple[int, bytes]
"""Where bytes belong, and the bytes."""


def sparse(form: str, pieces: Sequence[Piece], size: int, name: str = "real.img") -> bytes:
    """A member of a tar, without the end of one."""
    extents = [*((at, len(data)) for at, data in pieces), (size, 0)]  # programs end with an empty piece
    return mapped(form, extents, b"".join(data for _, data in pieces), size, name)


def mapped(
    form: str, extents: Sequence[tuple[int, int]], stored: bytes, size: int, name: str = "real.img"
) -> bytes:
    """The same with a map that need not be true."""
    if form == "gnu":
        return _gnu(extents, stored, size, name)
    said = [("GNU.sparse.name", name)]
    if form == "1.0":
        said += [("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"), ("GNU.sparse.realsize", str(size))]
        lines = [len(extents), *(number for extent in extents for number in extent)]
        stored = padded(b"".join(b"%d\n" % number for number in lines)) + stored
    elif form == "0.1":
        numbers = ",".join(str(number) for extent in extents for number in extent)
        said += [("GNU.sparse.size", str(size)), ("GNU.sparse.map", numbers)]
    else:
        said += [("GNU.sparse.size", str(size)), ("GNU.sparse.numblocks", str(len(extents)))]
        for at, length in extents:
            said += [("GNU.sparse.offset", str(at)), ("GNU.sparse.numbytes", str(length))]
    return extended(said) + member("GNUSparseFile.0/x", stored)


def extended(said: Sequence[tuple[str, str]]) -> bytes:
    """An extended header, whose fields may stand in it twice."""
    records = b""
    for keyword, value in said:
        record = f" {keyword}={value}\n".encode()
        length = len(record) + 1
        while length != len(str(length)) + len(record):
            length = len(str(length)) + len(record)
        records += b"%d%s" % (length, record)
    return member("PaxHeaders/x", records, tarfile.XHDTYPE)


def _gnu(extents: Sequence[tuple[int, int]], stored: bytes, size: int, name: str) -> bytes:
    fields = [b"%011o\0%011o\0" % extent for extent in extents]
    head = member(name, stored, tarfile.GNUTYPE_SPARSE)[:512]
    more = b"\1" if len(fields) > 4 else b"\0"
    head = head[:386] + b"".join(fields[:4]).ljust(96, b"\0") + more + b"%011o\0" % size + head[495:]
    blocks, fields = b"", fields[4:]
    while fields:
        block, fields = fields[:21], fields[21:]
        blocks += b"".join(block).ljust(504, b"\0") + (b"\1" if fields else b"\0") + bytes(7)
    blank = head[:148] + b" " * 8 + head[156:]
    return blank[:148] + b"%06o\0 " % sum(blank) + blank[156:] + blocks + padded(stored)


_LINE = b"a line\n"
_LARGEST = 8**11 - 1

MAPS: Mapping[str, tuple[Sequence[tuple[int, int]], bytes, int]] = {
    "overlapping": ([(0, 7), (3, 7)], _LINE * 2, 20),
    "backward": ([(100, 7), (0, 7)], _LINE * 2, 200),
    "twice": ([(0, 7), (0, 7)], _LINE * 2, 7),
    "beyond": ([(0, 7), (500, 7)], _LINE * 2, 20),
    "too-much": ([(0, 700)], _LINE, 700),
    "too-little": ([(0, 3)], _LINE, 700),
    "far": ([(_LARGEST, 7)], _LINE, _LARGEST),
    "nothing": ([], _LINE, 7),
}
"""Maps that no program writes, with what is stored and the size that is said."""


def _endless() -> bytes:
    """Blocks of a map one behind the other, for as long as a header is held."""
    return mapped("gnu", [(at * 8, 1) for at in range(60_000)], _LINE * 8_572, 480_000)


def hostile() -> Mapping[str, Callable[[], bytes]]:
    """Archives, each with a member behind what is wrong with it."""

    def all_maps(form: str) -> bytes:
        wrong = [mapped(form, *said, name=f"{name}.img") for name, said in MAPS.items()]
        return b"".join([*wrong, member("after.txt", _LINE), bytes(1024)])

    def zeros() -> bytes:
        return sparse("1.0", [(0, _LINE)], 1 << 40) + sparse("gnu", [(0, _LINE)], 8**11 - 1, "b.img")

    def odd() -> bytes:
        numbers = (str(-1), str(1 << 63), str(1 << 64), "1e9", "", "٣")
        said = [[("GNU.sparse.size", number), ("GNU.sparse.map", f"0,{number}")] for number in numbers]
        said += [[("GNU.sparse.major", "1"), ("GNU.sparse.realsize", "7")]]
        return b"".join(extended(fields) + member(f"{at}.img", _LINE) for at, fields in enumerate(said))

    def count() -> bytes:
        said = [("GNU.sparse.major", "1"), ("GNU.sparse.realsize", "7")]
        return extended(said) + member("x.img", b"999999999999\n0\n7\n".ljust(512, b"\0") + _LINE)

    return {
        **{f"sparse-{form}.tar": lambda form=form: all_maps(form) for form in FORMS},  # type: ignore[misc]
        "sparse-zeros.tar": zeros,
        "sparse-odd.tar": odd,
        "sparse-count.tar": count,
        "sparse-endless.tar": _endless,
    }
