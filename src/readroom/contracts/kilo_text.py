"""How the contract kilo words results: numbered lines and nothing else, unless something is missing.

A line that is not numbered is ours.  What is left out is said behind the lines, with
the call that shows it, and then the definitions in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from readroom.contracts import envelope, native_text
from readroom.contracts.kilo_calls import to_call
from readroom.limits_kilo import KILO_NAME_BYTES, KILO_NOTICE_BYTES
from readroom.model import Cap, Fact, GrepFile, GrepLine, Kind, ListEntry, ReadResult, Reply, Result
from readroom.outlines import Row
from readroom.quoting import shortened
from readroom.shown import ShownPart


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call said, for words that repeat it. `path` is empty when that is not known."""

    path: str
    start_line: int | None = None
    end_line: int | None = None

    @property
    def is_range(self) -> bool:
        """Whether lines were named."""
        return self.start_line is not None or self.end_line is not None


class _Measure:
    """What the rendering below adds."""

    def frame(self, path: str) -> int:
        return KILO_NOTICE_BYTES + KILO_NAME_BYTES

    def numbered(self, number: int) -> int:
        return len(str(number)) + len(" | \n")

    def outlined(self, row: Row) -> int:
        return len(_row(row).encode("utf-8", "replace")) + 1

    # Nothing of what follows is in its replies.
    def heading(self, heading: tuple[int, str, int]) -> int:
        return native_text.MEASURE.heading(heading)

    def part(self, part: ShownPart, unit: str, total: int) -> int:
        return native_text.MEASURE.part(part, unit, total)

    def found_in(self, file: GrepFile) -> int:
        return native_text.MEASURE.found_in(file)

    def found(self, line: GrepLine) -> int:
        return native_text.MEASURE.found(line)

    def listed(self, entry: ListEntry) -> int:
        return native_text.MEASURE.listed(entry)


MEASURE = _Measure()


def render(asked: Asked, result: Result, cap: Cap) -> Reply:
    """The reply for a result that was selected under `cap`."""
    assert isinstance(result, ReadResult)
    images = (result.image,) if result.image is not None else ()
    return native_text.reply(_text(asked, result, cap), partial(_facts, asked, result), images)


def _facts(asked: Asked, result: ReadResult) -> dict[str, Fact]:
    return envelope.result_facts(result, partial(to_call, last=asked.end_line))


def _text(asked: Asked, result: ReadResult, cap: Cap) -> str:
    if result.kind is Kind.IMAGE:
        return f"Image file ({_kilobytes(result.size_bytes)} KB)"
    if not result.lines and result.total_lines == 0 and not result.omitted and result.outline is None:
        return "File is empty"
    rows = [f"{number} | {line}" for number, line in enumerate(result.lines, result.start)]
    return "\n".join([*rows, *_rest_of_lines(result), *_rest(asked, result), *_definitions(result, cap)])


def _kilobytes(size: int) -> int:
    """Rounded as the original does, a half upwards."""
    return (size + 512) // 1024


def _rest_of_lines(result: ReadResult) -> list[str]:
    """What is said of a line that is too long for a reply."""
    return [
        f"[Line {number} is cut: showing characters {cut.first}-{cut.last} of {cut.total}. "
        f"Use start_line={number} and column={cut.last + 1} to read more.]"
        for number, cut in result.cuts.items()
        if cut.last < cut.total
    ]


def _rest(asked: Asked, result: ReadResult) -> list[str]:
    """What is said of the lines that follow those that are shown, where they were asked for."""
    following, total = result.next, result.total_lines
    if not result.lines and result.outline is None:
        return [f"[... truncated {_lines(total)} ...]" if total else "[... truncated ...]"]
    if following is None or following.column > 1 or not result.lines:
        return []
    first = following.offset or 1
    if asked.end_line is not None and first > asked.end_line:
        return []
    last = asked.end_line if total is None else min(total, asked.end_line or total)
    # It is too large, takes too long, is in a language that has no grammar here, or there are none.
    missing = not asked.is_range and result.kind is Kind.SOURCE and result.outline is None
    unlisted = ["[No definitions are listed for the rest of this file.]"] if missing else []
    gap = "[... truncated ...]" if last is None else f"[... truncated {_lines(last - first + 1)} ...]"
    more = f"Use start_line={first}{_to(asked)} to read more."
    return [gap, f"[File truncated: {_showing(asked, result)}. {more}]", *unlisted]


def _showing(asked: Asked, result: ReadResult) -> str:
    total = result.total_lines
    if asked.is_range or result.start > 1:
        of = "" if total is None else f" of {total} total lines"
        return f"showing lines {result.start}-{result.end}{of}"
    return f"showing {result.end} of {'an unknown number of' if total is None else total} total lines"


def _lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'}"


def _to(asked: Asked) -> str:
    return "" if asked.end_line is None else f" and end_line={asked.end_line}"


def _definitions(result: ReadResult, cap: Cap) -> list[str]:
    """Definitions in what is not shown, with their lines."""
    shown = result.outline
    if shown is None:
        return []
    name = shortened(result.path.rpartition("/")[2], min(KILO_NAME_BYTES, cap.size // 8))
    more = f"[{shown.left_out} more definitions are not listed.]"
    rows = [f"# {name}", *map(_row, shown.rows), *([more] if shown.left_out else [])]
    return ["", *rows] if result.lines else rows


def _row(row: Row) -> str:
    return f"{row.item.start}--{row.item.end} | {'  ' * row.depth}{row.item.signature}"
