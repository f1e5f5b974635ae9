"""Trees of everything that a search can meet, and what has to be found in them."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from readroom.core.formats.compressed import Compression
from readroom.core.stores.base import Store
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from tests.core.formats.packing import PACK
from tests.documents.reading.making import pdf
from tests.hostile import containers as hostile
from tests.laws.places import BUCKETS, is_key, over_bucket, over_shell


class Made(Struct, frozen=True):
    """A file: its lines by part, and what has to be asked for so that a search looks into it.

    Attributes:
        sort: What it is made as.
        members: The lines of the files in it.
    """

    data: bytes
    lines: Mapping[int | None, Sequence[str]]
    sort: str
    needs: str = ""
    members: Mapping[str, Sequence[str]] = {}


PLAIN = (
    *("utf-8",) * 6, "utf-8+\xef\xbb\xbf", "utf-16-le", "utf-16-be", "utf-16-le+\xff\xfe",
    "utf-16-be+\xfe\xff", "utf-32-le", "utf-32-be+\0\0\xfe\xff", "latin-1", "nul", "nul", *PACK, "binary",
)  # fmt: skip
"""Texts by encoding and mark, texts with a NUL far behind their beginning, what is compressed or no text."""

ARCHIVES = (*PLAIN[:9], *("zip",) * 6)
DOCUMENTS = (*PLAIN[:7], *("pdf",) * 3)

NAMES = (
    "a", "a.txt", "a-b", "A b", "-x", "!x", "#y#", "+page.py", "é", "ö\udcff", "ö\udcfe", "o\udcfd", "n\nl",
    "z*[x]?", ".hidden", "d", "d.d", "blank ", "x.py", "y.py", "日本", "\u202e", "ignored.log", "{b}", "\\w",
)  # fmt: skip
FOLDERS = ("", "", "d/", "d.d/", "d/e/", "é/", ".h/", "d/" + "deep/" * 12, "w/-/")

BEGINNING = 500
"""Lines of a text before its NUL: more than what is looked at to tell that it is one."""


def _lines(rng: random.Random) -> list[str]:
    found = ["needle", "a Needle é", "x" * 3000 + " needle " + "y" * 50, "def needle():", "needle needle"]
    others = ["hay", "", "straw of a long summer", "  def hay():", "x" * 2500, "need le"]
    return [rng.choice(found if rng.random() < 0.4 else others) for _ in range(rng.randint(0, 12))]


def _text(rng: random.Random, lines: Sequence[str]) -> str:
    return "".join(line + rng.choice(["\n", "\n", "\r\n"]) for line in lines)


def _made(rng: random.Random, sort: str) -> Made:
    lines = _lines(rng)
    if sort == "nul":
        lines = [*["hay of a long summer"] * BEGINNING, "a\0b", *lines]
        return Made(_text(rng, lines).encode(), {None: lines}, sort)
    text = _text(rng, lines)
    packings: Mapping[str, Compression] = {name: name for name in PACK}
    if sort in packings:
        return Made(PACK[packings[sort]](text.encode()), {None: lines}, sort, "compressed")
    if sort == "binary":
        return Made(b"\x7fELF\0\1\2\n" + text.encode(), {None: ["", *lines]}, sort, "binary")
    if sort == "zip":
        members = {"m/a.txt": lines, "m.txt": ["needle"], "z.py": ["hay", "needle"]}
        tree = {name: "\n".join([*some, ""]).encode() for name, some in members.items()}
        return Made(hostile.zipped(tree), {}, sort, "archives", members)
    if sort == "pdf":
        pages = [[line[:60].encode("ascii", "replace").decode() or "-" for line in lines] for _ in range(3)]
        return Made(pdf(pages), dict(enumerate(pages, 1)), sort, "documents")
    codec, _, mark = sort.partition("+")
    return Made(mark.encode("latin-1") + text.encode(codec), {None: lines}, sort)


def tree(rng: random.Random, sorts: Sequence[str], count: int) -> dict[str, Made]:
    """So many files of some sorts, in folders, under names of every form."""
    files: dict[str, Made] = {}
    while len(files) < count:
        path, sort = rng.choice(FOLDERS) + rng.choice(NAMES), rng.choice(sorts)
        above = {path[:at] for at, char in enumerate(path) if char == "/"}
        if not above & files.keys() and not any(other.startswith(f"{path}/") for other in files):
            files[f"{path}.{sort}" if sort in ("zip", "pdf") else path] = _made(rng, sort)
    return files


def with_members(files: Mapping[str, Made]) -> Iterator[tuple[str, Made]]:
    """The files and those that are in them, each by its path."""
    for path, made in files.items():
        yield path, made
        for name, lines in made.members.items():
            yield f"{path}!/{name}", Made(b"", {None: lines}, "member", "archives")


LINKS = {"link": "d", "z-link": "a"}

ON_DISK = ("disk", "shell")
"""Kinds of stores that have links."""

HERE = ("disk", "memory")
"""Kinds that answer at once."""


def placeable(kind: str, files: Mapping[str, Made]) -> Mapping[str, Made]:
    """Those that such a store can have."""
    return {path: made for path, made in files.items() if kind not in BUCKETS or is_key(path, kind)}


@contextmanager
def held(kind: str, files: Mapping[str, Made], rng: random.Random) -> Iterator[Store]:
    """A store of them, of a few ages; logs are ignored, and on a disk there are links."""
    data = {".gitignore": b"*.log\n"} | {path: made.data for path, made in files.items()}
    ages = {path: rng.randint(1, 5) * 10**9 for path in data}
    if kind == "memory":
        memory = MemoryStore()
        for path, content in data.items():
            memory.put(path, content, mtime_ns=ages[path])
        yield memory
        return
    if kind in BUCKETS:
        with over_bucket(data, kind=kind) as store:
            yield store
        return
    with TemporaryDirectory(prefix="readroom-law-") as folder:
        for path, content in data.items():
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            os.utime(target, ns=(ages[path], ages[path]))
        for path, leads_to in LINKS.items():
            Path(folder, path).symlink_to(leads_to)
        yield over_shell(Path(folder)) if kind == "shell" else LocalStore(folder)


class Clock:
    """Stands still until it was looked at so often, and then so much time has passed; or for ever."""

    def __init__(self, looks: int | None = None, passed: float = 1e9) -> None:
        self._left = looks
        self._passed = passed

    def __call__(self) -> float:
        if self._left is None:
            return 0.0
        self._left -= 1
        return 0.0 if self._left >= 0 else self._passed
