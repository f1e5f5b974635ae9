"""One entry in the text of settings, in the three formats of clients.

Each format inserts an entry, removes it and parses the whole text, and leaves every other line as it is,
comments too. It does not know files or clients.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, final

from msgspec import Struct, field

Path: TypeAlias = Sequence[str]


class Unusable(ValueError):
    """The problem of a text of settings, with the line if it is known."""


class Form(Protocol):
    """One of the forms."""

    def loads(self, text: str) -> Any:
        """The value of a text; of an empty one nothing. Raises Unusable."""

    def with_entry(self, text: str, path: Path, value: Mapping[str, Any]) -> str:
        """The text with that entry, put in or replaced. Raises Unusable."""

    def without_entry(self, text: str, path: Path) -> str:
        """The text without it; the same when there is none. Raises Unusable."""


@final
class Json:
    """JSON, with comments and trailing commas where a client takes them."""

    def loads(self, text: str) -> Any:
        """As `Form`."""
        return _Scanner(text).document().value if text.strip() else {}

    def with_entry(self, text: str, path: Path, value: Mapping[str, Any]) -> str:
        """As `Form`; objects are made on the way to it."""
        if not text.strip():
            text = "{}\n"
        entry: Any = value
        root = _Scanner(text).document()
        node, done = root, 0
        for key in path:
            _require_object(text, node, path[:done])
            member = _member(text, node, key)
            if member is None:
                break
            node, done = member.node, done + 1
        else:
            indent = _indent_of(text, node.start)
            return text[: node.start] + _dumped(entry, indent, text) + text[node.end :]
        for key in reversed(path[done + 1 :]):
            entry = {key: entry}
        return _inserted(text, node, path[done], entry)

    def without_entry(self, text: str, path: Path) -> str:
        """As `Form`."""
        node = _Scanner(text).document()
        for key in path[:-1]:
            _require_object(text, node, ())
            present = _member(text, node, key)
            if present is None:
                return text
            node = present.node
        member = _member(text, node, path[-1])
        return text if member is None else _taken_out(text, node, member)


@final
class Toml:
    """TOML."""

    def loads(self, text: str) -> Any:
        """As `Form`."""
        import tomllib

        try:
            return tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise Unusable(str(error) or "it is nested too deeply") from None

    def with_entry(self, text: str, path: Path, value: Mapping[str, Any]) -> str:
        """As `Form`."""
        import tomlkit

        document: Any = self._document(text)
        table = document
        for key in path[:-1]:
            if key not in table:
                table[key] = tomlkit.table(is_super_table=True)
            table = self._table(table[key], key)
        entry = tomlkit.table()
        entry.update(value)
        table[path[-1]] = entry
        return str(document.as_string())

    def without_entry(self, text: str, path: Path) -> str:
        """As `Form`."""
        document: Any = self._document(text)
        table = document
        for key in path[:-1]:
            table = self._table(table.get(key, {}), key)
        if path[-1] not in table:
            return text
        table.remove(path[-1])
        return str(document.as_string())

    def _document(self, text: str) -> Any:
        import tomlkit

        self.loads(text)
        return tomlkit.parse(text)

    def _table(self, value: Any, key: str) -> Any:
        if not isinstance(value, dict):
            raise Unusable(f"{key} is not a table")
        return value


@final
class Yaml:
    """YAML, an entry two levels deep."""

    def loads(self, text: str) -> Any:
        """As `Form`."""
        import yaml

        try:
            settings = yaml.safe_load(text)
        except yaml.MarkedYAMLError as error:
            line = "" if error.problem_mark is None else f"line {error.problem_mark.line + 1}: "
            raise Unusable(f"{line}{error.problem or 'it is not YAML'}") from None
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            raise Unusable(str(error) or "it is nested too deeply") from None
        return {} if settings is None else settings

    def with_entry(self, text: str, path: Path, value: Mapping[str, Any]) -> str:
        """As `Form`."""
        whole = self.without_entry(text, path)
        parent = self._parent(whole, path[0])
        if parent is None:
            start = whole if not whole or whole.endswith("\n") else f"{whole}\n"
            return start + self._dumped({path[0]: {path[1]: dict(value)}}, 0)
        key, node = parent
        if not node.value or node.flow_style:
            if node.value:
                raise Unusable(f"line {node.start_mark.line + 1}: {path[0]} is written in one line")
            body = "\n" + self._dumped({path[1]: dict(value)}, 2).rstrip("\n")
            return whole[: key.end_mark.index] + ":" + body + self._behind_empty(whole, node)
        first = node.value[0][0].start_mark
        at = first.index - first.column
        return whole[:at] + self._dumped({path[1]: dict(value)}, first.column) + whole[at:]

    def without_entry(self, text: str, path: Path) -> str:
        """As `Form`."""
        parent = self._parent(text, path[0])
        if parent is None:
            return text
        key, node = parent
        at = next((at for at, (member, _) in enumerate(node.value) if member.value == path[1]), None)
        if at is None:
            return text
        if node.flow_style:
            raise Unusable(f"line {node.start_mark.line + 1}: {path[0]} is written in one line")
        mark = node.value[at][0].start_mark
        start, end = mark.index - mark.column, self._behind_entry(text, node.value[at][1])
        if len(node.value) > 1:
            return text[:start] + text[end:]
        head = self._line_end(text, key.end_mark.index)
        return f"{text[: key.end_mark.index]}: {{}}{text[head:start]}{text[end:]}"

    def _parent(self, text: str, name: str) -> Any:
        """The nodes of the key of that name and its mapping; None when it is not there."""
        import yaml

        value = self.loads(text)
        if not isinstance(value, dict):
            raise Unusable("it is not a mapping")
        if name not in value:
            return None
        if value[name] is not None and not isinstance(value[name], dict):
            raise Unusable(f"{name} is not a mapping")
        root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
        if root.flow_style:
            raise Unusable("line 1: it is written in one line")
        key, node = next(pair for pair in root.value if pair[0].value == name)
        if not isinstance(node, yaml.MappingNode):
            node = yaml.MappingNode("", [], node.start_mark, node.end_mark)
        return key, node

    def _behind_empty(self, text: str, node: Any) -> str:
        """What follows an empty mapping: `{}`, or nothing at all."""
        written = node.end_mark.index > node.start_mark.index
        return text[node.end_mark.index if written else self._line_end(text, node.start_mark.index) :]

    def _behind_entry(self, text: str, node: Any) -> int:
        """Where the line after a value begins: comments below a block belong to what follows."""
        while isinstance(node.value, list) and node.value and not node.flow_style:
            last = node.value[-1]
            node = last[1] if isinstance(last, tuple) else last
        return min(len(text), self._line_end(text, node.end_mark.index) + 1)

    def _line_end(self, text: str, at: int) -> int:
        feed = text.find("\n", at)
        return len(text) if feed < 0 else feed

    def _dumped(self, value: Mapping[str, Any], column: int) -> str:
        import yaml

        form = {"sort_keys": False, "allow_unicode": True, "default_flow_style": False, "width": 1000}
        lines = yaml.safe_dump(value, **form).rstrip("\n").split("\n")
        return "".join(f"{' ' * column}{line}\n" for line in lines)


# -----------------------------------------------------------------------------
# JSON with comments and trailing commas, as editors and clients keep their settings: one member at a time.
#
# Knows the place of each member in a text, so that one can be put in, replaced or taken
# out and every other character stays.  Knows no file and no client.
# -----------------------------------------------------------------------------

_DEEPEST = 200
"""Settings are nested a few levels deep; a text of brackets alone must not exhaust the stack."""

_SKIPPED = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null')


class BadJson(Unusable):
    """Of JSON the line is known."""

    def __init__(self, problem: str, text: str, at: int) -> None:
        self.line = text.count("\n", 0, at) + 1
        super().__init__(f"line {self.line}: {problem}")


class Node(Struct):
    """A value and its place; `members` are those of an object."""

    start: int
    end: int = 0
    value: Any = None
    members: list[Member] = field(default_factory=list)


class Member(Struct):
    """A key, where it starts, and its value; `comma` is the place of the comma after it."""

    key: str
    start: int
    node: Node
    comma: int | None = None


def _require_object(text: str, node: Node, path: Sequence[str]) -> None:
    if not isinstance(node.value, dict):
        what = f"{'.'.join(path)} is not an object" if path else "it is not an object"
        raise BadJson(what, text, node.start)


def _member(text: str, node: Node, key: str) -> Member | None:
    members = [member for member in node.members if member.key == key]
    if len(members) > 1:
        raise BadJson(f'"{key}" is there twice', text, members[1].start)
    return members[0] if members else None


def _inserted(text: str, node: Node, key: str, value: Any) -> str:
    newline = _newline(text)
    close = node.end - 1
    outer = _indent_of(text, node.start)
    if not node.members:
        inner = outer + _unit(text)
        noted = bool(text[node.start + 1 : close].strip())
        head = text[:close].rstrip(" \t\r\n") if noted else text[: node.start + 1]
        body = f"{newline}{inner}{json.dumps(key)}: {_dumped(value, inner, text)}{newline}{outer}"
        return head + body + text[close:]
    last = node.members[-1]
    first = node.members[0]
    inner = _indent_of(text, first.start)
    if text[: first.start].rpartition("\n")[2].strip():
        inner = outer + _unit(text)  # its members are on the line of the bracket
    entry = f"{newline}{inner}{json.dumps(key)}: {_dumped(value, inner, text)}"
    after = last.node.end if last.comma is None else last.comma + 1
    comma = "," if last.comma is None else ""
    # What follows the last member in its line, a comment perhaps, stays with it.
    stop = text.find("\n", after, close)
    head = text[: last.node.end] + comma + text[last.node.end : after]
    if stop < 0:
        return head + text[after:close].rstrip() + entry + newline + outer + text[close:]
    tail = text[after:stop].rstrip("\r")
    return head + tail + entry + text[after + len(tail) :]


def _taken_out(text: str, node: Node, member: Member) -> str:
    at = node.members.index(member)
    start, end = member.start, member.node.end if member.comma is None else member.comma + 1
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip():
        start = line
        stop = _SPACES.match(text, end)
        assert stop is not None
        if text.startswith("\n", stop.end()):
            end = stop.end() + 1
    out = text[:start] + text[end:]
    if member.comma is None and at > 0:
        before = node.members[at - 1].comma
        if before is not None:
            out = text[:before] + text[before + 1 : start] + text[end:]
    return out


_SPACES = re.compile(r"[ \t\r]*")


def _dumped(value: Any, indent: str, text: str) -> str:
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    return (_newline(text) + indent).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """What one level is indented by in this text."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else "  "


