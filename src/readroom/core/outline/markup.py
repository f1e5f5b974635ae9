"""Outlines that need no parser: headings of Markdown, keys of JSON, TOML and YAML.

Each is one pass over the lines, with a stack of open items. They follow the layout that people and programs
use, not every corner of the formats: an outline says where to read, and a read shows the file itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from readroom.core.deadline import Deadline
from readroom.core.limits.outline import OUTLINE_NAME_CHARS
from readroom.core.outline.quoted import STRING, Quoted, marks
from readroom.core.outline.signatures import shortened
from readroom.core.values.files import Item

_KEY_LEVELS = 2
"""Deeper keys would make outlines as long as the file; one level below the top shows what is where."""

_CHECK_EVERY = 4096
"""Lines or tokens between two checks of the clock."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]|\r?\Z)")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*\r?\Z")
_NO_PARAGRAPH = re.compile(r" {0,3}(?:[-*+>|#]|\d+[.)]|```|~~~|<)|\t| {4}|\s*\Z")
_FRONT_MATTER = re.compile(r"(?:---|\+\+\+)[ \t]*\r?\Z")


_HTML = re.compile(r" {0,3}(?:(<!--)|<(pre|script|style|textarea)\b)", re.IGNORECASE)
"""Beginnings of HTML that continues over blank lines, up to its end."""


class _Open:
    """An item whose end is not yet known."""

    __slots__ = ("item", "level", "members")

    def __init__(self, item: Item, level: int) -> None:
        self.item = item
        self.level = level
        self.members: list[Item] = []

    def closed(self, end: int) -> Item:
        item = self.item
        return Item(item.kind, item.name, item.signature, item.start, end, item.line, (), tuple(self.members))


class Stack:
    """Items in the order of their lines, nested by level."""

    def __init__(self) -> None:
        self._top = _Open(Item("", "", "", 1, 1, 1), -1)
        self._open = [self._top]
        self.filled = 1
        """The last line that belongs to the open items: blank lines and comments after it do not."""

    def add(self, kind: str, name: str, signature: str, line: int, level: int, first: int) -> None:
        """Open an item whose signature is in `line`, and close those of its level and deeper."""
        self.close(level, self.filled)
        self._open.append(_Open(Item(kind, name, signature, first, first, line), level))

    def close(self, level: int, end: int) -> None:
        """Close the open items of `level` and deeper."""
        while self._open[-1].level >= level:
            done = self._open.pop()
            self._open[-1].members.append(done.closed(max(end, done.item.line)))

    def items(self) -> list[Item]:
        """All items, at the end of the text."""
        self.close(0, self.filled)
        return self._top.members


def numbered_lines(text: str, deadline: Deadline) -> Iterator[tuple[int, str]]:
    """The lines of a text with their numbers. Raises TimedOut or Cancelled."""
    for number, line in enumerate(text.split("\n"), 1):
        if number % _CHECK_EVERY == 0:
            deadline.check()
        yield number, line


# --- Markdown ----------------------------------------------------------------------------------


def markdown(text: str, deadline: Deadline) -> list[Item]:
    """Headings of both forms, each up to the next of the same or a higher level."""
    stack, fence, in_front, html = Stack(), "", False, ""
    before, first, prior = "", 1, 1  # a paragraph that may be the text of a heading
    for number, line in numbered_lines(text, deadline):
        if number == 1 and _FRONT_MATTER.match(line):
            in_front = True
            continue
        if in_front:
            in_front = not _FRONT_MATTER.match(line)
            continue
        mark = _FENCE.match(line)
        begun_html = None if html or fence else _HTML.match(line)
        if begun_html:
            html = "-->" if begun_html[1] else f"</{begun_html[2].lower()}>"
        if html:
            html, before = "" if html in line.lower() else html, ""
        elif fence:
            if mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not mark[2].strip():
                fence = ""
            before = ""
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence, before = mark[1], ""
        elif heading := _ATX.match(line):
            _add_heading(stack, _title(line[heading.end() :]), number, len(heading[1]))
            before = ""
        elif before and (under := _SETEXT.match(line)):
            stack.filled = prior
            _add_heading(stack, before, first, 1 if under[1][0] == "=" else 2)
            before = ""
        else:
            if _NO_PARAGRAPH.match(line):
                before = ""
            elif not before:
                before, first, prior = line.strip(), number, stack.filled
            elif len(before) < OUTLINE_NAME_CHARS:
                before += f" {line.strip()}"
        if line.strip():
            stack.filled = number
    return stack.items()


