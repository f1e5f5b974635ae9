"""Explain why rg refuses a pattern or a file type, and what to send instead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec.structs import replace

from readroom.core.errors import BadPattern, ReadroomError
from readroom.core.limits import NEAR_NAMES
from readroom.core.values import GrepRequest


def unknown_type(request: GrepRequest, table: Mapping[str, Sequence[str]]) -> BadPattern:
    """The error for a type that is not in the table."""
    wanted = (request.type or "")[:_TYPE_CHARS]
    near = _near_types(wanted.lower().lstrip("*."), table)
    names = f"Near names: {', '.join(near)}. Or use" if near else "Use"
    advice = f"{names} a glob like *.ext."
    again = replace(request, type=near[0], cursor=None) if near else None
    return BadPattern("type", wanted, f"there is no file type {wanted!r}", advice, next_request=again)


_TYPE_CHARS = 60
"""Characters of a type that its error shows; the longest known type has 16."""

_TYPE_SCORE = 70
"""The lowest similarity of a suggestion, of 100: "pyton" has 91, unrelated names of four letters up to 60."""

_KNOWN_AS = {"javascript": "js", "golang": "go", "bash": "sh", "shell": "sh", "c#": "csharp", "c++": "cpp"}
_KNOWN_AS |= {"text": "txt", "plaintext": "txt"}
"""Names of languages for which rg has a shorter one."""


def _near_types(wanted: str, table: Mapping[str, Sequence[str]]) -> list[str]:
    """Types that may have been meant, best first: by alias, by file suffix, by similar spelling."""
    from rapidfuzz import fuzz, process

    known = [_KNOWN_AS[wanted]] if _KNOWN_AS.get(wanted) in table else []
    by_end = [name for name, globs in table.items() if f"*.{wanted}" in globs]
    like = process.extract(wanted, list(table), scorer=fuzz.ratio, score_cutoff=_TYPE_SCORE, limit=NEAR_NAMES)
    return list(dict.fromkeys([*known, *by_end, *(name for name, _, _ in like)]))[:NEAR_NAMES]


def refusal(messages: bytes, request: GrepRequest) -> ReadroomError | None:
    """The error that rg's messages report; None if they are about files."""
    text = messages.decode("utf-8", "replace")
    if "regex parse error" in text:
        return _parse_error(text, request)
    if "exceeds size limit" in text:
        return _bad(
            request, "it needs too much memory", "Use smaller repetitions, or narrower classes than \\w."
        )
    if "is not allowed in a regex" in text:
        return BadPattern(
            "pattern",
            request.pattern,
            "it matches a line end, but matches stay within a line",
            "Set multiline to let matches span lines.",
            next_request=replace(request, multiline=True, cursor=None),
        )
    return None


_UNSUPPORTED = {
    "look-around": (
        "lookaround is not supported, so that every search takes linear time",
        "Search for what is there, and use context to see what is around it.",
    ),
    "backreferences": (
        "backreferences are not supported, so that every search takes linear time",
        "Write the text out.",
    ),
}


def _parse_error(text: str, request: GrepRequest) -> BadPattern:
    error = re.search(r"^error: (.*)$", text, re.MULTILINE)
    detail = error[1] if error else "it is not a valid regular expression"
    for word, (problem, advice) in _UNSUPPORTED.items():
        if word in detail:
            return _bad(request, problem, advice, at=_position(text, request.pattern))
    at = _position(text, request.pattern)
    if (len(request.pattern) - len(request.pattern.rstrip("\\"))) % 2:
        detail, at = "it ends with a backslash", len(request.pattern) - 1
    # Literal text with a line end can only be found across lines.
    spans = request.multiline or any(end in request.pattern for end in "\r\n")
    return BadPattern(
        "pattern",
        request.pattern,
        detail,
        "To find this text literally, set fixed.",
        at=at,
        next_request=replace(request, fixed=True, multiline=spans, cursor=None),
    )


def _bad(request: GrepRequest, problem: str, advice: str, *, at: int | None = None) -> BadPattern:
    return BadPattern("pattern", request.pattern, problem, advice, at=at)


_WRAP = "(?:"
_NUMBERED = re.compile(r"^(\d+): ")


def _position(text: str, pattern: str) -> int | None:
    """The character that the caret under the pattern points at."""
    lines = text.split("\n")
    for above, line in pairwise(lines):
        caret = line.find("^")
        if caret < 0 or line.strip(" ^"):
            continue
        number = _NUMBERED.match(above)
        before = sum(len(part) + 1 for part in pattern.split("\n")[: int(number[1]) - 1]) if number else 0
        indent = number.end() if number else len(above) - len(above.lstrip(" "))
        first = before == 0
        at = before + caret - indent - (len(_WRAP) if first else 0)
        # rg puts a group around the pattern; an error in that group has no position in the pattern itself.
        return at if 0 <= at < len(pattern) else _unbalanced(pattern)
    return None


def _unbalanced(pattern: str) -> int | None:
    """The first parenthesis that closes nothing, otherwise the last that is never closed."""
    opened: list[int] = []
    escaped = in_set = False
    for at, char in enumerate(pattern):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif in_set:
            in_set = char != "]"
        elif char == "[":
            in_set = True
        elif char == "(":
            opened.append(at)
        elif char == ")" and not opened:
            return at
        elif char == ")":
            opened.pop()
    return opened[-1] if opened else None
