"""Other ways to the right files, over the same folder and the same questions."""

from __future__ import annotations

import math
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from readroom import Workspace
from readroom.core.ranking.query import parse
from readroom.core.ranking.words import stem, sub_words

Ranker: TypeAlias = Callable[[str], Sequence[str]]
"""From a question to paths relative to the folder, best first."""


def readroom_find(folder: Path) -> Ranker:
    """`workspace.find(..., output="files")`, as any caller has it."""
    workspace = Workspace(folder)

    def rank(question: str) -> Sequence[str]:
        files = workspace.find(question, output="files").facts["files"]
        assert isinstance(files, list)
        return [str(one["path"]) for one in files]

    return rank


def rg_counting(folder: Path) -> Ranker:
    """Files by how many of their lines hold any word of the question."""

    def rank(question: str) -> Sequence[str]:
        words = "|".join(re.escape(term.word) for term in parse(question).terms)
        command = ["rg", "--count", "--ignore-case", "--no-messages", "--", words, "."]
        lines = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
        counted = (line.rpartition(":") for line in lines.splitlines())
        order = sorted((-int(count), path.removeprefix("./")) for path, _, count in counted)
        return [path for _, path in order]

    return rank


_CHUNK_LINES = 50


def bm25(folder: Path) -> Ranker:
    """BM25 (1.2, 0.75) over chunks of 50 lines in stemmed sub-words, nothing else."""
    chunks: list[tuple[str, Counter[str]]] = []
    for file in sorted(folder.rglob("*")):
        if not file.is_file():
            continue
        lines = file.read_bytes().decode("utf-8", "replace").split("\n")
        for at in range(0, len(lines), _CHUNK_LINES):
            counts = Counter(map(stem, sub_words("\n".join(lines[at : at + _CHUNK_LINES]))))
            chunks.append((str(file.relative_to(folder)), counts))
    sizes = [counts.total() for _, counts in chunks]
    mean = sum(sizes) / len(sizes)
    holding = Counter(word for _, counts in chunks for word in counts)

    def rank(question: str) -> Sequence[str]:
        words = {stem(word) for word in sub_words(question)}
        weights = {
            word: math.log(1 + (len(chunks) - holding[word] + 0.5) / (holding[word] + 0.5)) for word in words
        }
        best: dict[str, float] = {}
        for (path, counts), size in zip(chunks, sizes, strict=True):
            norm = 1.2 * (0.25 + 0.75 * size / mean)
            score = sum(weights[word] * counts[word] * 2.2 / (counts[word] + norm) for word in sorted(words))
            best[path] = max(best.get(path, 0.0), score)
        return sorted((path for path in best if best[path] > 0), key=lambda path: (-best[path], path))

    return rank


_COMPARED = ("numpy", "semble.index.index")
"""Installed by whoever compares; no part of what developers need."""


def semble_index(folder: Path) -> Any:
    """semble's index of program text, without a model; None where semble is not installed.

    It asks a model for vectors all the same: it gets random ones, which a weight of 0 leaves out.
    """
    try:
        numpy, index = map(import_module, _COMPARED)
    except ImportError:
        return None

    class NoModel:
        dim = 8

        def encode(self, texts: Sequence[str] | str, *_: object, **__: object) -> object:
            shape = (8,) if isinstance(texts, str) else (len(texts), 8)
            return numpy.random.default_rng(1).normal(size=shape).astype(numpy.float32)

    return index._build(folder.resolve(), NoModel(), "none", (index.ContentType.CODE,), False)


def semble_without_model(folder: Path) -> Ranker | None:
    """semble's chunks, BM25 and ranking, its weight of embeddings being 0; None where it is not there."""
    made = semble_index(folder)

    def rank(question: str) -> Sequence[str]:
        found = made.search(question, top_k=50, alpha=0.0)
        return list(dict.fromkeys(str(one.chunk.file_path) for one in found))

    return None if made is None else rank


PEERS: dict[str, Callable[[Path], Ranker | None]] = {
    "readroom find": readroom_find,
    "rg counting": rg_counting,
    "BM25 of chunks": bm25,
    "semble, no model": semble_without_model,
}
