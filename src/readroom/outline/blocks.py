"""Outlines of small languages by their lines: build files, schemas, queries.

In all of them a line begins with what opens a block; the block ends with its brace, with its statement, or
where the next one of its level begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import final

from msgspec import Struct
from msgspec.structs import replace

from readroom.deadline import Deadline
from readroom.limits.outline import OUTLINE_DEPTH, OUTLINE_NAME_CHARS
from readroom.outline.markup import Stack, numbered_lines
from readroom.outline.signatures import shortened
from readroom.values.files import Item

_MOST = 400
"""Characters of a line that are read: names are at its beginning."""

_STRINGS = re.compile(r"\"(?:[^\"\\\n]|\\.){0,400}\"|'(?:[^'\\\n]|\\.){0,400}'|//.*|#.*|--.*")


class LineOpener(Struct, frozen=True):
    """How a definition begins. Its kind is `kind`, or else the group "kind"; its name is the group "name"."""

    pattern: re.Pattern[str]
    kind: str = ""


class LineRules(Struct, frozen=True):
    """One language. `comments` are the beginnings of lines that belong to the next definition.

    With `braces` a definition ends with its brace, with `statements` with its semicolon; lines from one that
    starts with `begins` to one that is `ends` are a body, even if they look like definitions.
    """

    openers: tuple[LineOpener, ...]
    comments: tuple[str, ...] = ("#",)
    braces: bool = False
    statements: bool = False
    begins: str = ""
    ends: str = ""


_MINOR = frozenset({"field", "enum member", "value", "argument", "macro"})


def _opener(pattern: str, kind: str = "", flags: int = 0) -> LineOpener:
    return LineOpener(re.compile(pattern, flags), kind)


_QUOTED = r"[\"`\[]?(?P<name>[\w.$-]+(?:[\"`\]]\.[\"`\[][\w.$-]+)*)"

DOCKERFILE = LineRules(
    (
        _opener(r"FROM\s+(?:--\S+\s+)*(?P<base>\S+)(?:\s+AS\s+(?P<name>\S+))?", "stage", re.I),
        _opener(r"ARG\s+(?P<name>\w+)", "argument", re.I),
    )
)
MAKEFILE = LineRules(
    (
        _opener(r"define\s+(?P<name>[^\s=]+)", "macro"),
        _opener(r"(?:export\s+|override\s+)?(?P<name>[\w.-]+)\s*(?:[:+?!]|::)?=", "macro"),
        _opener(r"(?P<name>[^\s:#=$][^:#=]{0,200}?)\s*::?(?![=:])", "target"),
    ),
    begins="define",
    ends="endef",
)
PROTOBUF = LineRules(
    (
        _opener(r"\s*(?P<kind>message|enum|service|oneof|extend)\s+(?P<name>[\w.]+)"),
        _opener(r"\s*(?P<kind>rpc)\s+(?P<name>\w+)"),
        _opener(
            r"\s*(?:(?:optional|required|repeated)\s+)?[\w.]+(?:<[^>]*>)?\s+(?P<name>\w+)\s*=\s*\d+",
            "field",
        ),
        _opener(r"\s*(?P<name>[A-Za-z_]\w*)\s*=\s*-?\w+\s*[;\[]", "enum member"),
    ),
    comments=("//",),
    braces=True,
)
SQL = LineRules(
    (
        _opener(
            r"\s*create\s+(?:or\s+replace\s+)?(?:(?:temp|temporary|unique|materialized|recursive|unlogged)\s+)*"
            r"(?P<kind>table|view|index|function|procedure|trigger|type|schema|sequence|database|extension|"
            r"domain|aggregate)\s+(?:concurrently\s+)?(?:if\s+not\s+exists\s+)?" + _QUOTED,
            "",
            re.I,
        ),
    ),
    comments=("--",),
    statements=True,
)
TERRAFORM = LineRules(
    (
        _opener(r'(?P<kind>resource|data)\s+"(?P<owner>[^"]+)"\s+"(?P<name>[^"]+)"'),
        _opener(r'(?P<kind>module|variable|output|provider|check)\s+"(?P<name>[^"]+)"'),
        _opener(r"(?P<kind>locals|terraform|moved|import|removed)\s*\{"),
        _opener(r"  (?P<name>[\w-]+)\s*=", "value"),
    ),
    comments=("#", "//"),
    braces=True,
)


def _outlined(rules: LineRules, text: str, deadline: Deadline) -> Sequence[Item]:
    stack, lead, depth = Stack(), 0, 0
    statement: _Statement | None = None
    defining = goes_on = False
    for number, line in numbered_lines(text, deadline):
        head = line[:_MOST]
        if head.lstrip().startswith(rules.comments):
            lead = lead or number
            continue
        if not head.strip():
            lead = 0
            continue
        if rules.ends and head.strip() == rules.ends:
            defining = False
        is_recipe = bool(rules.ends) and line.startswith("\t")
        # The next statement begins at the margin, unless the line is in the quoted body of a function.
        is_stated = statement is not None and (statement.is_quoted or head[:1].isspace())
        is_inside = defining or is_stated or depth >= OUTLINE_DEPTH or is_recipe
        found = None if is_inside else _opened(rules, head)
        if found is not None:
            kind, name = found
            signature = shortened(head).removesuffix(" (")
            stack.add(kind, name[:OUTLINE_NAME_CHARS], signature, number, depth, lead or number)
            statement = _Statement() if rules.statements else None
            defining = bool(rules.ends) and head.startswith(rules.begins)
        # Lines between two rules of a makefile belong to neither.
        if not rules.ends or found or is_inside or goes_on or head.strip() == rules.ends:
            stack.filled = number
        lead, goes_on = 0, line.rstrip().endswith("\\")
        plain = _STRINGS.sub("", line)
        if rules.braces:
            depth = max(0, depth + plain.count("{") - plain.count("}"))
            if found is None or any(mark in plain for mark in "{;="):
                stack.close(depth, number)
        if statement is not None and statement.ends_with(plain):
            statement = None
            stack.close(0, number)
    return [_marked(item) for item in stack.items()]


def _marked(item: Item) -> Item:
    return replace(item, minor=item.kind in _MINOR, members=tuple(map(_marked, item.members)))


def _opened(rules: LineRules, line: str) -> tuple[str, str] | None:
    for opener in rules.openers:
        match = opener.pattern.match(line)
        if match is None:
            continue
        given = match.groupdict()
        kind = opener.kind or given["kind"].lower()
        name = given.get("name") or given.get("base") or kind
        owner = given.get("owner")
        return kind, f"{owner}.{name}" if owner else re.sub(r"[\"`\[\]]", "", name)
    return None


_QUOTED_HERE = re.compile(r"(\$\w*\$).*?\1")
_QUOTES = re.compile(r"\$\w*\$|'")
_BEGIN = re.compile(r"\bbegin\b", re.IGNORECASE)
_END = re.compile(r"end\b[\s;/$]*\Z", re.IGNORECASE)


@final
class _Statement:
    """An unfinished SQL statement: it ends with a semicolon, or a block with its `end` at the margin."""

    def __init__(self) -> None:
        self._quote = ""
        self._is_block = False

    @property
    def is_quoted(self) -> bool:
        """Whether it is in the dollar-quoted body of a function."""
        return self._quote.startswith("$")

    def ends_with(self, line: str) -> bool:
        """Whether this line, given without strings and comments, is its last."""
        plain = _QUOTED_HERE.sub("", line)
        for mark in _QUOTES.findall(plain):
            self._quote = mark if not self._quote else "" if mark == self._quote else self._quote
        if self._quote:
            return False
        self._is_block = self._is_block or _BEGIN.search(plain) is not None
        return _END.match(plain) is not None if self._is_block else ";" in plain


def _of(rules: LineRules) -> Callable[[str, Deadline], Sequence[Item]]:
    return lambda text, deadline: _outlined(rules, text, deadline)


BLOCKS: Mapping[str, Callable[[str, Deadline], Sequence[Item]]] = MappingProxyType(
    {
        "dockerfile": _of(DOCKERFILE),
        "makefile": _of(MAKEFILE),
        "protobuf": _of(PROTOBUF),
        "sql": _of(SQL),
        "terraform": _of(TERRAFORM),
    }
)
"""By language, as in `languages`."""
