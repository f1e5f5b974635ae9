"""Makes the files and trees that are measured, once, below `.corpora/`."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

HOME = Path(__file__).parent.parent / ".corpora"

LOG_LINES = 10_000_000
TREE_FILES = 50_000
FOLDER_ENTRIES = 100_000
SMALL_FOLDER_ENTRIES = 10_000
ONE_LINE_BYTES = 1_000_000_000

_WORDS = (
    *("request", "response", "session", "worker", "index", "buffer", "cursor", "policy", "guard"),
    *("source", "select", "window", "render", "token", "budget", "ledger", "parse", "open", "close"),
    *("read", "write", "list", "search", "match", "context", "outline", "symbol", "error"),
)


def once(name: str, make: Callable[[Path], None]) -> Path:
    """The corpus of that name, made under another name first so that a killed run leaves no half."""
    path = HOME / name
    if not path.exists():
        HOME.mkdir(parents=True, exist_ok=True)
        part = HOME / f"{name}.part"
        make(part)
        part.rename(path)
    return path


def big_log() -> Path:
    """A folder with a log of 10 million lines, about 1.15 GB."""
    return once("log", lambda path: _log(path, LOG_LINES))


def _log(path: Path, lines: int) -> None:
    path.mkdir(exist_ok=True)
    with open(path / "big.log", "w", encoding="utf-8") as file:
        for start in range(0, lines, 100_000):
            file.writelines(
                f"2026-11-20T12:{i // 1000 % 60:02d}:{i // 17 % 60:02d} INFO worker-{i % 17} request "
                f"id={i:08d} path=/api/v1/items/{i % 977} status=200 duration_ms={i % 311} "
                f"bytes={i % 9973}\n"
                for i in range(start, start + 100_000)
            )


def giant_log(gigabytes: int) -> Path:
    """A log of so many GB: the big one, again and again. Not kept: whoever asks removes it."""
    part = big_log() / "big.log"
    path = HOME / f"giant-{gigabytes}" / "giant.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    size = gigabytes * 1024**3
    with open(part, "rb") as source, open(path, "wb") as file:
        while file.tell() < size:
            source.seek(0)
            shutil.copyfileobj(source, file, 16 * 1024 * 1024)
        file.truncate(size)
    return path


def one_line() -> Path:
    """A folder with a file of one line of 1.0 GB."""

    def make(path: Path) -> None:
        path.mkdir(exist_ok=True)
        piece = ",".join(f'{{"id":{i},"name":"item {i}"}}' for i in range(30_000))
        with open(path / "one-line.json", "w", encoding="utf-8") as file:
            written = 0
            while written < ONE_LINE_BYTES:
                written += file.write(piece)

    return once("one-line", make)


def sources() -> Path:
    """A folder with 100 Python files of about 500 lines."""

    def make(path: Path) -> None:
        path.mkdir(exist_ok=True)
        rng = random.Random(500)
        for number in range(100):
            (path / f"module_{number:03d}.py").write_text(_python(rng, 500), encoding="utf-8")

    return once("sources", make)


def tree() -> Path:
    """A tree of 50,000 searchable files of several languages, median about 2 kB."""

    def make(path: Path) -> None:
        rng = random.Random(50_000)
        suffixes = ("py", "c", "js", "json", "md")
        for number in range(TREE_FILES):
            folder = path / f"pkg{number % 100:02d}" / f"part{number // 100 % 25:02d}"
            folder.mkdir(parents=True, exist_ok=True)
            suffix = suffixes[number % len(suffixes)]
            lines = min(2000, max(5, int(rng.lognormvariate(4.0, 1.0))))
            text = _python(rng, lines) if suffix == "py" else _prose(rng, lines)
            (folder / f"file_{number:05d}.{suffix}").write_text(text, encoding="utf-8")

    return once("tree", make)


def folder(entries: int = FOLDER_ENTRIES) -> Path:
    """A folder with that many small files."""

    def make(path: Path) -> None:
        path.mkdir(exist_ok=True)
        for number in range(entries):
            (path / f"file_{number:06d}.txt").write_text(f"{number}\n", encoding="utf-8")

    return once(f"folder-{entries}", make)


def _python(rng: random.Random, lines: int) -> str:
    found: list[str] = []
    while len(found) < lines:
        name = "_".join(rng.sample(_WORDS, 2))
        found.append(f"def {name}({rng.choice(_WORDS)}: int, {rng.choice(_WORDS)}_s: str) -> bool:")
        found.append(f'    """{" ".join(rng.sample(_WORDS, 6)).capitalize()}."""')
        for _ in range(rng.randrange(3, 12)):
            found.append(f"    {rng.choice(_WORDS)} = {rng.choice(_WORDS)}[{rng.randrange(999)}]")
        found += ["    return True", "", ""]
    return "\n".join(found[:lines]) + "\n"


def _prose(rng: random.Random, lines: int) -> str:
    return "".join(f"{' '.join(rng.choices(_WORDS, k=rng.randrange(3, 14)))}\n" for _ in range(lines))