def _indent_of(text: str, at: int) -> str:
    """The white space that the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


@final
class _Scanner:
    """Reads one text from its start to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def document(self) -> Node:
        """The whole text as one value."""
        value = self._value(0)
        self._skip()
        if self._at < len(self._text):
            raise self._bad("there is more behind the end")
        return value

    def _bad(self, problem: str) -> BadJson:
        return BadJson(problem, self._text, self._at)

    def _skip(self) -> str:
        """Pass over white space and comments; the character that follows, empty at the end."""
        match = _SKIPPED.match(self._text, self._at)
        assert match is not None
        self._at = match.end()
        return self._text[self._at : self._at + 1]

    def _value(self, depth: int) -> Node:
        char = self._skip()
        if depth > _DEEPEST:
            raise self._bad("it is nested too deeply")
        if char == "{":
            return self._object(depth)
        if char == "[":
            return self._array(depth)
        return self._scalar()

    def _scalar(self) -> Node:
        match = _SCALAR.match(self._text, self._at)
        if match is None:
            raise self._bad("a value is missing" if self._at < len(self._text) else "it ends early")
        node = Node(self._at, match.end())
        try:
            node.value = json.loads(match[0])
        except ValueError:
            raise self._bad(f"{match[0][:40]} is not a value") from None
        self._at = match.end()
        return node

    def _object(self, depth: int) -> Node:
        node = Node(self._at, value={})
        self._at += 1
        while self._skip() != "}":
            if node.members and node.members[-1].comma is None:
                raise self._bad("a comma or a closing } is missing")
            start = self._at
            key = self._scalar()
            if not isinstance(key.value, str):
                raise BadJson("a key has to be in quotes", self._text, start)
            if self._skip() != ":":
                raise self._bad("a colon is missing")
            self._at += 1
            member = Member(key.value, start, self._value(depth + 1))
            node.members.append(member)
            node.value[member.key] = member.node.value
            member.comma = self._comma()
        self._at += 1
        node.end = self._at
        return node

    def _array(self, depth: int) -> Node:
        node = Node(self._at, value=[])
        self._at += 1
        more = True
        while self._skip() != "]":
            if not more:
                raise self._bad("a comma or a closing ] is missing")
            node.value.append(self._value(depth + 1).value)
            more = self._comma() is not None
        self._at += 1
        node.end = self._at
        return node

    def _comma(self) -> int | None:
        if self._skip() != ",":
            return None
        self._at += 1
        return self._at - 1
