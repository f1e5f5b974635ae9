"""Explain why a text does not occur in a file: common slips in copying it, or the most similar lines.

Slips come first, because they are certain: an edit that needs another of the call, line breaks around it,
line numbers that were copied along, escapes of programs and of HTML, CR as the line end, composed or
decomposed letters, characters that look alike, other white space, other case, an edit that was already made.
Otherwise the most distinctive lines are looked up among all lines by similarity, and the lines around the
best match are compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape, unescape
from json import dumps
from unicodedata import combining, normalize

from msgspec import Struct

from readroom.core.text.edits.alike import FOLDS, Fold, difference, place_of
from readroom.core.text.encodings import visible

_ANCHORS = 3
"""Lines of the old text that are looked up; more than one, because one may be the line that differs."""

_CANDIDATES = 5
"""Lines of the file that are examined for each of them."""

_COMPARED_CHARS = 400
"""Length up to which lines are compared."""

_COMPARED_LINES = 60
"""Number of lines of the old text that are compared."""

_LIKENESS = 60.0
"""Least similarity in percent of a helpful place. Measured on edits of one to three lines of code: above 75;
unrelated code of the same file: below 50."""

_QUOTED_CHARS = 80
"""How much of the two differing lines the hint quotes."""

_TELLING_CHARS = 8
"""A shorter new text occurs in many files by chance."""

_NUMBERED = re.compile(r"^ *\d+(?:\t|→| ?\| ?|: ?)", re.MULTILINE)
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", '\\"': '"', "\\'": "'", "\\\\": "\\", "\\/": "/"}
_ESCAPE = re.compile(r"\\(?:[ntr\"'\\/]|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")
_BACKSLASH = re.compile(r"\\(?:u[0-9a-f]{4}|.)")
_ENTITY = re.compile(r"&#?\w{1,10};")


CLOSEST_LINES = 12
"""Lines of the most similar place that the error shows."""


class Closest(Struct, frozen=True):
    """Why a text was not found, and the lines to look at, from line `first` on."""

    hint: str
    first: int | None = None
    lines: Sequence[str] = ()

    @property
    def last(self) -> int | None:
        """The last of these lines."""
        return None if self.first is None else self.first + len(self.lines) - 1

    @property
    def shown(self) -> str:
        """The lines as replies show them, shortened if many or long."""
        if self.first is None:
            return ""
        rows = [
            f"{number}\t{line[:_COMPARED_CHARS]}{'…' if len(line) > _COMPARED_CHARS else ''}"
            for number, line in enumerate(self.lines[:CLOSEST_LINES], self.first)
        ]
        left = len(self.lines) - CLOSEST_LINES
        return "\n".join([*rows, f"… {left} more lines"] if left > 0 else rows)


def closest(text: str, old: str, new: str, others: Sequence[OtherEdit] = ()) -> Closest:
    """The part of `text` most like `old`, which does not occur in it. All texts have LF line ends.

    `others` are the other edits of the call, one of which may be what brings the text.
    """
    lines = text.split("\n")
    close = _after_another(text, old, others)
    if close is not None:
        return close
    for slip in _SLIPS:
        close = slip(text, lines, old, new)
        if close is not None:
            return close
    return _most_alike(lines, old) or Closest("Nothing in it is similar; read the file again.")


class OtherEdit(Struct, frozen=True):
    """Another edit of the call, by its number."""

    number: int
    old: str
    new: str


# --- mistakes that can be named with certainty --------------------------------------------------


_MIXED_CHARS = 1024 * 1024
"""Length of a text in which several slips at once are looked for: 0.3 s where it is not ASCII."""

_OTHERS = 20
"""Other edits of a call that are tried."""


def _after_another(text: str, old: str, others: Sequence[OtherEdit]) -> Closest | None:
    """A hint for a text that only another edit of the call would bring."""
    pieces = [line for line in old.split("\n") if line.strip()]
    likely = [
        each for each in others if any(piece in each.new or each.new in piece for piece in pieces if each.new)
    ]
    for each in likely[:_OTHERS]:
        at = text.find(each.old)
        if at < 0 or old not in text.replace(each.old, each.new, 1):
            continue
        hint = (
            f"It is there only after edits[{each.number}]; all match the file before the call: join the two"
        )
        return _place(text, text.split("\n"), at, each.old, hint)
    return None


def _breaks_around(text: str, lines: Sequence[str], old: str, new: str) -> Closest | None:
    """A hint for line breaks at the edges of the text, where the file begins or ends."""
    core = old.strip("\n")
    at = text.find(core) if core.strip() and core != old else -1
    if at < 0:
        return None
    end = at + len(core)
    if old.endswith("\n") and end == len(text):
        hint = "It is there without the last line break (U+000A): the file ends without one"
    elif old.startswith("\n") and at == 0:
        hint = "It is there without the first line break (U+000A): the file begins with it"
    else:
        hint = "It is there without the line breaks (U+000A) at the edges of old_text"
    return _place(text, lines, at, core, hint)


def _carriage_returns(text: str, lines: Sequence[str], old: str, new: str) -> Closest | None:
    """A hint for lines that end in CR alone."""
    at = text.replace("\r", "\n").find(old.replace("\r", "\n")) if "\r" in text or "\r" in old else -1
    if at < 0:
        return None
    line = text.count("\n", 0, at) + 1
    if "\r" in old:
        hint = "It is there with line breaks (U+000A) where old_text has carriage returns (U+000D)"
        return _place(text, lines, at, old.replace("\r", "\n"), hint)
    hint = "The lines of the file end in CR (U+000D) alone: send \\r where old_text has line breaks."
    return Closest(hint, line, [visible(text[at : at + len(old)].replace("\r", "\n").split("\n")[0])])


def _html_escapes(text: str, lines: Sequence[str], old: str, new: str) -> Closest | None:
    bare = unescape(old)
    at = text.find(bare) if bare != old else -1
    if at >= 0:
        entity = _ENTITY.search(old)
        shown = f" ({entity[0]})" if entity else ""
        return _place(text, lines, at, bare, f"It is there without the HTML escapes of old_text{shown}")
    for quotes in (True, False):
        escaped = escape(old, quote=quotes)
        for form in (escaped, escaped.replace("&#x27;", "&#39;"), escaped.replace("&#x27;", "'")):
            at = text.find(form) if form != old else -1
            if at >= 0:
                entity = _ENTITY.search(form)
                shown = f": {entity[0]}" if entity else ""
                return _place(text, lines, at, form, f"The file has it with HTML escapes{shown}")
    return None


def _escapes_missing(text: str, lines: Sequence[str], old: str, new: str) -> Closest | None:
    """A hint for a text that the file has inside of a string, with its escapes."""
    forms = (
        old.replace('"', '\\"'),
        old.replace("'", "\\'"),
        old.replace("\n", "\\n"),
        old.replace("\t", "\\t"),
        old.replace("\\", "\\\\"),
        dumps(old, ensure_ascii=False)[1:-1],
        dumps(old)[1:-1],
    )
    for form in forms:
        at = text.find(form) if form != old else -1
        if at >= 0:
            escaped = _BACKSLASH.search(form)
            shown = f": {escaped[0]}" if escaped else ""
            return _place(text, lines, at, form, f"The file has it with backslashes{shown}; send those, too")
    return None


def _looks_alike(text: str, lines: Sequence[str], old: str, new: str) -> Closest | None:
    return _by_fold(text, lines, old, FOLDS[:1])


def _mixed(text: str, lines: Sequence[str], old: str, new: str) -> Closest | None:
    return _by_fold(text, lines, old, FOLDS[1:]) if len(text) <= _MIXED_CHARS else None


def _by_fold(text: str, lines: Sequence[str], old: str, folds: Sequence[tuple[Fold, str]]) -> Closest | None:
    for fold, words in folds:
        place = place_of(text, old, fold, words)
        if place is not None:
            hint = f"It differs only in {words}: {difference(text, place, old)}"
            return _place(text, lines, place.start, text[place.start : place.end], hint)
    return None


def _already_made(text: str, lines: Sequence[str], old: str, new: str) -> Closest | None:
    at = text.find(new) if len(new.strip()) >= _TELLING_CHARS else -1
    if at < 0:
        return None
    return _place(text, lines, at, new, "The new text is already there: the edit may have been made before")


def _replacement_marks(text: str, lines: Sequence[str], old: str, new: str) -> Closest | None:
    if "\ufffd" not in old or visible(text) == text:
        return None
    at = visible(text).find(old)
    if at < 0:
        return None
    hint = "It is there with bytes that are not characters, shown as \ufffd; leave those out of old_text"
    return _place(text, lines, at, old, hint)


def _numbers_copied(text: str, lines: Sequence[str], old: str, new: str) -> Closest | None:
    if not all(_NUMBERED.match(line) for line in old.split("\n") if line):
        return None
    bare = _NUMBERED.sub("", old)
    at = text.find(bare)
    if at < 0:
        return None
    return _place(text, lines, at, bare, "It is there without the line numbers; leave them out of old_text")


def _decoded(escaped: re.Match[str]) -> str:
    code = escaped[1] or escaped[2]
    return _ESCAPES[escaped[0]] if code is None else chr(int(code, 16))


def _escapes_copied(text: str, lines: Sequence[str], old: str, new: str) -> Closest | None:
    decoded = _ESCAPE.sub(_decoded, old)
    at = text.find(decoded) if decoded != old else -1
    if at < 0:
        return None
    hint = "It is there without the backslashes; send line breaks, tabs and quotes as such, escaped once"
    return _place(text, lines, at, decoded, hint)


def _other_white_space(text: str, lines: Sequence[str], old: str, new: str) -> Closest | None:
    for fold in (_single_spaces, _no_spaces):
        wanted = "\n".join(map(fold, old.split("\n")))
        if not wanted.strip():
            return None
        folded = "\n".join(map(fold, lines))
        at = folded.find(wanted)
        if at >= 0:
            first, similar = _lines_at(folded, at, wanted, lines)
            hint = f"It differs only in white space: {_first_difference(old, similar)}"
            return Closest(hint, first, similar)
    return None


def _single_spaces(line: str) -> str:
    return " ".join(line.split())


def _no_spaces(line: str) -> str:
    return "".join(line.split())


def _other_case(text: str, lines: Sequence[str], old: str, new: str) -> Closest | None:
    folded, wanted = text.lower(), old.lower()
    at = folded.find(wanted)
    if at < 0:
        return None
    first, similar = _lines_at(folded, at, wanted, lines)
    hint = f"It differs only in upper and lower case: {_first_difference(old, similar)}"
    return Closest(hint, first, similar)


def _other_composition(text: str, lines: Sequence[str], old: str, new: str) -> Closest | None:
    """A hint for letters that differ only in composition, as in files from macOS."""
    if old.isascii() or text.isascii():
        return None
    folded, wanted = normalize("NFC", text), normalize("NFC", old)
    at = folded.find(wanted)
    if at < 0:
        return None
    first, similar = _lines_at(folded, at, wanted, lines)
    where, apart = ("the file", "\n".join(similar)) if wanted == old else ("old_text", old)
    at = next((at for at, char in enumerate(apart) if at and combining(char)), 0)
    pair = apart[at - 1 : at + 1]
    spelled = "".join(f"\\u{ord(char):04x}" for char in pair)
    which = f": {where} has '{normalize('NFC', pair)}' as two, {spelled}" if pair else ""
    hint = f"It differs only in whether letters with marks are one character or two{which}."
    return Closest(hint, first, similar)


_Slip = Callable[[str, Sequence[str], str, str], Closest | None]
_SLIPS: tuple[_Slip, ...] = (
    _breaks_around,
    _numbers_copied,
    _escapes_copied,
    _escapes_missing,
    _html_escapes,
    _carriage_returns,
    _replacement_marks,
    _other_composition,
    _looks_alike,
    _other_white_space,
    _other_case,
    _mixed,
    _already_made,
)


def _place(text: str, lines: Sequence[str], at: int, similar: str, hint: str) -> Closest:
    first, similar_lines = _lines_at(text, at, similar, lines)
    return Closest(f"{hint}.", first, [visible(line) for line in similar_lines])


def _lines_at(text: str, at: int, part: str, lines: Sequence[str]) -> tuple[int, Sequence[str]]:
    """The line in which a part of a text begins, and all lines that it is in."""
    first = text.count("\n", 0, at)
    return first + 1, lines[first : first + part.removesuffix("\n").count("\n") + 1]


# --- the most similar lines --------------------------------------------------------------------


def _most_alike(lines: Sequence[str], old: str) -> Closest | None:
    from rapidfuzz import fuzz

    wanted = old.removesuffix("\n").split("\n")[:_COMPARED_LINES]
    best, best_first = _LIKENESS, -1
    for first in _starts(lines, wanted):
        stretch = "\n".join(line[:_COMPARED_CHARS] for line in lines[first : first + len(wanted)])
        compared = "\n".join(line[:_COMPARED_CHARS] for line in wanted)
        scorer = fuzz.ratio if len(wanted) > 1 else fuzz.partial_ratio
        likeness = scorer(compared, stretch, score_cutoff=best)
        if likeness > best:
            best, best_first = likeness, first
    if best_first < 0:
        return None
    similar = lines[best_first : best_first + len(wanted)]
    where = (
        f"line {best_first + 1}"
        if len(similar) == 1
        else f"lines {best_first + 1}-{best_first + len(similar)}"
    )
    hint = f"The closest place is {where}: {_first_difference(old, similar)}"
    return Closest(hint, best_first + 1, [visible(line) for line in similar])


def _starts(lines: Sequence[str], wanted: Sequence[str]) -> Iterator[int]:
    """Where lines like the wanted ones may begin, judged by the most distinctive of them."""
    from rapidfuzz import fuzz, process

    scorer = fuzz.ratio if len(wanted) > 1 else fuzz.partial_ratio
    choices = [line[:_COMPARED_CHARS] for line in lines]
    telling = sorted(range(len(wanted)), key=lambda at: -len(wanted[at].strip()))[:_ANCHORS]
    for anchor in telling:
        line = wanted[anchor][:_COMPARED_CHARS]
        if line.strip():
            for _, _, at in process.extract(
                line, choices, scorer=scorer, limit=_CANDIDATES, score_cutoff=_LIKENESS
            ):
                yield max(0, at - anchor)


def _first_difference(old: str, similar: Sequence[str]) -> str:
    """A sentence with the first line that differs, in both versions."""
    wanted = old.removesuffix("\n").split("\n")
    if len(wanted) == 1:
        wanted_line, line = wanted[0], similar[0]
        there = _around(line, wanted_line)
        place = place_of(line, wanted_line, *FOLDS[1])
        odd = "" if place is None else _odd(wanted_line, line[place.start : place.end])
        return f"old_text has {_quoted(wanted_line)}, the file {_quoted(there)}{odd}."
    for number, (wanted_text, other) in enumerate(zip(wanted, similar, strict=False), 1):
        partial = (number == 1 and other.endswith(wanted_text)) or (
            number == len(wanted) and other.startswith(wanted_text)
        )
        if wanted_text != other and not partial:
            both = f"line {number} of old_text is {_quoted(wanted_text)}, the file has {_quoted(other)}"
            return f"{both}{_odd(wanted_text, other)}."
    return f"old_text has {len(wanted)} lines, the place {len(similar)}."


def _around(line: str, wanted: str) -> str:
    """The part of a long line that is most like a short text."""
    if len(line) <= _QUOTED_CHARS:
        return line
    from rapidfuzz import fuzz

    alignment = fuzz.partial_ratio_alignment(wanted[:_COMPARED_CHARS], line[:_COMPARED_CHARS])
    return line[alignment.dest_start : alignment.dest_end] if alignment else line


def _odd(text: str, other: str) -> str:
    """The code points of the first differing characters, if they may look alike."""
    for a, b in zip(text, other, strict=False):
        if a != b:
            if a.isascii() and b.isascii() and not (a.isspace() or b.isspace()):
                return ""
            return f" (U+{ord(b):04X} instead of U+{ord(a):04X})"
    return ""


def _quoted(line: str) -> str:
    line = visible(line)
    cut = len(line) > _QUOTED_CHARS
    start = line[:_QUOTED_CHARS].replace("\t", "\\t")
    return f"'{start}{'…' if cut else ''}'"
