"""Outlines: their speed beside parsing alone, and how small they are."""

from __future__ import annotations

import random
import sysconfig
from functools import partial
from pathlib import Path

from bpe_openai import get_encoding

from benchmarks import targets
from benchmarks.measure import Record, counted, met, take_turns
from readroom.core.contracts.native.outline import row_bytes, row_line
from readroom.core.deadline import Deadline
from readroom.core.engine.read.outline import OUTLINE_PERCENT
from readroom.core.outline import build
from readroom.core.outline.grammars import grammar_of
from readroom.core.outline.languages import FOLDS, language_of
from readroom.core.outline.syntax import load
from readroom.core.values.listings import NO_FOLDS, listing

_PLACES = (
    ("Python library", sysconfig.get_path("stdlib"), "*.py"),
    ("C headers", "/usr/include", "*.h"),
    ("npm", "/usr/lib/node_modules", "*.js"),
)
_BYTES = 2_000_000
_LARGE_BYTES = 5_000_000
_ROUNDS = 5
_SMALLEST, _LARGEST = 2_000, 200_000


def run(record: Record) -> None:
    """Whole files of what is installed, in processor time. The parse of an outline is fed in pieces."""
    encode = get_encoding("o200k_base").encode
    table = []
    for title, place, glob in _PLACES:
        texts = _texts(Path(place), glob)
        if not texts:
            continue
        size = sum(len(text.encode()) for _, text in texts)
        spent: dict[str, list[float]] = {"parse": [], "outline": []}
        parsing = counted(partial(_parse, texts), spent["parse"])
        outlining = counted(partial(_outline, texts), spent["outline"])
        take_turns({"parse": parsing, "outline": outlining}, _ROUNDS)
        parse = record.add("outlining", title, "parse alone", spent["parse"], "s")
        ours = record.add("outlining", title, "outline", spent["outline"], "s")
        shown = "\n".join(_outline(texts))
        share = record.add("outlining", f"{title} share", "readroom", [len(shown.encode()) / size], "ratio")
        raw = sum(len(encode(text)) for _, text in texts)
        cost = sum(len(encode("\n".join(_outline([one])))) for one in texts)
        tokens = record.add("outlining", f"{title} tokens", "readroom", [cost / raw], "ratio")
        table.append(
            [
                title,
                f"{size / 1e6:.1f}",
                f"{size / parse / 1e6:.1f}",
                f"{size / ours / 1e6:.1f}",
                met(ours / parse, targets.OUTLINE),
                met(share, targets.OUTLINE_SHARE),
                f"{tokens:.3f}",
            ]
        )
    head = ["files", "MB", "parse, MB/s", "outline, MB/s", "ratio", "share of bytes", "share of tokens"]
    record.table(head, table)
    _large(record)


def _large(record: Record) -> None:
    """One Python module of 5 MB, in processor time."""
    texts = _texts(Path(sysconfig.get_path("stdlib")), "*.py")
    one = "".join(text for _, text in texts)
    whole = one * (_LARGE_BYTES // len(one.encode()) + 1)
    spent: list[float] = []
    run = counted(lambda: _outline([("python", whole[:_LARGE_BYTES])]), spent)
    for _ in range(3):
        run()
    took = record.add("outlining", "5 MB", "outline", spent, "s")
    record.say(f"- A file of 5 MB, processor time in s: {met(took, targets.LARGE_OUTLINE_S)}", "")


def _texts(place: Path, glob: str) -> list[tuple[str, str]]:
    """Files in a fixed random order, up to a number of bytes."""
    paths = [path for path in sorted(place.rglob(glob)) if path.is_file() and not path.name.count(".min.")]
    random.Random(1).shuffle(paths)
    found, left = dict[str, str](), _BYTES  # packages bring the same header
    for path in paths:
        size = path.stat().st_size
        if not _SMALLEST < size < _LARGEST or left <= 0:
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        language = language_of(path.name, text)
        assert language is not None
        if text not in found:
            found[text] = language
            left -= size
    return [(language, text) for text, language in found.items()]


def _parse(texts: list[tuple[str, str]]) -> None:
    from tree_sitter import Parser

    for language, text in texts:
        Parser(load(grammar_of(language))).parse(text.encode())


def _outline(texts: list[tuple[str, str]]) -> list[str]:
    """As a reader gets it: with fields, constants and the like where they do not flood it."""
    found: list[str] = []
    for language, text in texts:
        most = len(text.encode()) * OUTLINE_PERCENT / 100
        items = build(text, language, Deadline(60)).items
        found += map(row_line, listing(items, most, row_bytes, FOLDS.get(language, NO_FOLDS)).rows)
    return found
