"""Lines in replies of our own tools, and notes about omissions.

A reply is read by its structure: a first line that says what follows, a line with the name of each file,
lines after their numbers, and a closing line in brackets. So replies of every version are read, whatever
the words of their sentences. `contracts.native` writes these replies, and the words before a name or
after a number come from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from readroom.core.contracts.native.outline import UNCERTAIN
from readroom.core.contracts.native.search import BY_NAME, OF_KIND
from readroom.core.quoting import unquoted
from readroom.core.values.matches import USE_KINDS
from readroom.lens.evidence.numbering import Run

_HEADED = re.compile(
    r'(?P<path>"(?:[^"\\\n]|\\.)*"|(?![{ ]?")[^|\n\t]{1,5000}?) \| '
    r"(?P<what>[^|\n]{1,400})(?P<rest> \| [^\n]*)?"
)
_OF_LINES = re.compile(r"lines? -?\d|[\d,]+ of [\d,]+ lines")
_LISTED = re.compile(r"entries \d+-\d+ of \d|no entries|hash unknown")
_SEARCH = re.compile(r"[\d,]+\+? (?P<unit>match(?:es)?|files?|passages?|signatures?)\b[^\n]{0,400}")
_COMMAND = re.compile(r"(?:exit -?\d+|time limit, ended)[^\n|]{0,80} \| [\d.,]+ s \| ")
_EXIT = re.compile(r"exit (-?\d+)")
_ROW = re.compile(
    r"(?P<part>p\d+:)?(?P<number>\d{1,12})(?P<near>-)?(?::(?P<column>\d+))?"
    rf"{re.escape(UNCERTAIN)}?(?: (?:{'|'.join(USE_KINDS)}))?\t(?P<text>.*)"
)
_KIND_IN = re.compile(rf"(?:{'|'.join(OF_KIND.values())}) in (?=\S)")
"""These words stand before the name of a file in a search for the places of a name."""

_CUT = re.compile(r" \[\+[\d,]+ chars\]$")
_MISSING = re.compile(r"\((?:[^()\n]{0,40}, )?(?:more|long lines cut|cut|diff cut|not all)\b[^()\n]{0,80}\)")
_REST = re.compile(
    r"\bNext: |\bnot shown\b|\bdid not fit\b|\bMore in the facts\b|\bmore passages?\b|\bLong lines\b"
    r"|\bNot listed\b"
)
_BESIDE = ("in ", "  ")
"""The start of a line that names a definition or the reason for a passage."""


def is_reply(text: str) -> bool:
    """Whether a text is a reply of ours, by its first line."""
    head = text.partition("\n")[0]
    what = _HEADED.fullmatch(head)
    closed = text.rstrip().endswith("]")
    # Lines with their commits have no hash of the file.
    headed = what is not None and (" | sha256:" in head or (closed and bool(_OF_LINES.match(what["what"]))))
    return headed or bool(_SEARCH.fullmatch(head) and closed) or bool(_COMMAND.match(head))


def is_cut(text: str) -> bool:
    """Whether a reply reports an omission."""
    head, _, rest = text.partition("\n")
    last = rest.rstrip("\n").rpartition("\n")[2]
    return bool(_MISSING.search(head) or (last.startswith("[") and _REST.search(last)))


class Row(msgspec.Struct, frozen=True):
    """A line of a file in a reply; `partial`: not all of it."""

    file: str
    number: int
    text: str
    partial: bool


def lines(text: str, path: str = "") -> list[Run]:
    """The lines of files that a reply of a read or a search shows, in its order."""
    return [Run(row.file, row.number, (row.text,), partial=row.partial) for row in _rows(text, path)]


def _rows(text: str, path: str) -> Iterator[Row]:
    head, _, rest = text.partition("\n")
    search = _SEARCH.fullmatch(head)
    headed = None if search else _HEADED.fullmatch(head)
    if search is None and (headed is None or not _OF_LINES.match(headed["what"])):
        return
    if search is not None and search["unit"].startswith(("file", "signature")):
        return  # names, counts, or the heads of definitions
    # A read shows one file, and no name follows its lines.
    file = "" if headed is None else _name(headed["path"])
    file = path if "…" in file else file  # a long name is shortened
    by_name = search is not None and BY_NAME in head
    rows = rest.removesuffix("\n").split("\n")
    for row in rows[:-1] if rows[-1].startswith("[") else rows:
        line = _ROW.fullmatch(row)
        if line is None:
            if headed is None and row != "…" and not row.startswith(_BESIDE) and not row.endswith(":"):
                row = _KIND_IN.sub("", row, count=1) if by_name and _KIND_IN.match(row) else row
                one = _HEADED.fullmatch(row)
                whole = one is None or _OF_LINES.match(one["what"])
                file = (_name(one["path"] if one else row)) if whole else ""
        elif file and not line["part"]:
            shown = _CUT.sub("", line["text"])
            around = (
                search is not None
                and (by_name or "|" not in head)
                and (shown[:1] == "…" or shown[-1:] == "…")
            )
            partial = bool(line["column"]) or shown != line["text"] or around
            yield Row(file, int(line["number"]), shown.strip("…") if around else shown, partial)


def _name(quoted: str) -> str:
    return unquoted(quoted) or quoted


# -----------------------------------------------------------------------------
# Replies of other contracts that are JSON objects, with the text of a file or with matches.
# -----------------------------------------------------------------------------


class _Span(msgspec.Struct):
    start: int = 0
    end: int = 0


class _Match(msgspec.Struct):
    path: str
    line_number: int
    line: str = ""


class _Object(msgspec.Struct):
    content: str | None = None
    lines_shown: _Span | None = None
    lines_read: int | None = None
    total_lines: int | None = None
    file_size: int | None = None
    matches: list[_Match] | None = None
    truncated: bool = False


class InObject(msgspec.Struct, frozen=True):
    """The lines in a reply that is a JSON object; those of a read have no file."""

    runs: tuple[Run, ...]
    cut: bool


def in_object(text: str, asked: int) -> InObject | None:
    """The lines in a reply that is a JSON object, from the line `asked` for; None for another reply."""
    if not text.startswith("{"):
        return None
    try:
        found = msgspec.json.decode(text, type=_Object)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if found.matches is not None:
        runs = [Run(match.path, match.line_number, (match.line,)) for match in found.matches]
    elif found.content is not None and found.lines_shown is not None:
        runs = list(_of_content(found.content, found.lines_shown))
    elif found.content is not None and found.lines_read is not None:
        span = _Span(asked, asked + found.lines_read - 1)
        # Two contracts say how many lines were read; one of them numbers the lines and gives the size.
        runs = list((_plain if found.file_size is None else _of_content)(found.content, span))
        return InObject(tuple(runs), span.end < (found.total_lines or 0))
    else:
        return None
    return InObject(tuple(run for run in runs if run.first > 0), found.truncated)


def _plain(content: str, span: _Span) -> Iterator[Run]:
    """Lines without numbers; text after the span is not of the file."""
    for number, row in zip(range(span.start, span.end + 1), content.split("\n"), strict=False):
        yield Run("", number, (_CUT_IN_OBJECT.sub("", row),), partial=bool(_CUT_IN_OBJECT.search(row)))


_CUT_IN_OBJECT = re.compile(r" \[\+[\d,]+ chars\]$|\.\.\. \[truncated\]$")
_COUNTED = re.compile(r" {0,12}(\d{1,12})(?:\|| \| ?|\t)(.*)")


def _of_content(content: str, span: _Span) -> Iterator[Run]:
    """The lines of a content; an outline may follow them."""
    rows = content.split("\n")
    if not _COUNTED.fullmatch(rows[0]):
        yield from _plain(content, span)
        return
    latest = 0
    for row in rows:
        counted = _COUNTED.fullmatch(row)
        number = int(counted[1]) if counted else 0
        if counted and number > latest and (number <= span.end):
            latest = number
            yield Run(
                "",
                number,
                (_CUT_IN_OBJECT.sub("", counted[2]),),
                partial=bool(_CUT_IN_OBJECT.search(counted[2])),
            )


class Ran(msgspec.Struct, frozen=True):
    """The output of a command in a reply: its rows if all of them are there, and its exit code."""

    output: str | None
    exit_code: int | None


def ran(text: str) -> Ran | None:
    """The output of a command, from the reply that numbers its lines; None for another reply."""
    head, _, rest = text.partition("\n")
    if not _COMMAND.match(head):
        return None
    code = _EXIT.search(head)
    rows = rest.split("\n")
    shown = [_ROW.fullmatch(row) for row in (rows[:-1] if rows[-1].startswith("[") else rows)]
    numbers = [int(row["number"]) if row else -1 for row in shown]
    whole = numbers == [*range(1, len(shown) + 1)] and not any(
        row and _CUT.search(row["text"]) for row in shown
    )
    if is_cut(text) or not whole:
        return Ran(None, int(code[1]) if code else None)
    return Ran("".join(f"{row['text']}\n" for row in shown if row), int(code[1]) if code else None)
