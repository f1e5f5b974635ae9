"""What a person's terminal gets beside replies."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from readroom.cli.output import ProgressLine, visible


class Terminal(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        return True


class Clock:
    """Time that passes when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_long_work_shows_how_far_it_is_and_leaves_nothing_behind() -> None:
    out, clock = Terminal(), Clock()
    with ProgressLine(out, clock) as progress:
        progress(1, None, "entries")
        assert out.getvalue() == ""
        clock.now = 1.0
        progress(1000, None, "entries")
        progress(1001, None, "entries")
        clock.now = 2.0
        progress(2000, 5000, "bytes")
    assert out.getvalue() == "\r1,000 entries\x1b[K\r2,000 of 5,000 bytes\x1b[K\r\x1b[K"


def test_short_work_and_other_streams_show_nothing() -> None:
    for out in (Terminal(), io.StringIO()):
        clock = Clock()
        with ProgressLine(out, clock) as progress:
            progress(1, 2, "bytes")
            clock.now = 1.0 if not isinstance(out, Terminal) else 0.0
            progress(2, 2, "bytes")
        assert out.getvalue() == ""


@given(st.text(st.characters(codec=None)))
def test_nothing_that_drives_a_terminal_is_left(text: str) -> None:
    shown = visible(text)
    assert all(char in "\t\n" or char.isprintable() or char >= "\xa0" for char in shown)
    assert not set("\x1b\x9b\r\u202e\u2066\u2028") & set(shown)
    shown.encode()
    assert visible(shown) == shown


def test_escapes_say_what_was_there() -> None:
    assert visible("a\tb\n\x1b[2J\x9b\u202e\udcffé\\") == "a\tb\n\\x1b[2J\\x9b\\u202e\\udcffé\\"
