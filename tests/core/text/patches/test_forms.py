"""What each line of a patch says, in both forms, as models, git and mailers write them."""

from __future__ import annotations

import pytest

from readroom.core.errors import BadPatch
from readroom.core.text.patches import hosted, read
from readroom.core.values.patches import FilePatch, PatchHunk, PatchLine
from tests.each import each


def shown(hunk: PatchHunk) -> str:
    return "".join(f"{line.mark}{line.text}{'' if line.end is None else line.end}|" for line in hunk.lines)


def only(patch: str | bytes) -> FilePatch:
    (file,) = read(patch)
    return file


# --- V4A ------------------------------------------------------------------------------------------


def v4a(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def test_sections_of_v4a() -> None:
    files = read(
        v4a(
            *("*** Add File: a b.txt", "+one", "+", "+two"),
            *("*** Delete File: gone.txt",),
            *("*** Update File: old.txt", "*** Move to: new/name.txt", "@@ class A", "@@   def f"),
            *(" x", "-y", "+z"),
            *("*** Update File: end.txt", "@@", "-q", "*** End of File"),
        )
    )  # fmt: skip
    added, deleted, moved, ended = files
    assert added == FilePatch("a b.txt", "add", content="one\n\ntwo\n")
    assert deleted == FilePatch("gone.txt", "delete")
    assert (moved.path, moved.action, moved.destination) == ("old.txt", "move", "new/name.txt")
    assert moved.hunks[0].anchors == ("class A", "  def f")
    assert shown(moved.hunks[0]) == " x|-y|+z|"
    assert ended.hunks[0].at_end
    assert not ended.hunks[0].anchors


@each(
    "wrapped",
    [
        "{}\n",
        "\n\n  {}  \n",
        "<<'EOF'\n{}\nEOF",
        "cat <<EOF\n{}\nEOF\n",
        'apply_patch <<"PATCH"\n{}\nPATCH',
        "```diff\n{}\n```",
        "```\n<<EOF\n{}\nEOF\n```\n",
        "Here it is:\n{}",
    ],
)
def test_wrappers_of_v4a_are_taken_off(wrapped: str) -> None:
    assert only(wrapped.format(v4a("*** Delete File: a"))) == FilePatch("a", "delete")


def test_a_hunk_of_v4a_may_begin_without_a_heading_and_have_bare_empty_lines() -> None:
    hunk = only(
        v4a("*** Update File: a", " x", "", "-y", "+z", "", "*** Delete File: b").replace(
            "*** Delete File: b\n", ""
        )
    ).hunks[0]
    assert shown(hunk) == " x| |-y|+z|"


def test_line_numbers_in_a_heading_of_v4a_are_those_of_a_unified_diff() -> None:
    hunk = only(v4a("*** Update File: a", "@@ -7,2 +7,2 @@ def f():", " x", "-y", "+z")).hunks[0]
    assert (hunk.first, hunk.anchors) == (7, ())


def test_v4a_with_carriage_returns() -> None:
    file = only(v4a("*** Update File: a", "@@ b", "-y", "+z").replace("\n", "\r\n"))
    assert file == FilePatch(
        "a", hunks=(PatchHunk((PatchLine("-", "y", None), PatchLine("+", "z", None)), None, ("b",)),)
    )


@each(
    ("patch", "kind", "says"),
    [
        ("", "form", "empty"),
        ("please change it", "form", "neither"),
        ("*** Begin Patch\n*** Delete File: a\n", "markers", "*** End Patch"),
        (v4a(), "empty", "changes no file"),
        (v4a("*** Update File:", "-x"), "line", "line 2"),
        (v4a("*** Update File: a", "@@", "def f():", "-x"), "line", "line 4"),
        (v4a("*** Add File: a", "+x", "", "+y"), "line", "line 4"),
        (v4a("*** Rename File: a"), "line", "line 2"),
        (v4a("*** Update File: a"), "line", "line 2 has no hunks"),
        (v4a("*** Add File: b", "+x", "*** Update File: a", "@@ f", ""), "line", "line 4 has no hunks"),
    ],
)
def test_what_is_no_v4a_patch_says_which_line(patch: str, kind: str, says: str) -> None:
    with pytest.raises(BadPatch) as failed:
        read(patch)
    assert failed.value.facts["kind"] == kind
    assert says in str(failed.value)


def test_hosted_operations() -> None:
    assert hosted("create_file", "a", "+one\n+two\n") == FilePatch("a", "add", content="one\ntwo\n")
    assert hosted("create_file", "a", "") == FilePatch("a", "add", content="")
    assert hosted("delete_file", "a", None) == FilePatch("a", "delete")
    assert shown(hosted("update_file", "a", "@@ f\n-x\n+y\n").hunks[0]) == "-x|+y|"
    with pytest.raises(BadPatch):
        hosted("update_file", "a", "")


# --- unified diffs --------------------------------------------------------------------------------


def test_a_plain_diff() -> None:
    file = only("--- a/x.py\t2026-01-01 10:00:00\n+++ b/x.py\n@@ -2,2 +2,3 @@ def f\n a\n-b\n+c\n+d\n")
    assert (file.path, file.action) == ("x.py", "update")
    assert file.hunks[0].first == 2
    assert shown(file.hunks[0]) == " a\n|-b\n|+c\n|+d\n|"


@each(
    ("old", "new", "path"),
    [
        ("a/x", "b/x", "x"),
        ("x", "x", "x"),
        ("i/x", "w/x", "x"),
        ("x.orig", "x", "x"),
        ('"a/t\\303\\244b\\tx"', '"b/t\\303\\244b\\tx"', "täb\tx"),
        ("w/x", "w/x", "w/x"),
        ("a/x y", "b/x y", "x y"),
    ],
)
def test_names_of_a_diff(old: str, new: str, path: str) -> None:
    assert only(f"--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n").path == path


GIT = "diff --git a/x b/x\n"


@each(
    ("lines", "file"),
    [
        ("new file mode 100644\nindex 000..e69\n", FilePatch("x", "add", content="")),
        ("deleted file mode 100755\nindex e69..000\n", FilePatch("x", "delete")),
        ("similarity index 100%\nrename from x\nrename to y/z\n", FilePatch("x", "move", "y/z")),
        ("similarity index 100%\ncopy from x\ncopy to y z\n", FilePatch("x", "copy", "y z")),
        (
            "new file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline\n",
            FilePatch("x", "add", content="a\nb"),
        ),
    ],
)  # fmt: skip
def test_extended_lines_of_git(lines: str, file: FilePatch) -> None:
    assert only(GIT + lines) == file
    assert read(f"From 1 Mon Sep 17\nSubject: x\n\n---\n x | 2 +-\n\n{GIT}{lines}-- \n2.39.5\n") == [file]


@each(
    ("lines", "what"),
    [
        ("old mode 100644\nnew mode 100755\n", "a change of the mode to 100755"),
        ("new file mode 100755\n", "a new file of mode 100755"),
        ("new file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+y\n", "a symbolic link"),
        ("deleted file mode 120000\n", "a symbolic link"),
        ("index 1..2 120000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "a symbolic link"),
        ("new file mode 160000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+Subproject 1\n", "a submodule"),
        ("index 1..2 160000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-commit 1\n+commit 2\n", "a submodule"),
        ("index 1..2 100644\nBinary files a/x and b/x differ\n", "binary content"),
        ("index 1..2 100644\nGIT binary patch\nliteral 3\nKcmZ\n\nliteral 0\nHc\n\n", "binary content"),
    ],
)  # fmt: skip
def test_what_is_never_applied_is_named(lines: str, what: str) -> None:
    first, second = read(f"{GIT}{lines}{GIT.replace('x', 'y')}new file mode 100644\n")
    assert first.unsupported == what
    assert second == FilePatch("y", "add", content="")


def test_binary_files_of_a_plain_diff_are_named() -> None:
    assert only("diff -ru a b\nBinary files a/x and b/x differ\n").unsupported == "binary content"


def test_no_newline_belongs_to_the_line_above() -> None:
    hunk = only("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n").hunks[0]
    assert shown(hunk) == "-a|+b\n|"


def test_carriage_returns_are_those_of_the_file_unless_the_headings_have_them() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\r\n+b\r\n"
    assert shown(only(diff).hunks[0]) == "-a\r\n|+b\r\n|"
    whole = diff.replace("\r\n", "\n").replace("\n", "\r\n")
    assert shown(only(whole).hunks[0]) == "-a\n|+b\n|"


def test_bytes_that_are_not_utf8_stay() -> None:
    file = only(b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\xe4\n+\xc3\xa4\n")
    assert file.raw
    assert shown(file.hunks[0]) == "-\udce4\n|+ä\n|"


@each(
    "heading",
    ["@@ -3,9 +3,9 @@", "@@ -3,1 +3,1 @@", "@@ -3 +3 @@", "@@ -3,2 +3,9 @@", "@@ -3,3 +3,3 @@"],
)
@each("following", ["@@ -30,2 +30,2 @@\n p\n-q\n+r\n", "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-q\n+r\n"])
def test_wrong_counts_of_a_heading_make_no_difference_if_something_follows(
    heading: str, following: str
) -> None:
    files = read(f"--- a/x\n+++ b/x\n{heading}\n a\n-b\n+c\n\n d\n{following}")
    assert shown(files[0].hunks[0]) == " a\n|-b\n|+c\n| \n| d\n|"
    assert sum(len(file.hunks) for file in files) == 2


def test_a_heading_without_numbers_is_one() -> None:
    file = only("--- a/x\n+++ b/x\n@@ ... @@\n a\n-b\n+c\n@@ @@\n-d\n")
    assert [(hunk.first, shown(hunk)) for hunk in file.hunks] == [(None, " a\n|-b\n|+c\n|"), (None, "-d\n|")]


def test_a_message_may_quote_names() -> None:
    diff = f"{GIT}--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
    assert only(f"Subject: x\n\n--- a/y\n+++ b/y\n\n{diff}").path == "x"


def test_a_patch_that_may_have_been_cut_is_refused_with_the_right_heading() -> None:
    with pytest.raises(BadPatch) as failed:
        read("--- a/x\n+++ b/x\n@@ -3,4 +3,4 @@\n a\n-b\n+c\n")
    assert "`@@ -3,2 +3,2 @@`" in str(failed.value)
    assert failed.value.facts["kind"] == "cut"


def test_the_signature_of_a_mail_is_no_line() -> None:
    assert (
        shown(only("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n-b\n+c\n-- \n2.39.5\n").hunks[0])
        == " a\n|-b\n|+c\n|"
    )
    removed = "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n a\n-- \n"
    assert shown(only(removed).hunks[0]) == " a\n|-- \n|"


def test_lines_that_look_like_names_are_lines_where_the_counts_say_so() -> None:
    file = only("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n+++ b/y\n a\n")
    assert shown(file.hunks[0]) == "--- a/y\n|+++ b/y\n| a\n|".replace("---", "---")


def test_a_diff_of_a_document_about_patches_is_a_diff() -> None:
    file = only("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n *** Begin Patch\n-a\n+b\n")
    assert shown(file.hunks[0]) == " *** Begin Patch\n|-a\n|+b\n|"


@each(
    ("patch", "says"),
    [
        ("@@ -1 +1 @@\n-a\n+b\n", "hunk of no file"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "names no file"),
        ("--- /dev/null\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "lines that it had before"),
        ("diff --git a/x b/x\nindex 1..2 100644\n", "no hunk for x"),
        ("--- a/x\n+++ b/x\n", "no hunk for x"),
        ("diff --git a/x b/x\n", "no hunk for x"),
    ],
)
def test_what_is_no_diff_says_why(patch: str, says: str) -> None:
    with pytest.raises(BadPatch, match=says):
        read(patch)