def _title(rest: str) -> str:
    """The text of a heading, without closing marks."""
    text = rest.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else text


def _add_heading(stack: Stack, name: str, line: int, level: int) -> None:
    title = shortened(name)
    if not title:
        return
    stack.add("heading", title, f"{'#' * level} {title}".rstrip(), line, level, line)


# --- TOML --------------------------------------------------------------------------------------

_TEXT = r'"[^"\\]*+(?:\\.[^"\\]*+)*"'
_NAME = rf"""(?:[^\[\]#"'\s]++|{_TEXT}|'[^']*+')"""
_TABLE = re.compile(rf"\s*+(\[\[?)\s*+({_NAME}(?:\s*+{_NAME})*)\s*+\]\]?\s*+(?:#.*)?\Z")
_TOML_KEY = re.compile(r"""([A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*[A-Za-z0-9_"'-]+)*\s*=\s*(.*)""")
_TOML_MARKS = marks(r"#.*", r"(?P<open>\"{3}|'{3})", STRING, r"'[^']*'?")


def toml(text: str, deadline: Deadline) -> list[Item]:
    """Tables, and keys before the first table, each with the comment lines directly above."""
    stack, lead, quoted, depth, in_table = Stack(), 0, Quoted(_TOML_MARKS), 0, False
    for number, line in numbered_lines(text, deadline):
        was_open, plain = quoted.is_open, quoted.code(line)
        if was_open or depth > 0:
            stack.filled = number
            depth = max(0, depth + _brackets(plain)) if depth else 0
            continue
        if line.lstrip().startswith("#"):
            lead = lead or number
            continue
        table, key = _TABLE.match(line), _TOML_KEY.match(line)
        if table:
            in_table = True
            stack.add("table", table[2][:OUTLINE_NAME_CHARS], shortened(line), number, 0, lead or number)
        elif key:
            if not in_table:
                stack.add(
                    "key",
                    key[1].strip("\"'")[:OUTLINE_NAME_CHARS],
                    shortened(line),
                    number,
                    0,
                    lead or number,
                )
            depth = max(0, _brackets(plain))
        if line.strip():
            stack.filled = number
        lead = 0
    return stack.items()


def _brackets(plain: str) -> int:
    return plain.count("[") + plain.count("{") - plain.count("]") - plain.count("}")


# --- YAML --------------------------------------------------------------------------------------

_YAML_KEY = re.compile(
    rf"""({_TEXT}|'[^']*+'|"""
    r"""(?:[^\s#\-\[\]{}&*!|>'"%@`,?:]|-[^\s#:])[^\s#:]*+(?:\s++[^\s#:]++)*)\s*+:(?=\s|\Z)"""
)
_BLOCK = re.compile(r"(?:.*[:\s])?[|>][+-]?\d?[+-]?\s*(?:#.*)?\r?\Z")


