"""Ways of reading with the tools of this project: replies, one after the other, until it is enough.

Each is what a model would do that makes no mistake: it reads no line twice, and takes the best hit first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

from readroom import Workspace
from readroom.ranking.query import parse
from readroom.values import Reply

Lines: TypeAlias = "set[tuple[str, int]]"
Shown: TypeAlias = "tuple[Reply, Lines]"
"""A reply, and the lines of files that it shows."""

_WORDS, _HITS, _FILES, _AROUND, _SYMBOLS = 6, 40, 8, 20, 4
_SMALL_TOKENS = 1600
"""Of smaller pages: three of them are read within 5,000 tokens, of the default ones two."""

_NUMBERED = re.compile(r"(\d+)-?\t")


def ranked(workspace: Workspace, question: str, budget: int | None = None) -> Iterator[Shown]:
    """find_relevant, and the pages behind it."""
    call: Any = {"tool": "find_relevant", "arguments": {"query": question}}
    if budget is not None:
        call["arguments"]["budget_tokens"] = budget
    while call is not None:
        reply = workspace.call(call["tool"], call["arguments"])
        yield reply, _numbered(reply)
        call = None if reply.is_error else reply.facts["next"]


def grep_then_windows(workspace: Workspace, question: str) -> Iterator[Shown]:
    """A search for the six longest words, best files first, then windows around the hits."""
    reply, hits = _search(workspace, question)
    yield reply, {(path, line) for path, lines in hits.items() for line in lines}
    seen: Lines = set()
    for path, lines in hits.items():
        for line in lines:
            if (path, line) in seen:
                continue
            first = max(1, line - _AROUND)
            reply = workspace.call("read_file", {"path": path, "offset": first, "limit": 2 * _AROUND})
            shown = {(path, number) for _, number in _numbered(reply, path)}
            seen |= shown
            yield reply, shown


def outlines_first(workspace: Workspace, question: str) -> Iterator[Shown]:
    """The same search, then of each file the outline and the definitions that hold most hits."""
    reply, hits = _search(workspace, question)
    yield reply, {(path, line) for path, lines in hits.items() for line in lines}
    for path, lines in hits.items():
        outline = workspace.call("read_file", {"path": path, "view": "outline"})
        yield outline, set()
        spans = [(int(first), int(last)) for first, last in re.findall(r"(?m)^\s*(\d+)-(\d+) ", outline.text)]
        inner: Counter[tuple[int, int]] = Counter()
        for line in lines:
            around = [span for span in spans if span[0] <= line <= span[1]]
            if around:
                inner[min(around, key=lambda span: span[1] - span[0])] += 1
        for first, last in [span for span, _ in inner.most_common(_SYMBOLS)] or [(1, 2 * _AROUND)]:
            reply = workspace.call("read_file", {"path": path, "offset": first, "limit": last - first + 1})
            yield reply, {(path, number) for _, number in _numbered(reply, path)}


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


WAYS: dict[str, Callable[[Workspace, str], Iterator[Shown]]] = {
    "find_relevant": ranked,
    "find_relevant, pages of 1,600": partial(ranked, budget=_SMALL_TOKENS),
    "grep, then windows": grep_then_windows,
    "outlines first": outlines_first,
}
