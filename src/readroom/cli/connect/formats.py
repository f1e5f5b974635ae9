"""One entry in the text of settings, in the three formats of clients.

Each format inserts an entry, removes it and parses the whole text, and leaves every other line as it is,
comments too. It does not know files or clients.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, final

from msgspec import Struct

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
        """The text without it; the same if there is none. Raises Unusable."""


@final
class Json:
    """JSON, with comments and trailing commas where a client takes them."""

    def loads(self, text: str) -> Any:
        """As `Form`."""
        return _Document(text).root.value if text.strip() else {}

    def with_entry(self, text: str, path: Path, value: Mapping[str, Any]) -> str:
        """As `Form`; objects are made on the way to it."""
        if not text.strip():
            text = "{}\n"
        entry: Any = value
        document = _Document(text)
        node, done = document.root, 0
        for key in path:
            document.require_object(node, path[:done])
            member = document.member(node, key)
            if member is None:
                break
            node, done = member, done + 1
        else:
            return text[: node.at] + _dumped(entry, _indent_of(text, node.at), text) + text[node.end :]
        for key in reversed(path[done + 1 :]):
            entry = {key: entry}
        return _inserted(document, node, path[done], entry)

    def without_entry(self, text: str, path: Path) -> str:
        """As `Form`."""
        document = _Document(text)
        node: Member | None = document.root
        for key in path[:-1]:
            if node is not None:
                document.require_object(node, ())
                node = document.member(node, key)
        member = None if node is None else document.member(node, path[-1])
        return text if node is None or member is None else _taken_out(document, node, member)


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
        """The text after an empty mapping: `{}`, or nothing at all."""
        written = node.end_mark.index > node.start_mark.index
        return text[node.end_mark.index if written else self._line_end(text, node.start_mark.index) :]

    def _behind_entry(self, text: str, node: Any) -> int:
        """Start of the line after a value: comments below a block belong to the next entry."""
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

_STRING = r'"(?:[^"\\]|\\.)*"'
_NOTES = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING = re.compile(rf"{_STRING}|[\[{{]\s*,|,(?=\s*[}}\]])", re.DOTALL)
"""Commas before a closing bracket, and lookalikes."""

_BLANKS = re.compile(r"[ \t\r\n]*")


class BadJson(Unusable):
    """A JSON error with its line."""

    def __init__(self, problem: str, text: str, at: int) -> None:
        self.line = text.count("\n", 0, at) + 1
        super().__init__(f"line {self.line}: {problem}")


class Member(Struct, frozen=True):
    """A key and where it starts, its value from `at` to `end`, and the place of the comma after it."""

    key: str
    start: int
    at: int
    end: int
    value: Any
    comma: int | None = None


@final
class _Document:
    """A text with the places of its members; comments and trailing commas are blanked for the decoder."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._plain = _blanked(_NOTES, text)
        self._strict = _blanked(_TRAILING, self._plain)
        try:
            value = _DECODER.decode(self._strict)
        except json.JSONDecodeError as error:
            raise BadJson(f"{error.msg[:1].lower()}{error.msg[1:]}", text, error.pos) from None
        except RecursionError:
            raise BadJson("it is nested too deeply", text, 0) from None
        start = self._skip(self._strict, 0)
        self.root = Member("", start, start, _DECODER.raw_decode(self._strict, start)[1], value)

    def members(self, node: Member) -> list[Member]:
        """The members of an object; no other value has any."""
        found: list[Member] = []
        at = self._skip(self._strict, node.at + 1)
        while isinstance(node.value, dict) and self._strict[at] == '"':
            key, stop = _DECODER.raw_decode(self._strict, at)
            start = self._skip(self._strict, self._skip(self._strict, stop) + 1)
            value, end = _DECODER.raw_decode(self._strict, start)
            comma = self._skip(self._plain, end)
            is_there = self._plain[comma] == ","
            found.append(Member(key, at, start, end, value, comma if is_there else None))
            at = self._skip(self._strict, comma + is_there)
        return found

    def member(self, node: Member, key: str) -> Member | None:
        """The one with that key. Raises BadJson if there are two."""
        found = [member for member in self.members(node) if member.key == key]
        if len(found) > 1:
            raise BadJson(f'"{key}" is there twice', self.text, found[1].start)
        return found[0] if found else None

    def require_object(self, node: Member, path: Sequence[str]) -> None:
        """Raises BadJson if a value is something else."""
        if not isinstance(node.value, dict):
            what = f"{'.'.join(path)} is not an object" if path else "it is not an object"
            raise BadJson(what, self.text, node.at)

    def _skip(self, text: str, at: int) -> int:
        blanks = _BLANKS.match(text, at)
        assert blanks is not None
        return blanks.end()


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    """The text with blanks for matches outside of strings, at the same places."""
    return pattern.sub(lambda one: one[0] if one[0][0] in '"[{' else re.sub(r"[^\n]", " ", one[0]), text)


def _no_constant(name: str) -> Any:
    raise Unusable(f"{name} is not a value")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _inserted(document: _Document, node: Member, key: str, value: Any) -> str:
    text, members = document.text, document.members(node)
    newline = _newline(text)
    close = node.end - 1
    outer = _indent_of(text, node.at)
    if not members:
        inner = outer + _unit(text)
        noted = bool(text[node.at + 1 : close].strip())
        head = text[:close].rstrip(" \t\r\n") if noted else text[: node.at + 1]
        body = f"{newline}{inner}{json.dumps(key)}: {_dumped(value, inner, text)}{newline}{outer}"
        return head + body + text[close:]
    first, last = members[0], members[-1]
    inner = _indent_of(text, first.start)
    if text[: first.start].rpartition("\n")[2].strip():
        inner = outer + _unit(text)  # its members are on the line of the bracket
    entry = f"{newline}{inner}{json.dumps(key)}: {_dumped(value, inner, text)}"
    after = last.end if last.comma is None else last.comma + 1
    # The rest of the last member's line, such as a comment, stays with it.
    stop = text.find("\n", after, close)
    head = text[: last.end] + ("," if last.comma is None else "") + text[last.end : after]
    if stop < 0:
        return head + text[after:close].rstrip() + entry + newline + outer + text[close:]
    tail = text[after:stop].rstrip("\r")
    return head + tail + entry + text[after + len(tail) :]


def _taken_out(document: _Document, node: Member, member: Member) -> str:
    text, members = document.text, document.members(node)
    at = members.index(member)
    start, end = member.start, member.end if member.comma is None else member.comma + 1
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip():
        start = line
        stop = _SPACES.match(text, end)
        assert stop is not None
        if text.startswith("\n", stop.end()):
            end = stop.end() + 1
    before = members[at - 1].comma if member.comma is None and at > 0 else None
    if before is not None:
        return text[:before] + text[before + 1 : start] + text[end:]
    return text[:start] + text[end:]


_SPACES = re.compile(r"[ \t\r]*")


def _dumped(value: Any, indent: str, text: str) -> str:
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    return (_newline(text) + indent).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """The indentation of one level in this text."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else "  "


def _indent_of(text: str, at: int) -> str:
    """The white space that the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
