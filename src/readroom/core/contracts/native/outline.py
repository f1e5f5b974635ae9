"""Native outlines, and the checks of calls that ask for definitions.

A row is `start-end signature`, indented by nesting: the lines to read, and what they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from readroom.core.contracts.native.calls import Aside
from readroom.core.errors import BadValue
from readroom.core.errors.usage import negative_limit
from readroom.core.quoting import plural, quote, shortened
from readroom.core.values import GrepLine, ReadRequest, ReadResult
from readroom.core.values.files import OUTLINES, OutlineView, Row
from readroom.core.values.listings import named

_NAME_CHARS = 100
"""Maximum characters of a name in the first line of a reply; the facts have all of it."""


SYMBOL_CHARS = 500
"""Longest name of a definition that is looked up, with everything that it is nested in."""


def checked(request: ReadRequest) -> ReadRequest:
    """The request, if its arguments fit together. Raises BadValue."""
    wants = request.symbol is not None or request.view in OUTLINES
    if request.symbol is not None and not request.symbol.strip():
        raise BadValue(
            "symbol",
            request.symbol,
            "names nothing",
            'Send a name such as "Class.method", or view="outline" to see what there is.',
            next_request=replace(request, symbol=None, view="outline" if _has_symbols(request) else "text"),
        )
    if request.symbol is not None and len(request.symbol) > SYMBOL_CHARS:
        raise BadValue(
            "symbol",
            request.symbol[:_NAME_CHARS],
            "is the beginning of a text that is too long for a name",
            f"Send the name alone, at most {SYMBOL_CHARS} characters.",
        )
    if request.symbol is not None and (request.offset or 1) < 0:
        raise BadValue(
            "offset",
            request.offset,
            "cannot be combined with a symbol",
            "With `symbol`, offset is a line of the file inside the definition, or left out.",
            next_request=replace(request, offset=None),
        )
    if wants and (request.limit or 1) < 0:
        raise negative_limit(request.limit, next_request=replace(request, limit=None))
    if wants and request.pages is not None:
        raise BadValue(
            "pages",
            request.pages,
            "cannot be combined with symbol or view",
            "Pages are parts of documents, symbols are definitions in text.",
            next_request=_of_one_sort(request),
        )
    return request


def _of_one_sort(request: ReadRequest) -> ReadRequest:
    """The request without the argument that does not apply to a file of that name."""
    if _has_symbols(request):
        return replace(request, pages=None)
    return replace(request, symbol=None, view="text")


def _has_symbols(request: ReadRequest) -> bool:
    """Whether a file of that name is in a language whose definitions are known."""
    from readroom.core.formats.kinds import reads_as_document  # of a call that is refused
    from readroom.core.outline.languages import language_of

    return language_of(request.path, "") is not None and not reads_as_document(request.path)


ASIDE = "[outline of the lines not shown:]"
"""Between the lines of a cut reply and the outline of the others."""


UNCERTAIN = "?"
"""Marks an uncertain end."""


def row_line(row: Row) -> str:
    """One row of an outline."""
    mark = "" if row.item.certain else UNCERTAIN
    folded = f" [+{counted(row.folded)}]" if row.folded else ""
    return f"{'  ' * row.depth}{row.item.start}-{row.item.end}{mark} {row.item.signature}{folded}"


def counted(folded: Sequence[tuple[str, int]]) -> str:
    """Counts of kinds, in words."""
    return ", ".join(f"{count:,} {kind if count == 1 else plural(kind)}" for kind, count in folded)


def row_bytes(row: Row) -> int:
    """The bytes of a row."""
    return len(row_line(row).encode()) + 1


def outline_lines(result: ReadResult) -> str:
    """The rows, each after a line feed; empty without an outline."""
    if result.outline is None:
        return ""
    listed = "".join(f"\n{row_line(row)}" for row in result.outline.rows)
    return f"\n{ASIDE}{listed}" if result.lines else listed


_OUTSIDE = "outside:"


def with_symbols(lines: Sequence[GrepLine], worded: Callable[[GrepLine], str]) -> Iterator[str]:
    """Found lines, and above matches the definition around them, once for each run of matches."""
    within = None
    for line in lines:
        if line.is_match and line.symbol != within:
            within = line.symbol
            yield _OUTSIDE if within is None else f"in {quote(within)}:"
        yield worded(line)


def symbol_bytes(line: GrepLine) -> int:
    """The maximum bytes of a match's definition and its end; neighbouring matches may share both."""
    if line.symbol is None:
        return 0
    return len(f"in {quote(line.symbol)}:\n{_OUTSIDE}\n".encode("utf-8", "replace"))


def outline_span(result: ReadResult, outline: OutlineView) -> str:
    """What the header says of a reply that is an outline."""
    inside = "" if result.symbol is None else f" of {shortened(result.symbol.name, _NAME_CHARS)}"
    definitions = "definition" if outline.total == 1 else "definitions"
    count = f"{named(outline.rows)} of {outline.total} {definitions}" if outline.rows else "no definitions"
    lines = "1 line" if result.total_lines == 1 else f"{result.total_lines} lines"
    more = " (more below)" if result.next is not None else ""
    return f"outline{inside} | {outline.language}, {lines} | {count}{more}"


def outline_parts(result: ReadResult) -> list[str | Aside]:
    """What the closing line says of an outline in the reply."""
    outline, parts = result.outline, list[str | Aside]()
    if outline is None:
        return parts
    if outline.partial is not None:
        parts.append(f"Some definitions may be missing: {outline.partial}.")
    if not all(row.item.certain for row in outline.rows):
        parts.append(f"Ends marked {UNCERTAIN} are uncertain.")
    folding = next((item.request for item in result.omitted if item.what == "members"), None)
    if folding is not None:
        marked = {row.is_run for row in outline.rows if row.folded}
        sorts = " and ".join(
            word for word, is_run in (("members", False), ("signatures", True)) if is_run in marked
        )
        inside = [f"{sorts} counted as [+]"] if sorts else []
        own = [f"{counted(outline.folded)} of the file itself"] if outline.folded else []
        parts.append(Aside(f"Not listed: {' and '.join(inside + own)}. All", folding))
    if result.lines and outline.left_out:
        more = next(item.request for item in result.omitted if item.what == "definitions")
        parts.append(Aside(f"{outline.left_out} more definitions", more))
    if result.next is not None and result.next.view in OUTLINES:
        left = f"{outline.left_out} definition{'' if outline.left_out == 1 else 's'}"
        parts.append(f"{left} below not shown ({result.omitted[-1].reason}).")
    return parts


def end_of(result: ReadResult) -> str:
    """The end of a reply that leaves nothing out."""
    if result.outline is not None and not result.lines:
        return "end of outline"
    if result.numbers and result.total_lines is not None and result.end < result.total_lines:
        return f"end of line {result.end}"
    if result.read_mode == "tail" and 0 < result.end < (result.total_lines or 0):
        return "start of file"
    return "end of file" if result.symbol is None else f"end of {quote(result.symbol.name)}"
