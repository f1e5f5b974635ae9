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

from readroom.core.deadline import Deadline
from readroom.core.limits.outline import OUTLINE_DEPTH, OUTLINE_NAME_CHARS
from readroom.core.outline.markup import Stack, numbered_lines
from readroom.core.outline.quoted import BLOCK_COMMENT, STRING, Marks, Quoted, marks
from readroom.core.outline.signatures import shortened
from readroom.core.values.files import Item

_MOST = 400
"""Characters of a line that are read: names are at its beginning."""


class LineOpener(Struct, frozen=True):
    """How a definition begins. Its kind is `kind`, or else the group "kind"; its name is the group "name"."""

    pattern: re.Pattern[str]
    kind: str = ""


class LineRules(Struct, frozen=True):
    """One language. `comments` are the beginnings of lines that belong to the next definition.

    With `braces` a definition ends with its brace, with `statements` with its semicolon; lines from one that
    `begins` matches to one that is `ends` are a body, even if they look like definitions.  No line is a
    definition that begins in what `marks` say is not code.
    """

    openers: tuple[LineOpener, ...]
    comments: tuple[str, ...] = ("#",)
    braces: bool = False
    statements: bool = False
    begins: re.Pattern[str] | None = None
    ends: str = ""
    marks: Marks = marks(r"#.*")


_MINOR = frozenset({"field", "enum member", "value", "argument", "macro"})


def _opener(pattern: str, kind: str = "", flags: int = 0) -> LineOpener:
    return LineOpener(re.compile(pattern, flags), kind)


_QUOTED = r"[\"`\[]?(?P<name>[\w.$-]+(?:[\"`\]]\.[\"`\[][\w.$-]+)*)"

DOCKERFILE = LineRules(
    (
        _opener(r"FROM\s+(?:--\S+\s+)*(?P<base>\S+)(?:\s+AS\s+(?P<name>\S+))?", "stage", re.I),
        _opener(r"ARG\s+(?P<name>\w+)", "argument", re.I),
    ),
    marks=marks(
        r"\A\s*+#.*",
        r"(?<=\s)\d*+<<(?P<dash>-?)(?P<quote>[\"']?)(?P<tag>[^\s\"'<]+)(?P=quote)(?=\s|\Z)",
        indent="\t",
    ),
)
MAKEFILE = LineRules(
    (
        _opener(r"(?:(?:override|export)\s+)*define\s+(?P<name>[^\s=]+)", "macro"),
        _opener(r"(?:export\s+|override\s+)?(?P<name>[\w.-]+)\s*(?:[:+?!]|::)?=", "macro"),
        _opener(
            r"(?!(?:else|ifn?eq|ifn?def|vpath|s?include|unexport)\b(?!\s*:)|-include\s)"
            r"(?P<name>(?:\$[({]\w+[)}]|[^\s:#=$])[^:#=]{0,200}?)\s*::?(?![=:])",
            "target",
        ),
    ),
    begins=re.compile(r"(?:(?:override|export)\s+)*define\s+[^\s=:]"),
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
    marks=marks(r"//.*", STRING, r"'[^'\\\n]*+(?:\\.[^'\\\n]*+)*'?", BLOCK_COMMENT),
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
    marks=marks(
        r"--.*",
        r"(?<!\S)#(?![>-]).*",
        r"\A\\.*",  # a command of psql
        STRING,
        r"'[^'\\\n]*+(?:\\.[^'\\\n]*+)*'",
        r"(?P<open>/\*|\$(?:[^\W\d]\w*+)?\$|')",
    ),
)
TERRAFORM = LineRules(
    (
        _opener(r'(?P<kind>resource|data)\s+"?(?P<owner>[^"\s{=]+)"?\s+"?(?P<name>[^"\s{=]+)"?'),
        _opener(r'(?P<kind>module|variable|output|provider|check)\s+"?(?P<name>[^"\s{=]+)"?'),
        _opener(r"(?P<kind>locals|terraform|moved|import|removed)\s*\{"),
        _opener(r"  (?P<name>[\w-]+)\s*=", "value"),
    ),
    comments=("#", "//"),
    braces=True,
    marks=marks(
        r"(?:#|//).*", STRING, BLOCK_COMMENT, r"(?P<dash><<)[-~]?[ \t]*+(?P<tag>[^\W\d][\w-]*+)(?=\s*+\Z)"
    ),
)


_BACKTICK = re.compile(r"#[ \t]*escape[ \t]*=[ \t]*`", re.IGNORECASE)
"""The directive that makes a backtick continue lines of a Dockerfile, not a backslash."""


def _outlined(rules: LineRules, text: str, deadline: Deadline) -> Sequence[Item]:
    stack, lead, depth, quoted = Stack(), 0, 0, Quoted(rules.marks)
    statement: _Statement | None = None
    defining, goes_on = 0, False
    escape = "`" if _BACKTICK.match(text) else "\\"
    for number, line in numbered_lines(text, deadline):
        head, was_open = line[:_MOST], quoted.is_open
        plain = quoted.code(line)
        if was_open:
            stack.filled, head = number, ""
        elif head.lstrip().startswith(rules.comments):
            lead = lead or number
            continue
        elif not head.strip():
            lead, goes_on = 0, goes_on and not rules.ends
            continue
        is_end = bool(rules.ends) and head.partition("#")[0].strip() == rules.ends
        if is_end:
            defining = max(0, defining - 1)
        elif defining and rules.begins is not None and rules.begins.match(head.lstrip()):
            defining += 1
        is_recipe = bool(rules.ends) and line.startswith("\t")
        # The next statement begins at the margin, unless the line is in the quoted body of a function.
        is_stated = statement is not None and head[:1].isspace()
        is_inside = defining or is_stated or was_open or goes_on or depth >= OUTLINE_DEPTH or is_recipe
        found = None if is_inside else _opened(rules, head)
        if found is not None:
            kind, name = found
            signature = shortened(head).removesuffix(" (")
            stack.add(kind, name[:OUTLINE_NAME_CHARS], signature, number, depth, lead or number)
            statement = _Statement() if rules.statements else None
            defining = int(rules.begins is not None and rules.begins.match(head) is not None)
        # Lines between two rules of a makefile belong to neither.
        if not rules.ends or found or is_inside or goes_on or is_end:
            stack.filled = number
        lead, goes_on = 0, not (rules.braces or rules.statements) and line.rstrip().endswith(escape)
        if rules.braces:
            depth = max(0, depth + plain.count("{") - plain.count("}"))
            if (found is None and (plain or not was_open)) or any(mark in plain for mark in "{;="):
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


_BEGIN = re.compile(r"\bbegin\b", re.IGNORECASE)
_END = re.compile(r"end\b[\s;/$]*\Z", re.IGNORECASE)


@final
class _Statement:
    """An unfinished SQL statement: it ends with a semicolon, or a block with its `end` at the margin."""

    def __init__(self) -> None:
        self._is_block = False

    def ends_with(self, plain: str) -> bool:
        """Whether this line, given without strings and comments, is its last."""
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
