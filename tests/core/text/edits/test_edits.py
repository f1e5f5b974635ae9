"""Where old texts stand and what becomes of them: the text as asked for, every other byte as it was."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.core.limits import MATCHES, MATCHES_NAMED
from readroom.core.text.edits import MATCHES_COUNTED, Scan, TooManyMatches, prepare, scan
from readroom.core.text.edits.splice import NotEncodable, broken_line, encode, new_lines, new_size, spliced
from readroom.core.text.encodings import UTF8, Encoding, decode, named
from readroom.core.text.hashes import Hashing
from readroom.core.values.changes import Edit
from tests.core.text.files import contents, encodings, texts
from tests.core.text.held import HeldBytes


def search(data: bytes, encoding: Encoding, *edits: Edit, step: int = 1 << 20) -> Scan:
    changes = [prepare(edit, bom=bool(encoding.bom)) for edit in edits]
    return scan(HeldBytes(data), encoding, changes, Deadline(), Hashing(), step=step)


def apply(data: bytes, found: Scan) -> bytes:
    return b"".join(spliced(HeldBytes(data), found.splices, Deadline(), Hashing()))


def edited(data: bytes, *edits: Edit, encoding: Encoding = UTF8) -> bytes:
    found = search(data, encoding, *edits)
    assert found.crossing is None
    assert all(place.count for place in found.found)
    return apply(data, found)


def plain(data: bytes, encoding: Encoding) -> str:
    return decode(data[len(encoding.bom) :], encoding).replace("\r\n", "\n")


class TestLaws:
    @given(st.data())
    def test_the_text_becomes_what_was_asked_for_and_all_else_keeps_its_bytes(
        self, draw: st.DataObject
    ) -> None:
        encoding = draw.draw(encodings())
        data = encoding.bom + draw.draw(contents(encoding))
        text = plain(data, encoding)
        start = draw.draw(st.integers(0, len(text)))
        old = text[start : start + draw.draw(st.integers(1, 6))]
        new = draw.draw(texts(encoding)).replace("\r", "")
        assume(old and old != new and not any("\ud800" <= char <= "\udfff" for char in old))
        found = search(data, encoding, Edit(old, new), step=draw.draw(st.sampled_from([1, 3, 64])))
        (place,) = found.found
        assume(place.count == 1)
        at = next(at for at in _all(text, old) if text.count("\n", 0, at) + 1 == place.lines[0])
        if broken_line(HeldBytes(data), encoding, found.splices, found.ragged) is not None:
            return
        after = apply(data, found)
        # A carriage return alone and a new line feed after it become one line end: compared without them.
        hits = [_joined(text[:at] + new + text[at + len(old) :]) for at in _all(text, old)]
        assert _joined(plain(after, encoding)) in hits
        first, last = _outside(data, encoding, text, at, old)
        if len(hits) == 1:
            assert after.startswith(data[:first])
            assert after.endswith(data[last:])
        assert len(after) == new_size(len(data), found.splices)

    @given(st.data())
    def test_how_the_file_is_cut_into_windows_is_invisible(self, draw: st.DataObject) -> None:
        encoding = draw.draw(encodings())
        data = encoding.bom + draw.draw(contents(encoding))
        edits = [
            Edit(draw.draw(texts(encoding, min_size=1, max_size=3)), draw.draw(texts(encoding)), every)
            for every in draw.draw(st.lists(st.booleans(), min_size=1, max_size=3))
        ]
        assume(all(prepare(edit, bom=False).old for edit in edits))
        whole = search(data, encoding, *edits)
        for step in (1, 2, 5, 9):
            cut = search(data, encoding, *edits, step=step)
            assert cut == whole

    @given(st.data())
    def test_replacing_every_place_is_what_str_replace_does(self, draw: st.DataObject) -> None:
        encoding = draw.draw(encodings())
        data = draw.draw(contents(encoding, sound=True))
        encoding = Encoding(encoding.name, unit=encoding.unit)
        old = draw.draw(texts(encoding, min_size=1, max_size=2)).replace("\r\n", "\n")
        new = draw.draw(texts(encoding)).replace("\r\n", "\n")
        found = search(data, encoding, Edit(old, new, replace_all=True))
        assume(_units_are_characters(data, encoding) and "\r" not in old + new)
        assert _joined(plain(apply(data, found), encoding)) == _joined(
            plain(data, encoding).replace(old, new)
        )
        assert found.found[0].count == plain(data, encoding).count(old)

    @given(st.data())
    def test_line_and_line_end_counts_are_those_of_the_changed_file(self, draw: st.DataObject) -> None:
        encoding = draw.draw(encodings())
        data = encoding.bom + draw.draw(contents(encoding, sound=True))
        old = draw.draw(texts(encoding, min_size=1, max_size=2))
        found = search(data, encoding, Edit(old, draw.draw(texts(encoding)), replace_all=True))
        after = plain(apply(data, found), encoding)
        assume("\r" not in after)
        lines = new_lines(HeldBytes(data), encoding, found.line_feeds, found.splices)
        assert lines == after.count("\n") + (not after.endswith("\n") and bool(after))

    @given(st.data())
    def test_a_file_of_one_line_end_keeps_it(self, draw: st.DataObject) -> None:
        encoding = draw.draw(encodings())
        lines = draw.draw(st.lists(texts(encoding, max_size=3), min_size=1, max_size=5))
        end = draw.draw(st.sampled_from(["\n", "\r\n"]))
        text = end.join(line.replace("\r", "").replace("\n", "") for line in lines) + end
        data = encoding.bom + text.encode(encoding.name)
        old = draw.draw(texts(encoding, min_size=1, max_size=2)).replace("\r", "")
        new = draw.draw(texts(encoding)).replace("\r", "")
        assume(old)
        found = search(data, encoding, Edit(old, new, replace_all=True))
        after = decode(apply(data, found)[len(encoding.bom) :], encoding)
        assert after.count("\r\n") == (after.count("\n") if end == "\r\n" else 0)

    @given(st.data())
    def test_one_pass_hashes_the_file(self, draw: st.DataObject) -> None:
        encoding = draw.draw(encodings())
        data = encoding.bom + draw.draw(contents(encoding))
        hashing, original = Hashing(), Hashing()
        change = prepare(Edit("a", "b", replace_all=True), bom=False)
        found = scan(HeldBytes(data), encoding, [change], Deadline(), hashing)
        list(spliced(HeldBytes(data), found.splices, Deadline(), original))
        assert hashing.digits == original.digits == hashlib.sha256(data).hexdigest()


def _joined(text: str) -> str:
    return text.replace("\r", "")


def _all(text: str, old: str) -> list[int]:
    return [at for at in range(len(text)) if text.startswith(old, at)]


def _outside(data: bytes, encoding: Encoding, text: str, at: int, old: str) -> tuple[int, int]:
    """Bytes before the match, and where those after it begin: the longest and shortest prefix that fit."""
    prefix, through = text[:at], text[: at + len(old)]
    cuts = range(len(encoding.bom), len(data) + 1)
    first = max((cut for cut in cuts if _is(data, encoding, cut, prefix)), default=len(encoding.bom))
    last = min((cut for cut in cuts if _is(data, encoding, cut, through)), default=len(data))
    return first, last


def _is(data: bytes, encoding: Encoding, cut: int, expected: str) -> bool:
    return plain(data[:cut], encoding) == expected and plain(data[:cut], encoding) + plain(
        encoding.bom + data[cut:], encoding
    ) == plain(data, encoding)


def _units_are_characters(data: bytes, encoding: Encoding) -> bool:
    return "か゚" not in decode(data, encoding)


class TestLineEnds:
    def test_a_line_feed_matches_either_line_end(self) -> None:
        assert edited(b"a\r\nb\r\nc\nd\n", Edit("a\nb", "a\nB")) == b"a\r\nB\r\nc\nd\n"
        assert edited(b"a\r\nb\r\nc\nd\n", Edit("c\nd", "c\nD")) == b"a\r\nb\r\nc\nD\n"

    def test_a_carriage_return_and_line_feed_match_either_line_end(self) -> None:
        assert edited(b"a\nb\n", Edit("a\r\nb", "x\r\ny")) == b"x\ny\n"
        assert edited(b"a\r\nb\r\n", Edit("a\r\nb", "x\r\ny")) == b"x\r\ny\r\n"

    def test_new_lines_get_the_line_end_of_the_place(self) -> None:
        assert edited(b"a\r\nb\nc\r\n", Edit("a", "a\na2")) == b"a\r\na2\r\nb\nc\r\n"
        assert edited(b"a\r\nb\nc\r\n", Edit("b", "b\nb2")) == b"a\r\nb\nb2\nc\r\n"

    def test_a_last_line_without_an_end_takes_that_of_the_line_before(self) -> None:
        assert edited(b"a\r\nb", Edit("b", "b\nc")) == b"a\r\nb\r\nc"

    def test_a_file_without_line_ends_gets_line_feeds(self) -> None:
        assert edited(b"a", Edit("a", "a\nb")) == b"a\nb"

    def test_lines_that_stay_in_a_replaced_block_keep_their_own_ends(self) -> None:
        assert (
            edited(b"a\r\nb\nc\r\n", Edit("a\nb\nc\n", "X\na\nb\nY\nc\nZ\n")) == b"X\r\na\r\nb\nY\nc\r\nZ\r\n"
        )

    def test_a_mixed_block_gets_its_line_ends_in_order(self) -> None:
        assert edited(b"a\r\nb\nc", Edit("a\nb\nc", "1\n2\n3")) == b"1\r\n2\n3"

    def test_a_missing_final_line_feed_stays_missing(self) -> None:
        assert edited(b"a\nb", Edit("b", "c")) == b"a\nc"

    def test_a_carriage_return_alone_is_a_character(self) -> None:
        assert edited(b"a\rb\n", Edit("a\rb", "c")) == b"c\n"

    @pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be", "utf-32-le"])
    def test_wide_line_ends_are_found_at_their_units(self, name: str) -> None:
        # U+0A0D and U+0D0A hold the bytes of line ends across their borders.
        text = "\u0a0d\u0d0a one\r\n\u0a0d two\r\n"
        expected = text.replace("one", "one\r\nmore")
        assert edited(text.encode(name), Edit("one", "one\nmore"), encoding=named(name)) == expected.encode(
            name
        )

    @pytest.mark.parametrize("far", [400, 600, 70_000])
    def test_the_line_end_is_found_however_the_file_is_cut(self, far: int) -> None:
        data = b"first\r\n" + b"x" * far + b" here " + b"y" * far + b"\n"
        near = search(data, UTF8, Edit(" here ", " a\nb "))
        assert near == search(data, UTF8, Edit(" here ", " a\nb "), step=64)


class TestMarks:
    def test_a_mark_in_the_old_text_stands_for_that_of_the_file(self) -> None:
        encoding = Encoding("utf-8", b"\xef\xbb\xbf")
        data = b"\xef\xbb\xbfone\n"
        assert edited(data, Edit("\ufeffone", "\ufefftwo"), encoding=encoding) == b"\xef\xbb\xbftwo\n"
        assert edited(data, Edit("\ufeffone", "two"), encoding=encoding) == b"\xef\xbb\xbftwo\n"
        assert edited(data, Edit("one", "two"), encoding=encoding) == b"\xef\xbb\xbftwo\n"


class TestBytes:
    def test_a_match_across_two_characters_of_a_multibyte_text_is_none(self) -> None:
        # In Shift-JIS 表 is 95 5C, and 5C alone is a backslash.
        data = "表 \\".encode("shift_jis")
        assert edited(data, Edit("\\", "/"), encoding=named("shift_jis")) == "表 /".encode("shift_jis")

    def test_a_character_with_two_spellings_keeps_its_own(self) -> None:
        # cp932 has ∵ twice, 81 E6 and 87 9A; encoding it again gives the first.
        data = b"\x87\x9a one \x87\x9a two"
        after = edited(data, Edit("∵ one ∵ two", "∵ 1 ∵ two"), encoding=named("cp932"))
        assert after == b"\x87\x9a 1 \x87\x9a two"

    def test_broken_bytes_beside_a_change_stay(self) -> None:
        assert edited(b"caf\xe9 = 1\n", Edit(" = 1", " = 2")) == b"caf\xe9 = 2\n"
        assert edited(b"caf\xe9 = 1\n", Edit("caf", "tea")) == b"tea\xe9 = 1\n"

    def test_new_text_that_would_join_with_a_broken_byte_is_found_out(self) -> None:
        encoding = named("gbk")
        data = "中文".encode("gbk") + b"\x81 x\n"
        found = search(data, encoding, Edit(" x", "Ax"))
        assert broken_line(HeldBytes(data), encoding, found.splices, found.ragged) == 1

    def test_a_deletion_that_would_join_two_halves_is_found_out(self) -> None:
        data = b"line\n\xe2x\x82\xac\n"
        found = search(data, UTF8, Edit("x", "", replace_all=True))
        assert broken_line(HeldBytes(data), UTF8, found.splices, found.ragged) == 2

    def test_neighbouring_changes_beside_a_broken_byte_are_judged_together(self) -> None:
        data = b"ab\xe9cd\n"
        found = search(data, UTF8, Edit("ab", "AB"), Edit("cd", "CD"))
        assert broken_line(HeldBytes(data), UTF8, found.splices, found.ragged) is None
        assert apply(data, found) == b"AB\xe9CD\n"


class TestCounts:
    def test_the_lines_of_the_first_matches_are_named(self) -> None:
        found = search(b"a\n" * 50, UTF8, Edit("a", "b"))
        assert found.found[0].count == 50
        assert found.found[0].lines == list(range(1, MATCHES_NAMED + 1))

    def test_matches_that_overlap_make_a_text_ambiguous(self) -> None:
        assert search(b"aaa", UTF8, Edit("aa", "b")).found[0].count == 2

    def test_counting_ends_at_a_bound(self) -> None:
        (place,) = search(b"a" * 10_000, UTF8, Edit("a", "b")).found
        assert place.more
        assert place.count == MATCHES_COUNTED + 1

    def test_too_many_places_to_change_are_refused(self) -> None:
        with pytest.raises(TooManyMatches):
            search(b"a" * (MATCHES + 1), UTF8, Edit("a", "b", replace_all=True))

    def test_two_edits_of_one_place_are_named_with_its_line(self) -> None:
        crossing = search(b"x\nabc\n", UTF8, Edit("ab", "1"), Edit("bc", "2")).crossing
        assert crossing is not None
        assert (crossing.first, crossing.second, crossing.line) == (0, 1, 2)

    def test_edits_that_touch_do_not_overlap(self) -> None:
        assert edited(b"abcd", Edit("ab", "1"), Edit("cd", "2")) == b"12"

    def test_an_edit_is_not_matched_against_the_result_of_another(self) -> None:
        assert edited(b"a b", Edit("a", "b"), Edit("b", "c")) == b"b c"


class TestEncode:
    def test_a_character_that_the_encoding_lacks_is_named(self) -> None:
        with pytest.raises(NotEncodable) as refused:
            encode("a→b", named("cp1252"))
        assert (refused.value.char, refused.value.index) == ("→", 1)

    def test_a_character_that_would_read_back_as_another_is_refused(self) -> None:
        with pytest.raises(NotEncodable) as refused:
            encode("1¥", named("shift_jis"))
        assert (refused.value.char, refused.value.index) == ("¥", 1)

    @given(st.data())
    def test_what_is_encoded_reads_back(self, draw: st.DataObject) -> None:
        encoding = draw.draw(encodings())
        text = draw.draw(st.text(max_size=8))
        try:
            data = encode(text, encoding)
        except NotEncodable:
            return
        assert decode(data, encoding) == text
