"""Ways of reading with the tools of this project: replies, one after the other, until it is enough.

Each is what a model would do that makes no mistake: it reads no line twice, and takes the best hit first.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from benchmarks.find.plain import plain_parts
from readroom import Workspace
from readroom.core import config
from readroom.core.ranking.counting import COUNTED, CountedText
from readroom.core.ranking.query import parse
from readroom.core.values import Reply

Lines: TypeAlias = "set[tuple[str, int]]"
Shown: TypeAlias = "tuple[str, Lines]"
"""The text of a reply, and the lines of files that it shows."""

_WORDS, _HITS, _FILES, _AROUND, _SYMBOLS = 6, 40, 8, 20, 4
_SMALL_TOKENS = 1600
"""Of smaller pages: three of them are read within 5,000 tokens, of the default ones two."""

_LARGE_TOKENS = 4700
"""Of one page that fits into 5,000 tokens."""

_TIMEOUT_S = 600.0

_CHUNK_LINES, _CHUNKED_BYTES = 50, 2 * 1024 * 1024

_NUMBERED = re.compile(r"(\d+)-?\t")


def patient(folder: Path) -> Workspace:
    """A workspace whose searches have all the time that they need, however busy the machine is."""
    store = config.open_store(folder)
    settings = config.load(store)
    limits = replace(settings.limits, grep_timeout_s=_TIMEOUT_S)
    return Workspace(store, settings=replace(settings, limits=limits))


def ranked(workspace: Workspace, _folder: Path, question: str, budget: int | None = None) -> Iterator[Shown]:
    """find_relevant, and the pages behind it."""
    call: Any = {"tool": "find_relevant", "arguments": {"query": question}}
    if budget is not None:
        call["arguments"]["budget_tokens"] = budget
    while call is not None:
        reply = workspace.call(call["tool"], call["arguments"])
        yield reply.text, _numbered(reply)
        call = None if reply.is_error else reply.facts["next"]


def grep_then_windows(workspace: Workspace, _folder: Path, question: str) -> Iterator[Shown]:
    """A search for the six longest words, best files first, then windows around the hits."""
    reply, hits = _search(workspace, question)
    yield reply.text, {(path, line) for path, lines in hits.items() for line in lines}
    seen: Lines = set()
    for path, lines in hits.items():
        for line in lines:
            if (path, line) in seen:
                continue
            first = max(1, line - _AROUND)
            reply = workspace.call("read_file", {"path": path, "offset": first, "limit": 2 * _AROUND})
            shown = {(path, number) for _, number in _numbered(reply, path)}
            seen |= shown
            yield reply.text, shown


def outlines_first(workspace: Workspace, _folder: Path, question: str) -> Iterator[Shown]:
    """The same search, then of each file the outline and the definitions that hold most hits."""
    reply, hits = _search(workspace, question)
    yield reply.text, {(path, line) for path, lines in hits.items() for line in lines}
    for path, lines in hits.items():
        outline = workspace.call("read_file", {"path": path, "view": "outline"})
        yield outline.text, set()
        spans = [(int(first), int(last)) for first, last in re.findall(r"(?m)^\s*(\d+)-(\d+) ", outline.text)]
        inner: Counter[tuple[int, int]] = Counter()
        for line in lines:
            around = [span for span in spans if span[0] <= line <= span[1]]
            if around:
                inner[min(around, key=lambda span: span[1] - span[0])] += 1
        for first, last in [span for span, _ in inner.most_common(_SYMBOLS)] or [(1, 2 * _AROUND)]:
            reply = workspace.call("read_file", {"path": path, "offset": first, "limit": last - first + 1})
            yield reply.text, {(path, number) for _, number in _numbered(reply, path)}


def _search(workspace: Workspace, question: str) -> tuple[Reply, dict[str, list[int]]]:
    words = sorted((term.word for term in parse(question).terms), key=lambda word: (-len(word), word))
    arguments = {
        "pattern": "|".join(map(re.escape, words[:_WORDS])),
        "ignore_case": True,
        "sort": "relevance",
        "limit": _HITS,
    }
    reply = workspace.call("grep_files", arguments)
    hits: dict[str, list[int]] = {}
    files: Any = [] if reply.is_error else reply.facts["files"]
    for file in files[:_FILES]:
        hits[file["path"]] = [line["line"] for line in file["lines"] if line["match"]]
    return reply, hits


def _numbered(reply: Reply, path: str | None = None) -> Lines:
    """The numbered lines of a reply, with the file whose heading stands above them."""
    found: Lines = set()
    for row in reply.text.split("\n"):
        number = _NUMBERED.match(row)
        if number is None:
            path = row.partition(" | ")[0] if " | " in row else path
        elif path is not None:
            found.add((path, int(number[1])))
    return found


def best_chunks(_workspace: Workspace, folder: Path, question: str) -> Iterator[Shown]:
    """What an index of BM25 gives without any more: chunks of 50 lines, the best first."""
    chunks = _chunks(folder, question)
    holding = [
        sum(bool(times) for times in column)
        for column in zip(*(chunk.counts for chunk in chunks), strict=True)
    ]
    rare = [math.log(1 + (len(chunks) - files + 0.5) / (files + 0.5)) for files in holding]
    mean = sum(len(chunk.text) for chunk in chunks) / max(len(chunks), 1)
    scored = []
    for chunk in chunks:
        norm = 1.2 * (0.25 + 0.75 * len(chunk.text) / mean)
        points = zip(rare, chunk.counts, strict=True)
        score = math.fsum(weight * times * 2.2 / (times + norm) for weight, times in points)
        if score:
            scored.append((-score, chunk.path, chunk.first, chunk))
    for _, path, first, chunk in sorted(scored, key=lambda each: each[:3]):
        rows = list(enumerate(chunk.text.split("\n"), first))
        shown = {(path, number) for number, _ in rows}
        yield "\n".join([path, *(f"{number}\t{row}" for number, row in rows)]), shown


class _Chunk(NamedTuple):
    path: str
    first: int
    text: str
    counts: Sequence[int]


def _chunks(folder: Path, question: str) -> list[_Chunk]:
    terms, chunks = parse(question).terms, list[_Chunk]()
    for file in sorted(folder.rglob("*")):
        if not file.is_file() or file.is_symlink() or file.stat().st_size > _CHUNKED_BYTES:
            continue
        data = file.read_bytes()
        if b"\0" in data:
            continue
        lines = data.decode("utf-8", "replace").split("\n")
        for at in range(0, len(lines), _CHUNK_LINES):
            text = "\n".join(lines[at : at + _CHUNK_LINES])
            counted = CountedText(text)
            counts = [len(counted.places(term, COUNTED)) for term in terms]
            chunks.append(_Chunk(file.relative_to(folder).as_posix(), at + 1, text, counts))
    return chunks


Ways: TypeAlias = "Mapping[str, Callable[[Workspace, Path, str], Iterator[Shown]]]"

WAYS: Ways = {
    "find_relevant": ranked,
    "find_relevant, pages of 1,600": partial(ranked, budget=_SMALL_TOKENS),
    "find_relevant, pages of 4,700": partial(ranked, budget=_LARGE_TOKENS),
    "plain parts": plain_parts,
    "grep, then windows": grep_then_windows,
    "outlines first": outlines_first,
    "BM25 of chunks": best_chunks,
}
