"""Characters that end a line for others stay in the text, and a warning says that no line ends there."""

from __future__ import annotations

from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.each import each


@each("char", ["\r", "\u2028", "\u2029", "\x85", "\f", "\v"])
def test_a_break_inside_a_line_is_shown_as_it_is_and_warned_of(char: str) -> None:
    workspace = Workspace(MemoryStore({"a.txt": f"one\nfoo{char}2\tbar\n"}))
    for reply in (workspace.read("a.txt"), workspace.grep("foo")):
        assert f"2\tfoo{char}2\tbar\n" in reply.text
        assert "line break at 2:4" in reply.text
        warnings = reply.facts["warnings"]
        assert isinstance(warnings, list)
        assert [(item["code"], item["line"], item["column"]) for item in warnings] == [("line_break", 2, 4)]


def test_pages_of_older_sources_are_not_warned_of() -> None:
    workspace = Workspace(MemoryStore({"a.c": "int x;\n\f\nint y;\n\fint z;\n"}))
    assert workspace.read("a.c").facts["warnings"] == []


def test_what_is_hidden_in_a_match_is_said_with_its_file() -> None:
    workspace = Workspace(MemoryStore({"a.py": "x = 1\n", "b.py": "if admin\u202e: # x\n"}))
    reply = workspace.grep("x")
    assert "Warning: bidi control at 1:9 (b.py: U+202E RIGHT-TO-LEFT OVERRIDE)." in reply.text
