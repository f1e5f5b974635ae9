"""Find parts that say again what an earlier part of another file says: a guide in Markdown and as HTML.

Only files are compared whose text may exist in several formats: documentation, licences and what is
generated, and files whose names differ in their endings alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from zlib import crc32

from readroom.core.ranking.roles import may_be_repeated
from readroom.core.ranking.score import Candidate, RankedPart

_WORD = re.compile(r"\w+")
_MARKS = re.compile(r"<[^<>\n]{0,300}>|&\w{2,8};|\\f[A-Z]|\\-?|https?://\S+")
"""The additions of formats to the words of a text: tags, entities, fonts of man pages."""

COMPARED = 200
"""Parts of a round that are compared, the best ones: far more than any reader follows."""

ALIKE = 0.7
"""Share of the shorter part's groups of words that are in the other. Tags and line breaks change one of ten;
parts of different texts share less than a tenth."""

_GROUP, _LEAST = 4, 8
"""Words in a group, and groups in the shortest part that is compared."""


def repeated(ranked: Sequence[RankedPart], files: Mapping[str, Candidate]) -> set[int]:
    """The positions of parts that repeat an earlier one of another file."""
    telling, formats = _compared(files)
    compared = telling | formats
    told, again = list[tuple[str, frozenset[int]]](), set[int]()
    if len(compared) < 2:
        return again
    positions = [at for at, part in enumerate(ranked) if part.path in compared and part.own > 0]
    for at in positions[:COMPARED]:
        path = ranked[at].path
        groups = _groups(files[path], ranked[at])
        if len(groups) < _LEAST:
            continue
        others = (
            each
            for other, each in told
            if other != path and ({other, path} <= telling or _ending(other) != _ending(path))
        )
        if any(_is_alike(groups, other) for other in others):
            again.add(at)
        told.append((path, groups))
    return again


def _compared(files: Mapping[str, Candidate]) -> tuple[set[str], set[str]]:
    """The paths of files whose text may be that of another one: by their role, and by their endings."""
    endings: dict[str, set[str]] = {}
    for path in files:
        endings.setdefault(_stem(path), set()).add(_ending(path))
    telling = {path for path, file in files.items() if may_be_repeated(file.file.counted.place)}
    return telling, {path for path in files if len(endings[_stem(path)]) > 1}


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _ending(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[2]


def _groups(file: Candidate, ranked: RankedPart) -> frozenset[int]:
    """Groups of adjacent words in a part, as numbers."""
    part, starts = ranked.part, file.starts
    text = file.text.lowered(starts[part.first - 1], starts[part.last])
    words = _WORD.findall(_MARKS.sub(" ", text))
    ends = range(_GROUP, len(words) + 1)
    return frozenset(crc32(" ".join(words[end - _GROUP : end]).encode()) for end in ends)


def _is_alike(one: frozenset[int], other: frozenset[int]) -> bool:
    return len(one & other) >= ALIKE * min(len(one), len(other))
