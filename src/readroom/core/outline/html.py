"""Outlines of HTML: headings, and elements with an `id`.

It scans tags, whether or not they are closed and nested correctly.
"""

from __future__ import annotations

import html as entities
import re
from collections.abc import Sequence

from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.limits.outline import OUTLINE_NAME_CHARS
from readroom.core.outline.markup import Stack
from readroom.core.outline.signatures import shortened
from readroom.core.values.files import Item

_TAG = re.compile(r"<(!--|/?[A-Za-z][\w-]{0,40})")
_BREAK = re.compile(r"<br\b", re.IGNORECASE)
_MARK = re.compile(r"<[^<>]*>")
_ANCHOR = re.compile(r"<a\b[^<>]*>\s*[#\u00a7\u00b6\u25c6]\s*</a\s*>", re.IGNORECASE)
"""The permalink that programs put into each heading."""

_ID = re.compile(r"""\sid\s*=\s*(?:"([^"]{1,200})"|'([^']{1,200})'|([^\s"'=]{1,200}))""", re.IGNORECASE)

_MOST = 2_000
"""Characters of a tag, and of the text of a heading, that are read."""

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_ELEMENT = 7
"""The level of elements, which have no members here: below every heading."""

_OPAQUE = {
    word: re.compile(rf"</{word}\b", re.IGNORECASE) for word in ("script", "style", "textarea", "title")
}
"""Elements with raw text, in which nothing is a tag, and their ends."""

_CHECK_EVERY = 4096


def html(text: str, deadline: Deadline) -> Sequence[Item]:
    """Headings, each up to the next of the same or a higher level, and in them elements with an `id`."""
    stack, line, counted, tags = Stack(), 1, 0, 0
    found = _TAG.search(text)
    while found is not None:
        tags += 1
        if tags % _CHECK_EVERY == 0:
            deadline.check()
        line += text.count("\n", counted, found.start())
        counted = found.start()
        word, end = found[1].lower(), found.end()
        if word == "!--":
            end = text.find("-->", end)
        else:
            _add(stack, text, found, word, line)
            closes = _OPAQUE[word].search(text, end) if word in _OPAQUE else None
            end = end if word not in _OPAQUE else -1 if closes is None else closes.start()
        stack.filled = line
        found = _TAG.search(text, end) if end >= 0 else None
    stack.filled = text.rstrip().count("\n") + 1
    return [_marked(item) for item in stack.items()]


def _add(stack: Stack, text: str, tag: re.Match[str], word: str, line: int) -> None:
    """Add the heading or element that a tag begins."""
    close = text.find(">", tag.end(), tag.end() + _MOST)
    if close < 0:
        return
    if word in _HEADINGS:
        title = _title(text[close + 1 : close + 1 + _MOST], word)
        if title:
            level = _HEADINGS[word]
            stack.add("heading", title, f"{'#' * level} {title}", line, level, line)
            return
    named = _ID.search(text, tag.end(), close)
    name = next(filter(None, named.groups()), "").strip() if named is not None else ""
    if name:
        signature = shortened(text[tag.start() : close + 1])
        stack.add("element", name[:OUTLINE_NAME_CHARS], signature, line, _ELEMENT, line)
        stack.close(_ELEMENT, line)


def _title(rest: str, word: str) -> str:
    """The text of a heading; empty if it is not closed nearby."""
    inside, closed, _ = rest.partition(f"</{word}")
    if not closed:
        inside, closed, _ = rest.partition(f"</{word.upper()}")
    if not closed:
        return ""
    return shortened(entities.unescape(_MARK.sub("", _BREAK.sub(" <", _ANCHOR.sub("", inside)))))


def _marked(item: Item) -> Item:
    members = tuple(map(_marked, item.members))
    return replace(item, minor=item.kind == "element", members=members)
