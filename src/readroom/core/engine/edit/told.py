"""Warnings about a change that broke a file, or may have lost text of it: never a reason to refuse it.

The new text is parsed once, and only if that fails the old one: a file that did not parse before, or that
nothing here parses for certain, has no warning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.edit.cells import CodeCell
from readroom.core.errors import Cancelled, TimedOut
from readroom.core.formats.parsing import Fault, Unjudged
from readroom.core.limits.outline import OUTLINE_BYTES
from readroom.core.outline.broken import fault_of
from readroom.core.quoting import quote
from readroom.core.text.encodings import Encoding, decode
from readroom.core.text.magics import program_of
from readroom.core.values.files import Warn

CHECK_S = 1.0
"""Processor time for both parses of a change; 1 MB takes 0.1 to 0.3 s."""

CHECKED_BYTES = OUTLINE_BYTES
"""Largest state that is parsed."""

_PLACEHOLDER_CHARS = 60


class Before:
    """The text of a file before a change, which is decoded if it is needed."""

    def __init__(self, data: bytes, encoding: Encoding) -> None:
        self._data = data
        self._encoding = encoding

    def __call__(self) -> str:
        return text_of(self._data, self._encoding)


def text_of(data: bytes, encoding: Encoding) -> str:
    """The text of a whole file, without its mark."""
    return decode(data[len(encoding.bom) :], encoding)


def about_edit(path: str, before: Callable[[], str], after: str, deadline: Deadline) -> tuple[Warn, ...]:
    """Warnings about a changed text; the path says its language."""
    return (*_about_syntax(path, before, after, deadline), *_about_placeholder(before, after))


def about_write(
    path: str, before: Callable[[], str] | None, after: str, lines: tuple[int | None, int], deadline: Deadline
) -> tuple[Warn, ...]:
    """Warnings about a text that replaced a file, or created one; `lines` are those before and after."""
    old = before or str
    found = [*_about_syntax(path, before, after, deadline), *_about_placeholder(old, after)]
    if before is not None and lines[1] < (lines[0] or 0) and 2 * len(after) < len(old()):
        found.append(Warn("shrunk", "less than half of the file is left"))
    if not found or lines[0] is None:
        return tuple(found)
    replaced = f"{_lines(lines[0])} {'was' if lines[0] == 1 else 'were'} replaced by {_lines(lines[1])}"
    first = found[0]
    return (Warn(first.code, f"{first.detail}; {replaced}", first.line), *found[1:])


def about_cells(code: Sequence[CodeCell], deadline: Deadline) -> tuple[Warn, ...]:
    """Warnings about code cells of a notebook that were changed or inserted, each as a file of its own."""
    part, found = deadline.of_thread(CHECK_S), list[Warn]()
    for cell in code:
        program = program_of(cell.language, cell.after)
        warnings = list(_about_placeholder(partial(str, cell.before or ""), cell.after))
        if program is not None:
            old = None if cell.before is None else program_of(cell.language, cell.before)
            earlier = None if old is None or old[0] != program[0] else partial(str, old[1])
            warnings += _about_syntax(f"cell.{program[0]}", earlier, program[1], part)
        found += [replace(warn, detail=f"of cell {cell.number}: {warn.detail}") for warn in warnings]
    return tuple(found)


def _lines(count: int) -> str:
    return f"{count:,} line{'' if count == 1 else 's'}"


def _about_syntax(
    path: str, before: Callable[[], str] | None, after: str, deadline: Deadline
) -> Iterator[Warn]:
    part = deadline.of_thread(CHECK_S)
    fault = _fault(path, after, part)
    if not isinstance(fault, Fault):
        return
    if before is None:
        if fault.at_end:
            yield Warn("cut_off", f"{fault.what} where the text ends", fault.line)
    elif _fault(path, before(), part) is None:
        yield Warn("no_longer_parses", fault.what, fault.line)


def _fault(path: str, text: str, deadline: Deadline) -> Fault | Unjudged | None:
    """The place where the text does not parse; Unjudged if that cannot be said."""
    if not text.strip():
        return None
    try:
        return fault_of(path, text, deadline)
    except Unjudged as unjudged:
        return unjudged
    except (TimedOut, Cancelled):
        return Unjudged()


# -----------------------------------------------------------------------------
# A line that stands for text which the writer meant to be kept.
# -----------------------------------------------------------------------------

_MARK = r"(?://+|\#+|/\*+|<!--|--+|;+|%+|\*+|\{/\*|\(\*|\"{3}|'{3})"
_REST = r"(?:(?:the[ ])?rest[ ]of|remaining|existing|previous|other|original)"
_THINGS = (
    r"(?:code|file|function|class|method|module|component|implementation|content|document|script|page|import|"
    r"test|config|configuration|logic|definition|style|handler|route|field|propert)(?:s|es|ies)?"
)
_STAYS = (
    r"(?:unchanged|(?:remains?|stays?|is|are)[ ][^\n]{0,20}(?:same|unchanged|here)|as[ ](?:before|is)|"
    r"omitted|(?:goes?[ ])?here|\.\.\.|…)"
)
_KEPT = rf"(?:{_REST}|unchanged|omitted|same[ ]as|stays?[ ]the[ ]same|as[ ]before|keep)\b"
_PLACEHOLDER = re.compile(
    rf"""^[ \t]*(?:
        {_MARK}[ ]*[\[(<]?[ ]*(?:\.\.\.|…)[^\n\w]{{0,4}}(?:[^\n]{{0,30}}[ ])?{_KEPT}[^\n]{{0,60}}
      | [\[(<]?(?:\.\.\.|…)[ ]+\(?(?:[\w ]{{0,30}}[ ])?{_KEPT}[ ]\w[^\n]{{0,60}}
      | {_MARK}[ ]*{_REST}[ ](?:(?:the|this|your|our)[ ])?{_THINGS}(?:[ ](?:is|are))?[ ]*{_STAYS}[^\n]{{0,20}}
    )$""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)
"""A line like `# ... rest of the file unchanged` or `// existing code here`."""


def _about_placeholder(before: Callable[[], str], after: str) -> Sequence[Warn]:
    old: str | None = None
    for match in _PLACEHOLDER.finditer(after):
        line = match[0].strip()
        old = before() if old is None else old
        if line not in old:
            shown = line if len(line) <= _PLACEHOLDER_CHARS else f"{line[:_PLACEHOLDER_CHARS]}…"
            detail = f"{quote(shown)} stands there as text, nothing was kept in its place"
            return (Warn("placeholder", detail, after.count("\n", 0, match.start()) + 1),)
    return ()
