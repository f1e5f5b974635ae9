"""Reads by lines as the contract `coder` has them: the request, the object of the reply, and its facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from readroom import limits_coder as limits
from readroom.contracts import coder_words as words
from readroom.contracts import native_facts, native_outline, native_text
from readroom.contracts.base import Wording
from readroom.contracts.coder_calls import to_call
from readroom.contracts.coder_json import present
from readroom.contracts.envelope import encoded
from readroom.errors import NotAbsolute, ReadroomError, TooMuch
from readroom.manner import Manner, Whole
from readroom.model import Cap, Fact, ReadRequest, ReadResult, Reply, Request, Result
from readroom.text.select import byte_size

MARK = "... [truncated]"
"""Behind a line that is cut."""

_ENVELOPE = 100
"""More than the names of the fields around an error."""

Fields: TypeAlias = dict[str, Fact]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one read may show; over HTTP a caller may name others."""

    file_bytes: int = limits.FILE_BYTES
    line_bytes: int = limits.LINE_BYTES
    lines: int = limits.RESPONSE_LINES
    bytes: int = limits.RESPONSE_BYTES


def require_absolute(path: str, root: str) -> str:
    """The path. Raises NotAbsolute."""
    if not words.absolute(path):
        raise NotAbsolute(path, root)
    return path


def read_request(root: str, path: str, offset: int, limit: int, bounds: Bounds) -> ReadRequest:
    """The canonical read; 0 stands for what is not given. Raises NotAbsolute."""
    whole = not offset and not limit
    manner = Manner(
        line_chars=0,
        line_bytes=bounds.line_bytes,
        keep_cr=True,
        images=False,
        documents=False,
        unpacks=False,
        most_bytes=bounds.file_bytes if whole else None,
        header=False,
        nul=False,
        outline=False,
        past_empty=True,
        rests=False,
        whole=Whole(bounds.bytes, bounds.lines, len(MARK)),
    )
    # One line more than may be shown is enough to know that they are too many.
    lines = max(1, min(limit or bounds.lines, bounds.lines + 1))
    return ReadRequest(require_absolute(path, root), offset=offset or 1, limit=lines, manner=manner)


def fields(result: ReadResult) -> Fields:
    """What a read found, without what is nothing."""
    lines = [_numbered(result, number, line) for number, line in enumerate(result.lines, result.start)]
    if not lines and result.outline is not None:
        # What is left of a budget allows no more.
        lines = [native_outline.row_line(row) for row in result.outline.rows]
    return present(
        file_size=result.size_bytes,
        total_lines=result.total_lines,
        lines_read=len(result.lines),
        content="\n".join(lines),
    )


def _numbered(result: ReadResult, number: int, line: str) -> str:
    cut = result.cuts.get(number)
    return f"{number}\t{line}{MARK if cut is not None and cut.last < cut.total else ''}"


# --- replies ----------------------------------------------------------------------------------


class Form:
    """One form of replies: how a read looks, and how a failure does.

    Args:
        root: Of the workspace, as callers know it.
        chat: For a chat loop: every field always, and failures as plain text.
    """

    def __init__(self, root: str, *, chat: bool) -> None:
        self._root = root
        self._chat = chat

    def read(self, result: Result, cap: Cap) -> Reply:
        """The reply for a read. Raises TooMuch when its JSON is larger than the cap."""
        assert isinstance(result, ReadResult)
        found: Fields = {"success": True, **fields(result)}
        if self._chat:
            every: Fields = {"content": "", "file_size": 0, "lines_read": 0, "total_lines": 0}
            found = dict(sorted({**every, **fields(result)}.items()))
        text = encoded(found)
        size = byte_size(text)
        if size > cap.size:
            raise TooMuch(cap.size, "bytes", fitting=len(result.lines) * cap.size // size)
        return native_text.reply(text, partial(read_facts, result, self._root))

    def failed(self, text: str, error: ReadroomError) -> Reply:
        """The reply for a failure in those words."""
        told = text if self._chat else encoded({"success": False, "error": text})

        def facts() -> Fields:
            return {**error_facts(error, self._root), "status": words.lines_status(error)}

        return replace(native_text.reply(told, facts), is_error=True)

    def wording(self, path: str, offset: int) -> Wording:
        """How the read of that path is worded."""
        return Wording(self.read, capped(self.failed, partial(words.of_read, path=path, offset=offset)))

    @property
    def without_path(self) -> Callable[[ReadroomError, Cap], Reply]:
        """How the chat loop's failures are worded before a path is known."""
        return capped(self.failed, words.of_chat)

    @property
    def plainly(self) -> Callable[[ReadroomError, Cap], Reply]:
        """How failures are worded of which no path is known."""
        return capped(self.failed, str)


def capped(
    make: Callable[[str, ReadroomError], Reply], tell: Callable[[ReadroomError], str]
) -> Callable[[ReadroomError, Cap], Reply]:
    """Words failures within the cap: only monstrous names ever reach it."""

    def render(error: ReadroomError, cap: Cap) -> Reply:
        text = tell(error)
        most = cap.size - _ENVELOPE
        while True:
            found = make(text, error)
            if byte_size(found.text) <= cap.size or most <= 0:
                return found
            text = text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")
            most //= 2

    return render


# --- facts ------------------------------------------------------------------------------------


def read_facts(result: ReadResult, root: str) -> Fields:
    """Facts of a read, whose calls are those of this contract."""
    left: list[Fact] = []
    for one in result.omitted:
        # The rest of a line that is cut has no call here.
        there = one.request if one.line is None else None
        found: Fields = {"what": one.what, "from": one.first, "to": one.last}
        if one.line is not None:
            found["line"] = one.line
        left.append({**found, "reason": one.reason, "call": _call(there, root)})
    return {**native_facts.of_read(result), "omitted": left, "next": _call(result.next, root)}


def error_facts(error: ReadroomError, root: str) -> Fields:
    """Facts of a failure, whose next call is one of this contract."""
    found: Fields = {"code": error.code, "message": str(error), "facts": error.facts}
    return {"error": {**found, "next": _call(error.next, root)}}


def _call(request: Request | None, root: str) -> Fact:
    call = None if request is None else to_call(request, root)
    return None if call is None else call.to_fact()
