"""apply_patch of opencode: its words to the letter, and what it does otherwise."""

from __future__ import annotations

import pytest

from tests.contracts.opencode.calling import refused, room, said, stored
from tests.each import each

FAILED = "apply_patch verification failed: "


def v4a(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


@pytest.mark.clause("opencode.patch")
@each("wrapped", ["{}", "cat <<'EOF'\n{}\nEOF", "  {}\n\n"])
def test_the_files_are_listed(wrapped: str) -> None:
    patch = v4a(
        *("*** Add File: n/new.txt", "+one", "+two", "*** Delete File: gone.txt"),
        *("*** Update File: /workspace/a.txt", "@@", "-b", "+B", " c"),
        *("*** Update File: old.txt", "*** Move to: d/moved.txt", "@@", "-x", "+X"),
    )
    with room({"a.txt": "a\nb\nc\n", "gone.txt": "", "old.txt": "x\n"}) as space:
        assert said(space, "apply_patch", patchText=wrapped.format(patch)) == (
            "Success. Updated the following files:\nA n/new.txt\nD gone.txt\nM a.txt\nM d/moved.txt"
        )
        assert stored(space, "n/new.txt") == b"one\ntwo\n"
        assert stored(space, "a.txt") == b"a\nB\nc\n"
        assert stored(space, "d/moved.txt") == b"X\n"


@pytest.mark.clause("opencode.patch")
def test_added_and_moved_files_replace_those_that_are_there() -> None:
    with room({"a.txt": "a\n", "b.txt": "b\n"}) as space:
        said(space, "apply_patch", patchText=v4a("*** Add File: a.txt", "+new"))
        assert stored(space, "a.txt") == b"new\n"
        said(
            space,
            "apply_patch",
            patchText=v4a("*** Update File: a.txt", "*** Move to: b.txt", "@@", "-new", "+x"),
        )
        assert stored(space, "b.txt") == b"x\n"


@pytest.mark.clause("opencode.patch.errors")
@pytest.mark.clause("opencode.patch-together")
@each(
    ("patch", "words"),
    [
        ("", "patchText is required"),
        (v4a(), "patch rejected: empty patch"),
        (v4a("*** Frobnicate: x"), FAILED + "no hunks found"),
        ("hello", FAILED + "Error: Invalid patch format: missing Begin/End markers"),
        (
            v4a("*** Update File: n.txt", "@@", "-a", "+b"),
            FAILED + "Failed to read file to update: /workspace/n.txt",
        ),
        (
            v4a("*** Update File: a.txt", "@@ zebra", "-a", "+b"),
            FAILED + "Error: Failed to find context 'zebra' in /workspace/a.txt",
        ),
        (
            v4a("*** Update File: a.txt", "@@", " a", "-zebra", "+b"),
            FAILED + "Error: Failed to find expected lines in /workspace/a.txt:\na\nzebra",
        ),
    ],
)
def test_what_fails_has_its_words_and_changes_nothing(patch: str, words: str) -> None:
    with room({"a.txt": "a\nb\n"}) as space:
        assert refused(space, "apply_patch", patchText=patch) == words
        if "Update" in patch:
            both = patch.replace("*** Begin Patch", "*** Begin Patch\n*** Add File: first.txt\n+x")
            assert refused(space, "apply_patch", patchText=both) == words
            assert space.call("read", {"filePath": "first.txt"}, contract_name="opencode").is_error
        assert stored(space, "a.txt") == b"a\nb\n"


@pytest.mark.clause("opencode.patch.steps")
@pytest.mark.clause("opencode.patch-context")
@pytest.mark.clause("opencode.patch-end")
@pytest.mark.clause("opencode.patch-places")
@pytest.mark.clause("opencode.patch-lines")
def test_lines_are_found_leniently_but_never_at_two_places() -> None:
    with room({"a.txt": "x\u2014y  \r\nkeep\r\n  z\r\nlast", "b.txt": "a\nb\na\n"}) as space:
        said(space, "apply_patch", patchText=v4a("*** Update File: a.txt", "@@", " x-y", "-keep", "+k", " z"))
        assert stored(space, "a.txt") == "x\u2014y  \r\nk\r\n  z\r\nlast".encode()
        said(space, "apply_patch", patchText=v4a("*** Update File: a.txt", "-last", "+end"))
        assert stored(space, "a.txt").endswith(b"\r\nend\r\n")
        twice = v4a("*** Update File: b.txt", "@@", "-a", "+A")
        assert "Found 2 places for hunk 1, at lines 1, 3" in refused(space, "apply_patch", patchText=twice)
        said(space, "apply_patch", patchText=twice.replace("@@", "@@ b"))
        assert stored(space, "b.txt") == b"a\nb\nA\n"
        unmarked = v4a("*** Update File: b.txt", "@@", "-a", "A")
        assert "line 5" in refused(space, "apply_patch", patchText=unmarked)


def test_only_new_lines_go_to_the_end() -> None:
    with room({"a.txt": "a\n"}) as space:
        said(space, "apply_patch", patchText=v4a("*** Update File: a.txt", "@@", "+b"))
        assert stored(space, "a.txt") == b"a\nb\n"


def test_policy_holds_for_patches() -> None:
    with room({"a.txt": "a\n", ".env": "KEY=1\n"}) as space:
        for section in (
            ("*** Delete File: .env",),
            ("*** Update File: a.txt", "*** Move to: .env", "@@", "-a", "+b"),
        ):
            found = refused(space, "apply_patch", patchText=v4a(*section))
            assert "KEY" not in found
            assert found.startswith(f"{FAILED}Access to /workspace/.env is denied by the rule ")
            assert found.endswith("Continue without this file, or ask the user to change the policy.")
        assert "outside" in refused(space, "apply_patch", patchText=v4a("*** Add File: ../x", "+y"))