_QUOTE = re.compile(r"""\s*+(?:[!&]\S*+\s++)*(["'])""")
_CLOSED = {'"': re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*"'), "'": re.compile(r"[^']*+(?:''[^']*+)*'(?!')")}


def _still_open(rest: str, quote: str) -> str:
    """The quote, unless the rest of its line closes it."""
    return "" if _CLOSED[quote].match(rest) else quote


def yaml(text: str, deadline: Deadline) -> list[Item]:
    """Keys of the outermost mappings and of mappings directly in them, but not in lists."""
    stack, lead = Stack(), 0
    indents: list[int] = []
    block = listed = -1
    is_text, quote = False, ""
    for number, line in numbered_lines(text, deadline):
        if quote:
            stack.filled, quote = number, _still_open(line, quote)
            continue
        word = line.lstrip(" ")
        indent = len(line) - len(word)
        if not word.strip():
            lead = 0
            continue
        if 0 <= block < indent:
            stack.filled = number
            continue
        block = -1
        if word.startswith("#"):
            lead = lead or number
            continue
        if line.startswith(("---", "...")):
            stack.close(0, stack.filled)
            indents, lead, listed = [], 0, -1
            is_text = _BLOCK.match(line) is not None
            continue
        if is_text:
            continue
        listed = indent if word.startswith("- ") else listed if indent > listed else -1
        key = _YAML_KEY.match(word) if listed < 0 else None
        if key:
            while indents and indents[-1] >= indent:
                indents.pop()
            if len(indents) < _KEY_LEVELS:
                name = key[1].strip("\"'")[:OUTLINE_NAME_CHARS]
                stack.add("key", name, shortened(line), number, len(indents), lead or number)
            indents.append(indent)
        value = word[key.end() :] if key else word.lstrip("- ")
        opened = _QUOTE.match(value)
        if opened:
            quote = _still_open(value[opened.end() :], opened[1])
        elif _BLOCK.match(line):
            block = indent
        stack.filled, lead = number, 0
    return stack.items()


# --- JSON --------------------------------------------------------------------------------------

_LINE_TEXT = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*'
_TOKEN = re.compile(_LINE_TEXT + r'"?|[{}\[\]:,\n]|//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)')
"""Strings and comments that are not closed are tokens too: otherwise each place in them would be tried."""

_BETWEEN = re.compile(r"\s*:")
_MAX_PAIR = 400
_PAIR = re.compile(rf"""{_LINE_TEXT}"\s*:\s*(?:{_LINE_TEXT}"|[^\s,{{}}\[\]"]++)""")
"""A key with its value, unless that is an object or a list."""

_FOLLOWED = re.compile(r"\s*[,}]\s*[^\s/]")
"""After such a pair: another pair in the same line, which is not part of it, unlike a comment."""


def json(text: str, deadline: Deadline) -> list[Item]:
    """Keys of the outermost object and of the objects directly in it."""
    stack, line, depth = Stack(), 1, 0
    holders: list[str] = []
    for steps, token in enumerate(_TOKEN.finditer(text)):
        if steps % _CHECK_EVERY == 0:
            deadline.check()
        word = token[0]
        if word == "\n" or word[0] == "/":
            line += word.count("\n")
            continue
        if word in "{[":
            depth += 1
            if depth <= _KEY_LEVELS:
                holders.append(word)
        elif word in "}]" and depth:
            stack.close(depth - 1, stack.filled)
            depth -= 1
            del holders[depth:]
        elif word == "," and depth:
            stack.close(depth - 1, stack.filled)
        elif (
            word[0] == '"'
            and 0 < depth <= _KEY_LEVELS
            and "[" not in holders
            and _BETWEEN.match(text, token.end())
        ):
            _add_key(stack, text, token, line, depth - 1)
        stack.filled = line
    return stack.items()


def _add_key(stack: Stack, text: str, token: re.Match[str], line: int, level: int) -> None:
    start = token.start()
    end = text.find("\n", start)
    end = min(len(text) if end < 0 else end, start + _MAX_PAIR)
    pair = _PAIR.match(text, start, end)
    if pair is not None and _FOLLOWED.match(text, pair.end(), end):
        end = pair.end()
    signature = shortened(text[start:end])
    stack.add("key", token[0][1:-1][:OUTLINE_NAME_CHARS] or '""', signature, line, level, line)


MARKUP: Mapping[str, Callable[[str, Deadline], Sequence[Item]]] = MappingProxyType(
    {"markdown": markdown, "json": json, "toml": toml, "yaml": yaml}
)
"""By language, as in `languages`."""
