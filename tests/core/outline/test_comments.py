"""Runs of comments that a scanner would go through again and again: what they cost, and what they leave."""

from __future__ import annotations

from readroom.core.deadline import Deadline
from readroom.core.engine.read.outline import LARGE_OUTLINE_BYTES
from readroom.core.outline import build
from readroom.core.outline.grammars import grammar_of
from readroom.core.outline.grammars.python import OUTLINE_COMMENT_LINES

COMMENT = "    # some comment line\n"


def test_a_definition_has_the_comments_above_it_up_to_a_number() -> None:
    for lines in (3, OUTLINE_COMMENT_LINES - 1, 3 * OUTLINE_COMMENT_LINES):
        text = "class A:\n    x = 1\n\n" + COMMENT * lines + "    def f(self):\n        return 1\n"
        f = build(text, "python", Deadline(60)).items[0].members[-1]
        above = min(lines, OUTLINE_COMMENT_LINES)
        assert (f.name, f.start, f.line, f.end) == ("f", 4 + lines - above, 4 + lines, 5 + lines)


def test_a_large_file_of_comments_has_its_outline() -> None:
    """Of 20,000 comment lines in a function the parser made minutes of work."""
    part = "def f():\n" + COMMENT * 20_000 + "    pass\n"
    text = part * (2 * 1024 * 1024 // len(part))
    assert len(text) < LARGE_OUTLINE_BYTES
    outline = build(text, "python", Deadline(60), isolated=True)
    assert [item.end - item.start for item in outline.items] == [20_001] * text.count("def f")
    assert outline.partial is None


def test_what_only_looks_like_comments_stays() -> None:
    """The end of a text may stand in a line that begins like one."""
    lines = "# in a text\n" * 200
    text = 'x = """\n' + lines + '# """\n' + "def f(): pass\n"
    assert [item.name for item in build(text, "python", Deadline(60)).items] == ["x", "f"]
    prepare = grammar_of("python").prepare
    assert prepare is not None
    assert prepare(text.encode()) == text.encode()
    assert len(prepare((lines * 3).encode())) == len(lines * 3)
