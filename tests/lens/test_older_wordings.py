"""Replies of ours in the words of today and of earlier versions: the same lines are read from both."""

from __future__ import annotations

import pytest

from readroom.lens.evidence.ours import is_cut, is_reply, lines

HASH = "sha256:0123456789ab"
TAIL = (
    "app.log | lines -2 to -1, {} (more above) | "
    + HASH
    + "\n-2\tfirst\n-1\tlast\n[3 bytes above not counted yet.]"
)
CUT_LINE = f"a.py | lines 1-2 of 9 (more below, long lines cut) | {HASH}\n1\tone [+5 chars]\n2\ttwo\n[{{}}]"
MATCHES = "2 matches in 1 file{}\na.py\n3\tone\n7\ttwo\n[{}]"
PASSAGES = f"1 passage in 1 file | 5 files {{}}\na.py | lines 3-4 of 9 | {HASH}\n3\tone\n4\ttwo\n[{{}}]"

WORDINGS = [
    (
        TAIL.format("from the end of uncounted lines"),
        TAIL.format("counted from the end"),
        [],
        True,
    ),
    (
        CUT_LINE.format(
            "Line 1 is cut: the next call shows the rest; offset=3 goes on without it. Next: read_file {}"
        ),
        CUT_LINE.format("Line 1 is cut: the next call shows the rest; offset=3 skips it. Next: read_file {}"),
        [(1, "one"), (2, "two")],
        True,
    ),
    (
        CUT_LINE.format("1 cut, 5 characters more of line 1: read_file {}"),
        CUT_LINE.format("1 cut, 5 more characters in line 1: read_file {}"),
        [(1, "one"), (2, "two")],
        True,
    ),
    (
        MATCHES.format(
            "", "Warning: left out (1 hidden (.a)). To search them too: the same call with include=[]."
        ),
        MATCHES.format("", "Not searched: 1 hidden (.a). To include them: the same call with include=[]."),
        [(3, "one"), (7, "two")],
        False,
    ),
    (
        MATCHES.format(
            " (not all files were searched to their end)", "Warning: unfinished (b: not searched to its end)."
        ),
        MATCHES.format(
            " (not all files were searched completely)", "Warning: unfinished (b: not searched completely)."
        ),
        [(3, "one"), (7, "two")],
        True,
    ),
    (
        PASSAGES.format("looked at", "1 document not looked at; with them: find_relevant {}"),
        PASSAGES.format("searched", "1 document not searched; to include them: find_relevant {}"),
        [(3, "one"), (4, "two")],
        False,
    ),
    (
        PASSAGES.format(
            "looked at (not all: out of time)",
            "Time limit: the next call looks at the rest. Next: find_relevant {}",
        ),
        PASSAGES.format(
            "searched (not all: out of time)",
            "Time limit: the next call searches the rest. Next: find_relevant {}",
        ),
        [(3, "one"), (4, "two")],
        True,
    ),
]


@pytest.mark.parametrize(("older", "newer", "shown", "cut"), WORDINGS)
def test_both_wordings_are_read(older: str, newer: str, shown: list[tuple[int, str]], cut: bool) -> None:
    """A record may be of any version."""
    for text in (older, newer):
        assert is_reply(text)
        assert is_cut(text) is cut
        assert [(run.first, *run.lines) for run in lines(text)] == shown
    assert lines(older) == lines(newer)
