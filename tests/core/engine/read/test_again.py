"""Reads of files that were read before: what is known of their bytes holds for just these bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from readroom import Workspace


def test_other_bytes_under_the_same_name_size_and_times_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\n", encoding="utf-8")
    before = path.stat()
    with Workspace(tmp_path) as workspace:
        first = workspace.read("a.txt")
        path.write_text("two\n", encoding="utf-8")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        second = workspace.read("a.txt")
    assert "1\ttwo" in second.text
    assert first.facts["content_hash"] != second.facts["content_hash"]


def test_a_state_that_was_read_before_others_is_still_compared_with(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\n", encoding="utf-8")
    with Workspace(tmp_path) as workspace:
        known = str(workspace.read("a.txt").facts["content_hash"])
        for text in ("two\n", "three\n"):
            path.write_text(text, encoding="utf-8")
            workspace.read("a.txt")
        edits = [{"old_text": "one", "new_text": "four"}]
        refused = workspace.call("edit_file", {"path": "a.txt", "expected_hash": known, "edits": edits})
    assert refused.is_error
    assert "-one" in refused.text
    assert "+three" in refused.text


def test_a_reply_that_is_given_again_is_not_that_of_another_call(tmp_path: Path) -> None:
    """Facts that a program has changed, a second name, another cap and a new rule: each is seen."""
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    with Workspace(tmp_path) as workspace:
        first = workspace.read("a.txt")
        facts: Any = first.facts
        told = dict(facts)
        facts["lines_shown"]["end"] = 7
        facts["path"] = "another"
        for _ in range(3):
            again = workspace.read("a.txt")
            assert (again, again.facts) == (first, {**told, "lines_shown": {"start": 1, "end": 2}})
        wide = workspace.perform("read_file", {"path": "a.txt"}, reply_bytes=20_000)
        assert wide == first
        os.link(path, tmp_path / "b.txt")
        assert "2 names" in workspace.read("a.txt").text
        os.unlink(tmp_path / "b.txt")
        assert workspace.read("a.txt") == first
        (tmp_path / ".readroomignore").write_text("a.txt\n")
        assert workspace.call("read_file", {"path": "a.txt"}).is_error
