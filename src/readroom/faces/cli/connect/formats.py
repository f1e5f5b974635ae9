"""One entry in a text of settings, in the three forms that clients keep them in.

Each form puts an entry in, takes it out and gives the value of the whole text, and
leaves every other line as it is, comments too.  Knows no file and no client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, final

from readroom.faces.cli.connect import jsonc

Path: TypeAlias = Sequence[str]


class Unusable(ValueError):
    """What is wrong with a text of settings, and in which line where that is known."""


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
        return self._told(jsonc.loads, text) if text.strip() else {}

    def with_entry(self, text: str, path: Path, value: Mapping[str, Any]) -> str:
        """As `Form`."""
        return str(self._told(jsonc.with_member, text, path, value))

    def without_entry(self, text: str, path: Path) -> str:
        """As `Form`."""
        return str(self._told(jsonc.without_member, text, path))

    def _told(self, work: Any, *arguments: Any) -> Any:
        try:
            return work(*arguments)
        except jsonc.BadJson as error:
            raise Unusable(str(error)) from None


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

        self.loads(text)
        document: Any = tomlkit.parse(text)
        table = document
        for key in path[:-1]:
            if key not in table:
                table[key] = tomlkit.table(is_super_table=True)
            table = self._table(table[key], key)
        entry = tomlkit.table()
        for name, setting in value.items():
            entry[name] = setting
        table[path[-1]] = entry
        return tomlkit.dumps(document)

    def without_entry(self, text: str, path: Path) -> str:
        """As `Form`."""
        import tomlkit

        self.loads(text)
        document: Any = tomlkit.parse(text)
        table = document
        for key in path[:-1]:
            if key not in table:
                return text
            table = self._table(table[key], key)
        if path[-1] not in table:
            return text
        table.remove(path[-1])
        return tomlkit.dumps(document)

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
        """Where the line behind a value begins: comments below a block belong to what follows."""
        while isinstance(node.value, list) and node.value and not node.flow_style:
            last = node.value[-1]
            node = last[1] if isinstance(last, tuple) else last
        return min(len(text), self._line_end(text, node.end_mark.index) + 1)

    def _line_end(self, text: str, at: int) -> int:
        feed = text.find("\n", at)
        return len(text) if feed < 0 else feed

    def _dumped(self, value: Mapping[str, Any], column: int) -> str:
        import yaml

        text = yaml.safe_dump(
            value, sort_keys=False, allow_unicode=True, default_flow_style=False, width=1000
        )
        return "".join(f"{' ' * column}{line}\n" for line in text.rstrip("\n").split("\n"))
