"""A patch does here what it does in git, byte for byte, in every encoding and with every line end."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.core.text import encodings
from readroom.core.text.edits.diff import hunks, split
from readroom.core.text.patches import read
from readroom.core.text.patches.applying import applied
from readroom.core.text.patches.fitting import ManyFits, NoFit
from readroom.core.values.changes import DiffStyle

CONTEXT = DiffStyle(context=3, line_chars=10**9)

words = st.sampled_from(
    ["", "a", "b", "  c", "d \t", "-", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "é", "\\ x", "\x0c"]
)
ends = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r\r\n"])
lines = st.lists(st.builds("{}{}".format, words, ends), max_size=12)


@st.composite
def states(draw: st.DrawFn) -> tuple[str, str]:
    """Two states of a text: some lines of the first are replaced, and either may lack its last line end."""
    before = draw(lines)
    after = list(before)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(after)))
        end = draw(st.integers(start, min(len(after), start + 3)))
        after[start:end] = draw(lines)
    bare = st.sampled_from([lambda text: text, lambda text: text.rstrip("\r\n")])
    return draw(bare)("".join(before)), draw(bare)("".join(after))


def patched(before: bytes, patch: str | bytes, encoding: encodings.Encoding) -> bytes:
    (file,) = read(patch)
    if file.action == "add":
        assert file.content is not None
        return file.content.encode("utf-8", "surrogateescape")
    return applied(before, encoding, file, Deadline()).data


def git(folder: Path, *arguments: str, ok: tuple[int, ...] = (0,)) -> bytes:
    command = ["git", "-c", "core.autocrlf=false", "-c", "core.safecrlf=false", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    assert done.returncode in ok, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@given(states(), st.sampled_from(["utf-8", "latin-1"]))
@settings(max_examples=40, deadline=None)
def test_a_diff_of_git_gives_what_it_was_made_of(
    tmp_path_factory: pytest.TempPathFactory, both: tuple[str, str], name: str
) -> None:
    folder = tmp_path_factory.mktemp("git")
    before, after = (text.encode(name) for text in both)
    for side, data in (("a", before), ("b", after)):
        (folder / side).mkdir()
        (folder / side / "x").write_bytes(data)
    patch = git(folder, "diff", "--no-index", "--text", "a/x", "b/x", ok=(0, 1))
    if before != after:
        assert patched(before, patch, encodings.named(name)) == after


@given(
    states(),
    st.sampled_from(["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "latin-1", "cp932", "gb18030"]),
    st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_a_diff_of_texts_holds_in_every_encoding(both: tuple[str, str], name: str, marked: bool) -> None:
    if name == "cp932":
        both = (both[0].replace("é", "ソ"), both[1].replace("é", "ソ"))
    encoding = encodings.named(name)
    if marked and name.startswith("utf"):
        encoding = encodings.with_bom(encoding, "\ufeff".encode(name))
    before, after = (encoding.bom + text.encode(name) for text in both)
    body = unified(*both)
    if body:
        assert patched(before, f"--- a/x\n+++ b/x\n{body}", encoding) == after


def unified(before: str, after: str) -> str:
    """A diff whose lines keep their CR."""
    marked = (split(text.replace("\r", "\ue000")) for text in (before, after))
    made = hunks(*marked, style=CONTEXT)
    return "".join(f"{line}\n" for hunk in made for line in (hunk.heading, *hunk.lines)).replace(
        "\ue000", "\r"
    )


@given(states(), st.lists(st.sampled_from(["new\n", "a\n", "b\n", "\n"]), min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_in_a_file_that_has_moved_a_diff_is_placed_right_or_refused(
    both: tuple[str, str], extra: list[str]
) -> None:
    """Lines are put in front of the file: the result has them in front as well, or the patch is refused."""
    before, after = both
    body = unified(before, after)
    if not body or not before:
        return
    front = "".join(extra)
    try:
        result = patched((front + before).encode(), f"--- a/x\n+++ b/x\n{body}", encodings.UTF8)
    except (NoFit, ManyFits):
        return
    at_line = read(f"--- a/x\n+++ b/x\n{body}")[0].hunks
    shown = (front + before).split("\n")
    if result != (front + after).encode():
        # Only where all hunks fit at their own lines: nothing shows that the file has moved.
        for hunk in at_line:
            assert hunk.first is not None
            old = [line.text for line in hunk.old]
            here = [line.removesuffix("\r") for line in shown[hunk.first - 1 : hunk.first - 1 + len(old)]]
            assert [text.removesuffix("\r") for text in old] == here
