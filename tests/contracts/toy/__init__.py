"""A contract of a few lines, for the tests: what a new one takes.

Three tools with words of their own, replies that are one JSON object, and a refusal
that the others do not have.  It is made of what every contract is made of (arguments,
requests, measures, steps, renderings) and needs no line of anything else.
"""

from __future__ import annotations

from functools import partial

import msgspec
from msgspec.structs import replace

from readroom.core.contracts import OwnSettings, Setup, json_replies
from readroom.core.contracts.base import Contract, Tool
from readroom.core.contracts.native import facts
from readroom.core.errors import ReadroomError
from readroom.core.quoting import as_value
from readroom.core.values import (
    Call,
    Cap,
    Fact,
    GrepFile,
    GrepLine,
    GrepRequest,
    GrepResult,
    ListEntry,
    ListMeasure,
    ListRequest,
    ListResult,
    Measure,
    ReadMeasure,
    ReadRequest,
    ReadResult,
    Reply,
    Request,
    Result,
    SearchMeasure,
)
from readroom.core.values.files import Row
from readroom.core.values.options import ReadOptions
from readroom.core.values.steps import Steps, TextUpTo

SHOW, FIND, NAMES = "show", "find", "names"
MOST_BYTES = 20_000
"""Files above it are refused: a step of the contract."""

_OPTIONS = ReadOptions(line_chars=0, header=False, outline_bytes=0, rests=False)
_FRAME = 300


class ToySettings(OwnSettings, frozen=True):
    """How many lines one reply has."""

    lines: int = 500


class Show(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of show."""

    file: str
    first: int = 1


class Find(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of find."""

    what: str


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of names."""

    folder: str = "."


def _to_read(settings: ToySettings, given: Show) -> ReadRequest:
    return ReadRequest(given.file, offset=given.first, limit=settings.lines, options=_OPTIONS)


def to_call(request: Request) -> Call | None:
    """The call for a request of lines or of names; there is none for the others."""
    if isinstance(request, ReadRequest) and request.column == 1:
        return Call(SHOW, {"file": as_value(request.path), "first": request.offset or 1})
    if isinstance(request, ListRequest) and request.cursor is None:
        return Call(NAMES, {"folder": as_value(request.path)})
    return None


# --- replies -----------------------------------------------------------------------------------


def _frame(path: str) -> int:
    return _FRAME + 2 * json_replies.size(as_value(path))


def _numbered(number: int) -> int:
    return len(",")


def _outlined(row: Row) -> int:
    return json_replies.size(row.item.signature) + len(",")


def _found_in(file: GrepFile) -> int:
    return json_replies.size(as_value(file.path)) + len(":[],")


def _found(line: GrepLine) -> int:
    return json_replies.size([line.number, line.text]) + len(",")


def _listed(entry: ListEntry) -> int:
    return json_replies.size(as_value(entry.path)) + len(",")


MEASURE = Measure(
    _frame,
    ReadMeasure(_numbered, _outlined, mark_bytes=0),
    search=SearchMeasure(_found_in, _found),
    list=ListMeasure(_listed),
)


def render(result: Result, cap: Cap) -> Reply:
    """One object."""
    if isinstance(result, ReadResult):
        return json_replies.window(result, cap, _lines, partial(facts.of_read, own_call=to_call))
    if isinstance(result, GrepResult):
        found: dict[str, Fact] = {
            as_value(file.path): [[one.number, one.text] for one in file.lines] for file in result.files
        }
        return json_replies.reply(
            {"found": found, "all": result.complete}, partial(facts.of_grep, result, to_call)
        )
    assert isinstance(result, ListResult), "no tool of this contract has another result"
    names = [as_value(entry.path) for entry in result.entries]
    return json_replies.reply(
        {"names": names, "all": result.next is None}, partial(facts.of_list, result, to_call)
    )


def _lines(result: ReadResult) -> dict[str, Fact]:
    following = None if result.next is None else result.next.offset
    rows: list[Fact] = [row.item.signature for row in result.outline.rows] if result.outline else []
    return {"lines": list(result.lines), "of": result.total_lines, "next": following, "outline": rows}


def render_error(error: ReadroomError, cap: Cap) -> Reply:
    """What failed, in two fields."""
    text = json_replies.short(str(error), cap.size // 2)
    return json_replies.failure({"failed": error.code, "because": text}, text, error, to_call)


TOY = Contract(
    name="toy",
    title="toy",
    instructions="",
    tools=(
        Tool(
            SHOW,
            "Show",
            "Lines of a file.",
            Show,
            partial(_to_read, ToySettings()),
            steps=lambda _: Steps(TextUpTo(MOST_BYTES), expands=False),
        ),
        Tool(FIND, "Find", "Lines with a word.", Find, lambda given: GrepRequest(given.what, fixed=True)),
        Tool(NAMES, "Names", "Names in a folder.", Names, lambda given: ListRequest(given.folder)),
    ),
    reply_bytes=4000,
    measure=MEASURE,
    render=render,
    render_error=render_error,
    to_call=to_call,
    remark=json_replies.remark,
)


def made(setup: Setup) -> Contract:
    """The contract for a workspace with that setup."""
    own = setup.own if isinstance(setup.own, ToySettings) else ToySettings()
    show, *others = TOY.tools
    return replace(TOY, tools=(replace(show, to_request=partial(_to_read, own)), *others))
