"""Windows over a file: together they are the text, and every position leads back to its byte."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.core.errors import Cancelled
from readroom.core.text.edits.windows import MARGIN, Window, windows
from readroom.core.text.encodings import UTF8, decode
from readroom.core.text.hashes import Hashing
from readroom.core.text.line_index import Shrunk
from tests.core.text.files import contents, encodings
from tests.core.text.held import HeldBytes


def _begins(found: list[Window], window: Window) -> int:
    return sum(w.next_start for w in found[: found.index(window)])


@given(st.data())
def test_every_position_leads_to_the_byte_where_its_character_begins(data: st.DataObject) -> None:
    encoding = data.draw(encodings())
    content = data.draw(contents(encoding))
    window = Window(content, 0, encoding, seen=0, lines_before=0, last=True)
    for position in data.draw(st.permutations(range(len(window.plain) + 1))):
        window.anchor(position - data.draw(st.integers(0, MARGIN)))
        at = window.byte(position)
        left = window.text[: window.raw(position)]
        if at is not None:
            assert decode(content[:at], encoding) == left
            assert decode(content[at:], encoding) == window.text[len(left) :]
        else:
            # No byte lies there: two characters of the text are one unit of the encoding.
            assert all(
                decode(content[:cut], encoding) + decode(content[cut:], encoding) != window.text
                for cut in range(len(content) + 1)
                if len(decode(content[:cut], encoding)) == len(left)
            )


@given(st.data())
def test_the_cut_into_windows_is_invisible(data: st.DataObject) -> None:
    encoding = data.draw(encodings())
    content = encoding.bom + data.draw(contents(encoding))
    step, overlap = data.draw(st.sampled_from([1, 2, 3, 5, 8])), data.draw(st.integers(0, 5))
    hashing = Hashing()
    found = list(windows(HeldBytes(content), encoding, overlap, Deadline(), hashing, step=step))
    (whole,) = windows(HeldBytes(content), encoding, overlap, Deadline())
    begins = 0
    for window in found:
        assert whole.plain.startswith(window.plain, begins) or window.text.endswith("\r")
        assert window.start == whole.byte(begins)
        assert 0 <= window.seen <= max(0, window.done)
        assert window.lines_before == whole.plain.count("\n", 0, begins)
        begins += window.next_start
    assert begins + len(found[-1].plain) == len(whole.plain)
    assert hashing.digits == hashlib.sha256(content).hexdigest()
    assert hashing.size == len(content)


@given(st.data())
def test_a_text_up_to_the_overlap_ends_in_the_new_part_of_exactly_one_window(data: st.DataObject) -> None:
    encoding = data.draw(encodings())
    content = encoding.bom + data.draw(contents(encoding))
    overlap = data.draw(st.integers(1, 5))
    found = list(windows(HeldBytes(content), encoding, overlap, Deadline(), step=3))
    (whole,) = windows(HeldBytes(content), encoding, overlap, Deadline())
    for end in range(1, len(whole.plain) + 1):
        start = max(0, end - overlap)
        holders = [
            window
            for window in found
            if _begins(found, window) + window.seen < end <= _begins(found, window) + window.done
        ]
        assert len(holders) == 1
        begins = _begins(found, holders[0])
        assert begins <= start
        assert holders[0].plain[start - begins : end - begins] == whole.plain[start:end]


def test_a_file_that_shrinks_is_noticed() -> None:
    with pytest.raises(Shrunk):
        list(windows(HeldBytes(b"abc" * 100, truncated_to=10), UTF8, 1, Deadline()))


def test_a_cancelled_pass_ends() -> None:
    deadline = Deadline()
    passing = windows(HeldBytes(b"abc\n" * 100), UTF8, 1, deadline, step=64)
    next(passing)
    deadline.cancel()
    with pytest.raises(Cancelled):
        list(passing)
