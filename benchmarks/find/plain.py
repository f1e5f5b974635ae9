"""The plain method that ranked reading is measured by: BM25 of definitions, without any more.

Parts are definitions of at most some forty lines, pieces of longer ones, and what stands between them.  A
part's words are its text, its own name three times, and the signatures around it and the path once; half of
the file's BM25 is added.  Tests and documentation stand behind the rest unless the question names them.
The best parts fill a page, grouped by file in reading order, until the next one does not fit.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from bpe_openai import get_encoding

from readroom import Workspace
from readroom.core.deadline import Deadline
from readroom.core.outline import Unparsable, build, can_outline
from readroom.core.outline.languages import language_of
from readroom.core.ranking.parts import cut
from readroom.core.ranking.query import parse
from readroom.core.ranking.words import stem, sub_words
from readroom.core.values.files import Item

K = TypeVar("K")

PAGE_TOKENS = 4900
_FILES, _BYTES, _NAME, _FILE_SHARE = 50, 1024 * 1024, 3, 0.5

_ASIDE = re.compile(
    r"(^|/)(tests?|specs?|__tests__|testing|docs?|examples?|benchmarks?|fixtures?)/|(^|/)test_|[._-](tests?|spec)\."
    r"|Tests?\.\w+$|\.(md|rst|txt|html|adoc|[1-9])$",
    re.IGNORECASE,
)
_NAMING = frozenset({"test", "spec", "doc", "document", "exampl", "benchmark", "readm", "fixtur"})


class _Part(NamedTuple):
    path: str
    first: int
    rows: Sequence[str]
    words: Counter[str]


def plain_parts(
    _workspace: Workspace, folder: Path, question: str
) -> Iterator[tuple[str, set[tuple[str, int]]]]:
    """Pages of the best parts of the fifty best files."""
    texts, _ = _counted(folder)
    asked, scores = _scores(folder, question)
    best = _best_first(asked, scores)[:_FILES]
    parts = [part for path in best if scores[path] for part in _parts(path, texts[path])]
    own = _bm25(asked, {at: part.words for at, part in enumerate(parts)})
    order = sorted(
        range(len(parts)),
        key=lambda at: (
            _is_aside(parts[at].path, asked),
            -own[at] - _FILE_SHARE * scores[parts[at].path],
            at,
        ),
    )
    yield from _pages([parts[at] for at in order])


def plain_files(folder: Path, question: str) -> Sequence[str]:
    """The files that have a word of the question, best first."""
    asked, scores = _scores(folder, question)
    return [path for path in _best_first(asked, scores) if scores[path]]


@lru_cache(maxsize=1)
def _counted(folder: Path) -> tuple[dict[str, str], dict[str, Counter[str]]]:
    """The texts of a folder, and how often each stem is in them."""
    texts = dict(_texts(folder))
    return texts, {path: Counter(map(stem, sub_words(text))) for path, text in texts.items()}


def _scores(folder: Path, question: str) -> tuple[set[str], dict[str, float]]:
    """The stems of a question, and the score of each file."""
    asked = {term.stem for term in parse(question).terms}
    return asked, _bm25(asked, _counted(folder)[1])


def _best_first(asked: set[str], scores: Mapping[str, float]) -> list[str]:
    return sorted(scores, key=lambda path: (_is_aside(path, asked), -scores[path], path))


def _is_aside(path: str, asked: set[str]) -> bool:
    return bool(_ASIDE.search(path)) and not asked & _NAMING


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder).as_posix()
        if file.is_symlink() or not file.is_file() or path.startswith(".") or file.stat().st_size > _BYTES:
            continue
        data = file.read_bytes()
        if b"\0" not in data:
            yield path, data.decode("utf-8", "replace")


def _bm25(asked: set[str], texts: Mapping[K, Counter[str]]) -> dict[K, float]:
    mean = sum(words.total() for words in texts.values()) / max(len(texts), 1) or 1.0
    holding = {word: sum(word in words for words in texts.values()) for word in asked}
    rare = {word: math.log(1 + (len(texts) - held + 0.5) / (held + 0.5)) for word, held in holding.items()}
    scores = {}
    for key, words in texts.items():
        norm = 1.2 * (0.5 + 0.5 * words.total() / mean)
        scores[key] = math.fsum(rare[word] * words[word] * 2.2 / (words[word] + norm) for word in asked)
    return scores


def _parts(path: str, text: str) -> Iterator[_Part]:
    lines = text.split("\n")
    items: Sequence[Item] = ()
    language = language_of(path, text[:8192])
    if language is not None and can_outline(language):
        try:
            items = build(text, language, Deadline(60.0)).items
        except Unparsable:
            items = ()
    for part in cut(lines, items):
        rows = lines[part.first - 1 : part.last]
        words = Counter(map(stem, sub_words("\n".join(rows))))
        words.update(map(stem, sub_words(path)))
        for _, signature in part.signatures[:-1]:
            words.update(map(stem, sub_words(signature)))
        for _ in range(_NAME if part.names else 0):
            words.update(map(stem, sub_words(part.names[-1])))
        yield _Part(path, part.first, rows, words)


def _pages(parts: Sequence[_Part]) -> Iterator[tuple[str, set[tuple[str, int]]]]:
    encode = get_encoding("o200k_base").encode
    page, used = list[_Part](), 0
    for part in parts:
        cost = len(encode(_text([part]), disallowed_special=()))
        if page and used + cost > PAGE_TOKENS:
            yield _text(page), _lines(page)
            page, used = [], 0
        page.append(part)
        used += cost
    if page:
        yield _text(page), _lines(page)


def _text(page: Sequence[_Part]) -> str:
    rows = []
    for path in dict.fromkeys(part.path for part in page):
        rows.append(path)
        last = 0
        for part in sorted((part for part in page if part.path == path), key=lambda part: part.first):
            if last and part.first > last + 1:
                rows.append("…")
            rows += [f"{number}\t{row}" for number, row in enumerate(part.rows, part.first)]
            last = part.first + len(part.rows) - 1
    return "\n".join(rows)


def _lines(page: Sequence[_Part]) -> set[tuple[str, int]]:
    return {(part.path, part.first + at) for part in page for at in range(len(part.rows))}
