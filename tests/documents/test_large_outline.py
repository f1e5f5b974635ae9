"""Outlines of texts that are too large for the process itself: made elsewhere, the same as of small ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom import NoOutline, Workspace
from readroom.core.engine.read.outline import LARGE_OUTLINE_BYTES
from readroom.core.limits.outline import OUTLINE_BYTES
from readroom.documents.large import UnsoundOutline, received
from tests.each import each

BEGIN = "class First:\n    LIMIT = 3\n\n    def method(self):\n        return 1\n\n\n"
FILLING = 'call("' + "x" * 97 + '")\n'


def _large(root: Path, size: int, name: str = "large.py", encoding: str = "utf-8") -> int:
    """A module of that many bytes with two definitions; the number of lines before the second."""
    lines = size // len(FILLING) + 1
    text = BEGIN + FILLING * lines + "\n\ndef last(a, b):\n    return a\n"
    (root / name).write_bytes(text.encode(encoding))
    return text[: text.index("def last")].count("\n")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_large_file_has_an_outline_and_its_definitions_are_read_by_name(
    tmp_path: Path, encoding: str
) -> None:
    above = _large(tmp_path, OUTLINE_BYTES + 1, encoding=encoding)
    with Workspace(tmp_path) as room:
        outline = room.read("large.py", view="outline").text
        assert f"{above + 1}-{above + 2} def last(a, b)" in outline
        shown = room.read("large.py", symbol="last").text
        assert f"{above + 2}\t    return a\n[end of last]" in shown
        assert "LIMIT = 3" in room.read("large.py", symbol="First.LIMIT").text


def test_what_is_larger_still_is_refused(tmp_path: Path) -> None:
    (tmp_path / "huge.py").write_bytes(FILLING.encode() * (LARGE_OUTLINE_BYTES // len(FILLING) + 2))
    with Workspace(tmp_path) as room, pytest.raises(NoOutline, match=f"{LARGE_OUTLINE_BYTES:,} bytes"):
        room.read("huge.py", view="outline")


SOUND = (
    '{"language":"go","items":[{"kind":"function","name":"f","signature":"f()","start":1,"end":2,"line":1}]}'
)


@each(
    "text",
    [
        "",
        "[]",
        SOUND[:-1],
        SOUND.replace('"go"', '"c"'),
        SOUND.replace('"end":2', '"end":3'),
        SOUND.replace('"line":1', '"line":9'),
        SOUND.replace('"start":1', '"start":0'),
        SOUND.replace('"f()"', '"f\\n[end of outline]"'),
        SOUND.replace('"f"', '"' + "f" * 1000 + '"'),
        "[" * 100_000,
    ],
)
def test_what_the_process_answers_is_believed_by_nobody(text: str) -> None:
    assert len(received([SOUND[:40], SOUND[40:]], "go", 2).items) == 1
    with pytest.raises(UnsoundOutline):
        received([text], "go", 2)
