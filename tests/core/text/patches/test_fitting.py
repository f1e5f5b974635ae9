"""Where hunks fit, and what becomes of the lines."""

from __future__ import annotations

import pytest

from readroom.core.deadline import Deadline
from readroom.core.text import encodings
from readroom.core.text.patches import read
from readroom.core.text.patches.applying import NotHeld, applied
from readroom.core.text.patches.fitting import ManyFits, NoFit
from readroom.core.values.patches import EXACT, LENIENT, FilePatch, Fitting
from tests.each import each


def change(data: bytes, patch: str | bytes, fitting: Fitting = EXACT) -> bytes:
    (file,) = read(patch)
    return changed_by(data, file, fitting)


def changed_by(data: bytes, file: FilePatch, fitting: Fitting = EXACT) -> bytes:
    encoding = encodings.detect(data, complete=True)
    assert encoding is not None
    fields = {name: getattr(file, name) for name in file.__struct_fields__}
    return applied(data, encoding, FilePatch(**fields | {"fitting": fitting}), Deadline()).data


def diff(heading: str, *lines: str) -> str:
    return "\n".join(("--- a/x", "+++ b/x", heading, *lines, ""))


def v4a(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", "*** Update File: x", *lines, "*** End Patch"))


AGAIN = b"a\nb\nc\na\nb\nc\n"


def test_a_hunk_is_placed_at_its_line_although_it_fits_elsewhere() -> None:
    assert change(AGAIN, diff("@@ -4,2 +4,2 @@", " a", "-b", "+B")) == b"a\nb\nc\na\nB\nc\n"
    assert change(AGAIN, diff("@@ -1,2 +1,2 @@", " a", "-b", "+B")) == b"a\nB\nc\na\nb\nc\n"


def test_a_hunk_whose_line_does_not_hold_must_fit_once() -> None:
    with pytest.raises(ManyFits) as many:
        change(AGAIN, diff("@@ -2,2 +2,2 @@", " a", "-b", "+B"))
    assert (many.value.number, list(many.value.lines), many.value.count) == (1, [1, 4], 2)
    assert change(b"x\n" + AGAIN, diff("@@ -3,3 +3,3 @@", " c", " a", "-b", "+B")) == b"x\na\nb\nc\na\nB\nc\n"


def test_a_line_that_holds_by_chance_is_refused_where_other_hunks_have_moved() -> None:
    """Three lines more above: the second hunk fits at its old line and three lines below."""
    text = b"n\nn\nn\nhead\n" + b"x\ny\nz\n" * 3
    first = ("@@ -1 +1 @@", "-head", "+HEAD")
    second = ("@@ -5,2 +5,2 @@", " x", "-y", "+Y")
    with pytest.raises(ManyFits) as many:
        change(text, diff(*first, *second))
    assert list(many.value.lines) == [5, 8]
    assert change(text[6:], diff(*first, *second)) == b"HEAD\nx\ny\nz\nx\nY\nz\nx\ny\nz\n"


def test_a_hunk_that_fits_nowhere_is_refused() -> None:
    with pytest.raises(NoFit):
        change(b"a\nb\n", diff("@@ -1,2 +1,2 @@", " a", "-B", "+c"))
    with pytest.raises(NoFit) as before:
        change(b"a\nb\nc\n", diff("@@ -3 +3 @@", "-c", "+C", "@@ -1 +1 @@", "-a", "+A"))
    assert before.value.before == 1


def test_new_lines_without_any_old_ones_have_no_place_in_a_file_with_lines() -> None:
    assert change(b"", diff("@@ -0,0 +1,2 @@", "+a", "+b")) == b"a\nb\n"
    with pytest.raises(NoFit):
        change(b"x\n", diff("@@ -1,0 +2 @@", "+a"))
    with pytest.raises(NoFit):
        change(b"x\n", v4a("@@", "+a"))
    assert change(b"x\n", v4a("@@", "+a"), LENIENT) == b"x\na\n"
    assert change(b"x", v4a("@@", "+a", "*** End of File")) == b"x\na\n"


@each(
    ("data", "lines", "expected"),
    [
        # What has no line end says so, in unified diffs.
        (b"a", ("-a", "\\ No newline at end of file", "+b"), b"b\n"),
        (b"a\n", ("-a", "+b", "\\ No newline at end of file"), b"b"),
        (b"a", ("-a", "\\ No newline at end of file", "+b", "\\ No newline at end of file"), b"b"),
        # Line ends are those of the file; if the patch has them as well, those of the patch.
        (b"a\r\n", ("-a", "+b"), b"b\r\n"),
        (b"a\n", ("-a\r", "+b\r"), b"b\n"),
        (b"a\r\n", ("-a\r", "+b"), b"b\n"),
        (b"a\r\n", ("-a\r", "+b\r"), b"b\r\n"),
        (b"\xef\xbb\xbfa\n", ("-a", "+b"), b"\xef\xbb\xbfb\n"),
        ("\ufeffa\n".encode(), ("-\ufeffa", "+b"), b"b\n"),
        ("\ufeffa\n".encode("utf-16-le"), ("-a", "+ä"), "\ufeffä\n".encode("utf-16-le")),
        ("a\r\n".encode("utf-16"), ("-a", "+ä"), "ä\r\n".encode("utf-16")),
    ],
)
def test_ends_and_marks_of_one_line(data: bytes, lines: tuple[str, ...], expected: bytes) -> None:
    assert change(data, diff("@@ -1 +1 @@", *lines)) == expected


def test_a_missing_remark_about_the_last_line_does_not_fit() -> None:
    with pytest.raises(NoFit):
        change(b"a", diff("@@ -1 +1 @@", "-a", "+b"))
    assert change(b"a", v4a("-a", "+b")) == b"b\n"
    assert change(b"a\nb", v4a("-a", "+c", " b")) == b"c\nb"


def test_a_line_in_front_of_the_first_takes_the_mark() -> None:
    marked = "\ufeffa\r\nb\r\n".encode()
    assert change(marked, v4a("+n", " a")) == "\ufeffn\r\na\r\nb\r\n".encode()
    assert change(marked, v4a("-a")) == "\ufeffb\r\n".encode()


def test_bytes_of_other_lines_stay() -> None:
    words = "Über die Größe der Straße läßt sich streiten, sagt er.\n".encode("latin-1")
    data = words + b"odd \x81 \x8d\nab\r\n" + words + b"last"
    assert change(data, v4a("-ab", "+cd")) == data.replace(b"ab", b"cd")


def test_a_patch_in_bytes_is_in_the_encoding_of_the_file() -> None:
    text = "Über die Größe der Straße läßt sich streiten.\nZweite Zeile für die Prüfung.\n"
    data = text.encode("latin-1")
    patch = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-{}\n+Änderung\n {}\n".format(*text.splitlines())
    expected = b"\xc4nderung\n" + data.partition(b"\n")[2]
    assert change(data, patch.encode("latin-1")) == expected
    assert change(data, patch) == expected
    assert change(data, patch.encode()) == expected
    with pytest.raises(NotHeld) as held:
        change(data, patch.replace("Änderung", "→"))
    assert (held.value.char, held.value.line) == ("→", 1)


def test_steps_of_lenience_in_their_order() -> None:
    data = b"if a:\n    say('x - y')  \n"
    for line in ("    say('x - y')", "say('x - y')", "say(\u2018x \u2013 y\u2019)"):
        with pytest.raises(NoFit):
            change(data, v4a(f"-{line}", "+    pass"))
        assert change(data, v4a(f"-{line}", "+    pass"), LENIENT) == b"if a:\n    pass\n"
    # Unchanged lines stay those of the file.
    assert change(data, v4a(" say('x - y')", "+    pass"), LENIENT) == data + b"    pass\n"


def test_the_first_step_in_which_it_fits_decides_and_two_places_are_refused() -> None:
    assert change(b" a\na\n", v4a("-a", "+b"), LENIENT) == b" a\nb\n"
    for fitting in (EXACT, LENIENT):
        with pytest.raises(ManyFits):
            change(b"a\nx\na\n", v4a("-a", "+b"), fitting)
    with pytest.raises(ManyFits):
        change(b" a\n  a\n", v4a("-a", "+b"), LENIENT)


CLASSES = b"""\
class A:
    def f(self):
        return 1

    def g(self):
        return 1


class B:
    def f(self):
        return 1

    def g(self):
        return 1
"""


@each(
    ("anchors", "line"),
    [
        (("class A:", "    def f(self):"), 3),
        (("class A:", "    def g(self):"), 6),
        (("class B:", "    def f(self):"), 11),
        (("class B:", "def g(self):"), 14),
    ],
)
def test_anchors_name_the_part(anchors: tuple[str, ...], line: int) -> None:
    lines = CLASSES.split(b"\n")
    lines[line - 1] = b"        return 2"
    hunk = (*(f"@@ {anchor}" for anchor in anchors), "-        return 1", "+        return 2")
    assert change(CLASSES, v4a(*hunk)) == b"\n".join(lines)


@each("anchors", [("class A:",), ("    def f(self):",), ("class B:",), ()])
def test_an_anchor_that_leaves_two_places_is_refused(anchors: tuple[str, ...]) -> None:
    hunk = (*(f"@@ {anchor}" for anchor in anchors), "-        return 1", "+        return 2")
    for fitting in (EXACT, LENIENT):
        with pytest.raises(ManyFits):
            change(CLASSES, v4a(*hunk), fitting)


def test_an_anchor_of_a_part_in_braces() -> None:
    data = b"int f(void)\n{\n\treturn 1;\n}\n\nint g(void)\n{\n\treturn 1;\n}\n"
    for name, place in ((b"f", 0), (b"g", 1)):
        parts = data.split(b"1;")
        parts[place] += b"2;"
        parts[1 - place] += b"1;" if place else b""
        expected = parts[0] + (parts[1] + b"1;" if not place else parts[1]) + parts[2]
        hunk = (f"@@ int {name.decode()}(void)", "-\treturn 1;", "+\treturn 2;")
        assert change(data, v4a(*hunk)) == expected


def test_an_anchor_that_is_not_there_or_below_is_refused() -> None:
    with pytest.raises(NoFit) as missing:
        change(CLASSES, v4a("@@ class C:", "-class A:", "+class X:"))
    assert missing.value.anchor == "class C:"
    with pytest.raises(NoFit) as above:
        change(CLASSES, v4a("@@ class B:", "-class A:", "+class X:"))
    assert above.value.anchor is None


def test_two_hunks_may_have_the_same_anchor() -> None:
    data = b"def f():\n    a\n    b\n    c\n"
    assert change(data, v4a("@@ def f():", "-    a", "+    A", "@@ def f():", "-    c", "+    C")) == (
        b"def f():\n    A\n    b\n    C\n"
    )


def test_the_end_of_the_file_is_a_place() -> None:
    assert change(b"a\na\n", v4a("-a", "+b", "*** End of File")) == b"a\nb\n"
    assert change(b"a\nc\n", v4a("-a", "+b", "*** End of File")) == b"b\nc\n"
    with pytest.raises(ManyFits):
        change(b"a\na\nc\n", v4a("-a", "+b", "*** End of File"))


def test_a_huge_file_of_equal_lines_takes_no_time() -> None:
    data = b"}\n" * 400_000
    with pytest.raises(ManyFits) as many:
        change(data, v4a(*["-}"] * 3, "+x"))
    assert many.value.count == 399_998
