"""Replies that are one JSON object.

The object is one text part: compact, in UTF-8, with its fields in a fixed order. What escapes add to the text
is known only when it is written, so a window that turns out too large is shortened here, and its omissions
and continuation follow from what is left.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from readroom.core.contracts.base import remarked
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native import render as native_render
from readroom.core.contracts.native.facts import OwnCall
from readroom.core.errors import ReadroomError
from readroom.core.text.select import byte_size
from readroom.core.values import Cap, Cut, Fact, Image, Omission, ReadRequest, ReadResult, Reply

NOTES = "notes"
"""The field in which an object carries sentences about the call itself."""


def encoded(value: Fact) -> str:
    """Compact JSON; half of a surrogate pair, which UTF-8 cannot carry, becomes U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def size(value: Fact) -> int:
    """Bytes of its JSON."""
    return len(encoded(value).encode())


def reply(
    value: Fact,
    facts: Callable[[], dict[str, Fact]],
    *,
    images: tuple[Image, ...] = (),
    is_error: bool = False,
) -> Reply:
    """A reply that is that value; its facts are built when they are asked for."""
    return replace(native_render.reply(encoded(value), facts, images), is_error=is_error)


def failure(value: Fact, words: str, error: ReadroomError, to_call: OwnCall) -> Reply:
    """The reply for a failure in the contract's own form; `words` is the message in facts."""
    return reply(value, partial(native_facts.of_error, error, to_call, words), is_error=True)


def remark(plain: Reply, words: str, *, field: str = NOTES) -> Reply:
    """The reply with one more sentence in a field; a list of things gets none, a plain text a last line."""
    try:
        value = json.loads(plain.text)
    except ValueError:
        return remarked(plain, words)
    if not isinstance(value, dict):
        return plain
    return replace(plain, text=encoded({**value, field: [*value.get(field, ()), words]}))


def short(text: str, size: int) -> str:
    """The text cut in its middle to `size` bytes: what callers send may be of any length."""
    data = text.encode("utf-8", "replace")
    if len(data) <= size:
        return text
    half = (size - len("…".encode())) // 2
    return f"{data[:half].decode('utf-8', 'ignore')}…{data[-half:].decode('utf-8', 'ignore')}"


def window(
    result: ReadResult,
    cap: Cap,
    worded: Callable[[ReadResult], Fact],
    facts: Callable[[ReadResult], dict[str, Fact]],
) -> Reply:
    """The reply for lines of a text: as many as fit, and what is left out.

    Args:
        result: A window of a text that was selected under the cap.
        cap: The size of the reply.
        worded: The object of the reply for a result; it contains the text unchanged.
        facts: Those of a result.
    """

    def text(part: ReadResult) -> str:
        value = worded(part)
        return value if isinstance(value, str) else encoded(value)

    fitting = fitted(result, cap, lambda part: byte_size(text(part)))
    return replace(native_render.reply(text(fitting), partial(facts, fitting)), shown=fitting)


def fitted(result: ReadResult, cap: Cap, sized: Callable[[ReadResult], int]) -> ReadResult:
    """The result with as many of its lines as fit a reply of that size.

    A tail keeps its last lines.  One line that is too long alone keeps its first characters.

    Args:
        result: A window of a text.
        cap: The size of the reply.
        sized: Bytes of the reply for a result.
    """
    if not result.lines or sized(result) <= cap.size:
        return result
    lines = largest(len(result.lines) - 1, lambda count: sized(_of_lines(result, count)) <= cap.size)
    if lines:
        return _of_lines(result, lines)
    alone = result if len(result.lines) == 1 else _of_lines(result, 1)
    chars = largest(len(alone.lines[0]), lambda count: sized(_of_chars(alone, count)) <= cap.size)
    return _of_chars(alone, max(1, chars))


def largest(high: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `high` that fits, as all smaller ones do then; 0 when none does."""
    return bisect_left(range(1, high + 1), True, key=lambda count: not fits(count))


def _of_lines(result: ReadResult, count: int) -> ReadResult:
    if result.read_mode == "tail":
        return _of_last(result, count)
    after = result.start + count
    following = replace(_again(result), offset=after, column=1)
    cuts = {line: cut for line, cut in result.cuts.items() if line < after}
    last = result.total_lines if result.total_lines is not None else result.end
    rest = Omission("lines", after, last, "reply_cap", request=following)
    kept = [omission for omission in result.omitted if omission.line is not None and omission.line < after]
    lines = result.lines[:count]
    return replace(result, lines=lines, cuts=cuts, omitted=(rest, *kept), next=following, outline=None)


def _of_last(result: ReadResult, count: int) -> ReadResult:
    start = result.end - count + 1
    above = replace(_again(result), offset=max(1, start - count), limit=min(count, start - 1), column=1)
    cuts = {line: cut for line, cut in result.cuts.items() if line >= start}
    rest = Omission("lines", 1, start - 1, "reply_cap", request=above)
    kept = [omission for omission in result.omitted if omission.what != "lines" or omission.first > start]
    return replace(
        result, start=start, lines=result.lines[-count:], cuts=cuts, omitted=(rest, *kept), outline=None
    )


def _of_chars(result: ReadResult, count: int) -> ReadResult:
    text, line = result.lines[0], result.start
    known = result.cuts.get(line)
    first, total = (known.first, known.total) if known else (1, len(text))
    cut = Cut(first, first + count - 1, total)
    following = replace(_again(result), offset=line, column=cut.last + 1, limit=1)
    rest = Omission("columns", cut.last + 1, total, "reply_cap", line, following)
    below = [omission for omission in result.omitted if omission.what == "lines"]
    return replace(
        result, lines=(text[:count],), cuts={line: cut}, omitted=(rest, *below), next=following, outline=None
    )


def _again(result: ReadResult) -> ReadRequest:
    """What to start a continuation from: the one there was, else a plain read of the file."""
    return result.next or ReadRequest(result.path)
