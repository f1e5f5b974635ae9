"""Native replies for documents: a line above each part, and numbered lines below it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count

from readroom.core import quoting
from readroom.core.contracts.base import picture_tokens
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native.calls import Aside, closing, ending, in_words, uncut
from readroom.core.contracts.native.render import (
    HASH_DIGITS,
    LISTED_CUTS,
    body_within,
    cut_mark,
    reply,
    rest_rows,
    short,
    warning_parts,
)
from readroom.core.formats import regions
from readroom.core.quoting import plural
from readroom.core.text.select import byte_size
from readroom.core.values import Cap, Omission, ReadRequest, ReadResult, Reply
from readroom.core.values.files import PartView, ShownDocument

WHOLE = str(regions.WHOLE)

_SHOWN_RANGES = 60
"""Characters of the list of parts in the first line."""


def render(result: ReadResult, document: ShownDocument, cap: Cap) -> Reply:
    """The reply for the parts that were selected under `cap`."""
    rows = [_header(result, document, cap), *_contents(document)]
    image = 1
    for part in document.parts:
        rows += head_lines(part, document.unit, document.total_parts, image)
        rows += _numbered(part, document.unit)
        image += len(part.images)
    body = body_within("\n".join(rows), cap)
    asides = [*_omissions(result), *_beside(result), *_figures(result, document)]
    asides += warning_parts(result.warnings)
    if result.uncut:
        asides.insert(0, uncut(result.uncut))
    parts = ending(asides, result.next, result.path)
    text = f"{body}\n{closing(parts or ['end of document'], cap.size - byte_size(body) - 1)}"
    return reply(text, partial(native_facts.of_read, result), document.images)


def _header(result: ReadResult, document: ShownDocument, cap: Cap) -> str:
    digest = (result.content_hash or "")[: len("sha256:") + HASH_DIGITS]
    return " | ".join([short(result.path, cap), _which(result, document), *([digest] if digest else [])])


def _which(result: ReadResult, document: ShownDocument) -> str:
    numbers = [part.number for part in document.parts if part.number > CONTENTS]
    total = f"{document.total_parts} {document.unit}{'' if document.total_parts == 1 else 's'}"
    more = " (more below)" if result.next is not None else ""
    if not numbers:
        return f"{total}{more}"
    which = ranges(numbers)
    which = which if len(which) <= _SHOWN_RANGES else which[:_SHOWN_RANGES].rpartition(",")[0] + ", …"
    return f"{document.unit}{'' if which.isdigit() else 's'} {which} of {document.total_parts}{more}"


def _contents(document: ShownDocument) -> list[str]:
    if not document.contents:
        return []
    return ["contents:", *(heading_line(heading, document.unit) for heading in document.contents)]


def _numbered(part: PartView, unit: str) -> list[str]:
    if part.numbers:
        return rest_rows(part.numbers, part.lines, part.cuts)
    if unit == "table":  # the names of its columns are not a row
        rows = [] if part.header is None else [f"#\t{part.header}"]
    else:
        rows = [] if part.header is None else [f"1\t{part.header}{cut_mark(part.cuts.get(1))}"]
    return rows + [
        f"{number}\t{line}{cut_mark(part.cuts.get(number))}"
        for number, line in zip(part.rows or count(part.start), part.lines, strict=False)
    ]


def _omissions(result: ReadResult) -> list[str | Aside]:
    parts: list[str | Aside] = []
    unit = result.document.unit if result.document else ""
    headings = [item for item in result.omitted if item.what == "headings"]
    outputs = [item for item in result.omitted if item.reason == "output"]
    cuts = [item for item in result.omitted if item.what == "columns"]
    for item in headings:
        parts.append(Aside(_counted(item, "more heading"), item.request))
    line = "row" if unit == "table" else "line of output"
    parts += [
        Aside(f"{unit.capitalize()} {item.part}: {_counted(item, line)} not shown", item.request)
        for item in outputs[:LISTED_CUTS]
    ]
    if len(outputs) > LISTED_CUTS:
        left = len(outputs) - LISTED_CUTS
        noun = "table" if unit == "table" else "output"
        shortened = f"{noun} was" if left == 1 else f"{noun}s were"
        parts.append(f"{left} more {shortened} shortened; their calls are in the facts of this reply.")
    rests = result.document is not None and any(part.numbers for part in result.document.parts)
    if cuts and not rests and result.next is not None and result.next.column > 1:
        parts.append(_cut_lines(result, cuts, unit))
    return parts + _stopped(result, unit)


def _beside(result: ReadResult) -> list[Aside]:
    """The calls for content that notes count."""
    words = {
        "counted": "The content that is not shown",
        "formulas": "Its formulas",
        "stored": "Its stored form, for content without words",
    }
    return [Aside(words[item.what], item.request) for item in result.omitted if item.what in words]


def _figures(result: ReadResult, document: ShownDocument) -> list[str | Aside]:
    """The figures of pages and the cost of their picture; how a region of one is asked for."""
    whole = next((part for part in document.parts if part.region == WHOLE), None)
    if whole is not None:
        corner = ReadRequest(result.path, pages=f"{whole.number}!0,0,50,50", view="image")
        return [
            f"{in_words(corner, result.path)} shows a region of it (left, top, right, bottom in percent)."
        ]
    parts = [part for part in document.parts if part.figures]
    if not parts:
        return []
    numbers = [part.number for part in parts]
    name = f"{document.unit.capitalize()}{'' if len(numbers) == 1 else 's'} {ranges(numbers)}"
    count = sum(part.figures for part in parts)
    what = f"{name}: {count} figure{'' if count == 1 else 's'} not shown"
    request = next((item.request for item in result.omitted if item.what == "figures"), None)
    if request is None:
        return [f"{what}: this client passes on no images."]
    cost = sum(picture_tokens(*part.drawn) for part in parts)
    return [Aside(f"{what} (about {cost:,} tokens)", request)]


def _cut_lines(result: ReadResult, cuts: Sequence[Omission], unit: str) -> str:
    """Notes on lines whose ends are not shown, in the order of their parts."""
    which = [f"{unit} {item.part} line {item.line}" for item in cuts]
    listed = ", ".join(which[:LISTED_CUTS]) + (", …" if len(which) > LISTED_CUTS else "")
    following = [item.request for item in result.omitted if item.what in ("parts", "lines")]
    skip = next(
        (request for request in following if isinstance(request, ReadRequest) and request.column == 1), None
    )
    past = "" if skip is None else f"; {in_words(skip, result.path)} skips it"
    count = "1 line is" if len(which) == 1 else f"{len(which)} lines are"
    return f"{count} cut ({listed}): the next call shows the rest{past}."


def _stopped(result: ReadResult, unit: str) -> list[str]:
    lines = [item for item in result.omitted if item.what == "lines" and item.reason != "output"]
    parts = [item for item in result.omitted if item.what == "parts"]
    views = result.document.parts if result.document else ()
    uncounted = {part.number for part in views if not part.total_known}
    sentences = []
    for item in lines:
        count = "More lines" if item.part in uncounted else _counted(item, "line")
        of = "the schema" if item.part == SCHEMA else f"{unit} {item.part}"
        sentences.append(f"{count} of {of} not shown ({item.reason}).")
    for item in parts:
        which = str(item.first) if item.first == item.last else f"s {item.first}-{item.last}"
        sentences.append(
            f"{unit.capitalize()}{' ' if item.first == item.last else ''}{which} not shown ({item.reason})."
        )
    return sentences


def _counted(item: Omission, noun: str) -> str:
    count = item.last - item.first + 1
    return f"{count} {noun if count == 1 else plural(noun)}"


# -----------------------------------------------------------------------------
# The lines around the text of a part: its heading, notes, the table of contents.
#
# Everything that comes from the document itself is numbered; a line that is not
# numbered is ours, and titles in it are one line long.
# -----------------------------------------------------------------------------

CONTENTS = 0
"""The number of the part that is the table of contents."""

SCHEMA = -1
"""The number of the part with the schema of tables."""

_OURS = {CONTENTS: "contents", SCHEMA: "schema"}
"""Names of the parts that we add to a document."""

_SPAN_BYTES = 80
"""A span of lines and the numbers of images, at their longest."""


def heading_line(heading: tuple[int, str, int], unit: str) -> str:
    """An entry of the table of contents."""
    level, title, part = heading
    return f"{'  ' * min(level - 1, 8)}- {quoting.title(title)} ({unit} {part})"


def head_lines(part: PartView, unit: str, total: int, first_image: int) -> list[str]:
    """The lines above a part; `first_image` is the number of its first image in the reply."""
    name = _OURS.get(part.number) or f"{unit} {part.number} of {total}"
    title = f": {quoting.title(part.title)}" if part.title else ""
    lines = [f"## {name}{title}{_part_span(part, unit)}"]
    lines += [f"[{note}]" for note in part.notes]
    if part.images:
        last = first_image + len(part.images) - 1
        which = f"image {last}" if last == first_image else f"images {first_image}-{last}"
        region = f"{part.region}: " if part.region not in ("", WHOLE) else ""
        has_words = part.lines or part.region
        lines.append(f"[{region}{which} of this reply]" if has_words else f"[no text; {which} of this reply]")
    elif not part.lines and not part.notes:
        lines.append("[empty]")
    return lines


def _part_span(part: PartView, unit: str) -> str:
    """Which lines are shown, where those are not all."""
    if not part.lines:
        return ""
    rows = unit in ("sheet", "table") and part.number > CONTENTS
    if part.numbers:
        count, of = len(part.numbers), f"{part.start}-{part.end} of {_total(part)}"
        return f", the rest of {count} long {'row' if rows else 'line'}{'' if count == 1 else 's'} in {of}"
    if not rows and part.start == 1 and part.end == part.total_lines:
        return ""
    return f", {'rows' if rows else 'lines'} {part.start}-{part.end} of {_total(part)}"


def _total(part: PartView) -> str:
    return str(part.total_lines) if part.total_known else f"{part.total_lines} or more"


def heading_bytes(heading: tuple[int, str, int]) -> int:
    """The maximum bytes of an entry of the table of contents."""
    return len(heading_line(heading, "section").encode("utf-8", "replace")) + 1


def part_bytes(part: PartView, unit: str, total: int) -> int:
    """The maximum bytes around the lines of a part, with the first row above a later window."""
    lines: Sequence[str] = head_lines(part, unit, total, 1)
    header = 0 if part.header is None else len(part.header.encode("utf-8", "replace")) + 3
    return sum(len(line.encode("utf-8", "replace")) + 1 for line in lines) + header + _SPAN_BYTES


def ranges(numbers: Sequence[int]) -> str:
    """Numbers as 1-3, 9."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
