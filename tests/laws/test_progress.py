"""Laws 2 and 3: following `next` alone shows everything once, and the bytes can be made from it."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from readroom.core.limits import MIN_REPLY_BYTES, SMALL_FILE_BYTES, Limits
from readroom.core.stores.memory import MemoryStore
from readroom.core.text.encodings import NUL_SIGN
from readroom.core.values import Reply
from tests.laws.driving import STORES, Driver, StoreName, fact, header_row, hints, shown, stored
from tests.laws.places import BUCKETS, PlaceName
from tests.laws.texts import split as stored_lines
from tests.laws.texts import texts
from tests.suites import daily

NAMES = ["a.txt", "src/b.py", "c.json", "table.csv", "d.min.js", "e e.md", "tab\there", "“x”\u202e.log"]

every_store = daily(1, "store", STORES)

caps = st.sampled_from([MIN_REPLY_BYTES, 2500, 4096, 32 * 1024])
limits = st.builds(Limits, line_chars=st.sampled_from([1, 7, 100, 2000]))


def split(text: str) -> list[str]:
    """The lines of a text as replies show them."""
    return stored_lines(text.replace("\0", NUL_SIGN))


@dataclass(frozen=True)
class Sample:
    """A file, how it has to be read, and what it holds."""

    path: str
    data: bytes
    text: str
    encoding: str | None


CODECS = [
    ("utf-8", b""),
    ("utf-8", b"\xef\xbb\xbf"),
    ("utf-16-le", b"\xff\xfe"),
    ("utf-16-be", b"\xfe\xff"),
    ("utf-16-le", b""),
    ("utf-32-be", b"\0\0\xfe\xff"),
    ("latin-1", b""),
    ("shift_jis", b""),
]


ORDINARY = set(map(chr, range(32, 127))) | set("\t\n\ré日本")
"""Characters whose encoding is found: others may make a short file look like noise."""


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    """A text file in some encoding, which is named unless the bytes leave no doubt of it."""
    codec, bom = draw(st.sampled_from(CODECS))
    text = draw(texts).encode(codec, "ignore").decode(codec).replace("\ufeff", "")
    doubtful = not set(text) <= ORDINARY or (codec != "utf-8" and not bom)
    name_it = doubtful or draw(st.booleans())
    return Sample(draw(st.sampled_from(NAMES)), bom + text.encode(codec), text, codec if name_it else None)


def options(sample: Sample) -> dict[str, object]:
    return {} if sample.encoding is None else {"encoding": sample.encoding}


@every_store
@given(sample=samples(), cap=caps, limits=limits, limit=st.none() | st.integers(1, 9))
def test_reading_on_shows_every_line_and_column_once(
    store: StoreName, sample: Sample, cap: int, limits: Limits, limit: int | None
) -> None:
    with stored(store, {sample.path: sample.data}) as files:
        driver = Driver(files, reply_bytes=cap, limits=limits)
        found = driver.lines(sample.path, offset=1, limit=limit, **options(sample))
        assert list(found.values()) == split(sample.text)


@every_store
@given(sample=samples(), cap=caps, start=st.integers(-30, 30).filter(bool))
def test_reading_on_from_anywhere_shows_the_rest(
    store: StoreName, sample: Sample, cap: int, start: int
) -> None:
    lines = split(sample.text)
    with stored(store, {sample.path: sample.data}) as files:
        driver = Driver(files, reply_bytes=cap)
        reply = driver.call("read_file", path=sample.path, offset=start, **options(sample))
        if start > max(len(lines), 1):
            assert fact(reply, "error")["facts"]["total_lines"] == len(lines)
            return
        found = driver.lines(sample.path, offset=start, **options(sample))
        first = start if start > 0 else max(1, len(lines) + start + 1)
        assert found == dict(list(enumerate(lines, 1))[first - 1 :])


@given(sample=samples(), cap=caps)
def test_pages_joined_and_encoded_again_are_the_file(sample: Sample, cap: int) -> None:
    """With the facts alone; in a file of mixed line ends only the lines can be compared."""
    with stored("memory", {sample.path: sample.data}) as files:
        driver = Driver(files, reply_bytes=cap)
        reply = driver.call("read_file", path=sample.path, **options(sample))
        lines = driver.lines(sample.path, offset=1, **options(sample))
        if fact(reply, "newline") == "mixed":
            assert "\n".join(lines.values()) == "\n".join(split(sample.text))
            return
        end = "\r\n" if fact(reply, "newline") == "crlf" else "\n"
        codec = fact(reply, "encoding")
        mark = "\ufeff".encode(codec) if fact(reply, "bom") else b""
        # The sign of a NUL is the one character that is not the file's own; no text here has it.
        unended = mark + end.join(lines.values()).replace(NUL_SIGN, "\0").encode(codec)
        ended = unended + end.encode(codec)
        assert sample.data == (ended if len(ended) == fact(reply, "size_bytes") else unended)


@every_store
@given(sample=samples(), cap=caps, limits=limits, limit=st.none() | st.integers(1, 9))
def test_reading_on_from_a_tail_shows_all_above_it_once(
    store: StoreName, sample: Sample, cap: int, limits: Limits, limit: int | None
) -> None:
    """A log is read from its end, and `next` goes up; a negative limit does so in every text."""
    with stored(store, {"x.log": sample.data, "x.txt": sample.data}) as files:
        driver = Driver(files, reply_bytes=cap, limits=limits)
        lines = dict(enumerate(split(sample.text), 1))
        assert driver.lines("x.log", limit=limit, **options(sample)) == lines
        assert driver.lines("x.txt", limit=-(limit or 7), **options(sample)) == lines


@every_store
@given(sample=samples(), cap=caps, limits=limits, limit=st.none() | st.integers(1, 9))
def test_a_tail_and_what_it_left_out_are_the_whole_file(
    store: StoreName, sample: Sample, cap: int, limits: Limits, limit: int | None
) -> None:
    with stored(store, {"x.log": sample.data}) as files:
        driver = Driver(files, reply_bytes=cap, limits=limits)
        reply = driver.call("read_file", path="x.log", limit=limit, **options(sample))
        lines = dict(enumerate(split(sample.text), 1))
        assert fact(reply, "read_mode") == "tail"
        found = driver.whole_lines(reply)
        assert found == {number: lines[number] for number in found}
        assert not lines or max(found) == len(lines)
        for item in fact(reply, "omitted"):
            if item["what"] != "lines":
                continue
            assert 1 <= item["from"] <= item["to"] < min(found, default=0)
            above = driver.lines(item["call"]["arguments"].pop("path"), **item["call"]["arguments"])
            assert min(above) == item["from"]
            found = {number: text for number, text in above.items() if number <= item["to"]} | found
        assert found == lines


@given(sample=samples(), cap=caps, limits=limits)
def test_a_later_window_of_a_table_carries_its_header(sample: Sample, cap: int, limits: Limits) -> None:
    lines = split(sample.text)
    with stored("memory", {"t.tsv": sample.data}) as files:
        driver = Driver(files, reply_bytes=cap, limits=limits)
        for reply in driver.pages("read_file", path="t.tsv", limit=3, **options(sample)):
            first = fact(reply, "lines_shown")["start"]
            header = header_row(reply)
            assert (header is None) == (first <= 1 or fact(reply, "columns_shown") is not None)
            if fact(reply, "columns_shown"):
                assert header is None
            elif header is not None:
                number, _, text = header.partition("\t")
                cut = [item for item in fact(reply, "omitted") if item.get("line") == 1]
                assert number == "1"
                if cut:
                    kept = cut[0]["from"] - 1
                    assert text == f"{lines[0][:kept]} [+{len(lines[0]) - kept} chars]"
                    assert cut[0]["to"] == len(lines[0])
                    (rest,) = shown(driver.follow(cut[0]["call"])).values()
                    assert lines[0][kept:].startswith(rest)
                else:
                    assert text == lines[0]


@every_store
@settings(max_examples=8, phases=[Phase.generate])  # shrinking megabytes takes minutes
@given(sample=samples(), cap=st.sampled_from([MIN_REPLY_BYTES, 11_500]), at=st.integers(0, 3))
def test_a_large_file_is_read_as_a_small_one(
    store: StoreName | PlaceName, sample: Sample, cap: int, at: int
) -> None:
    """Above the size that is decoded whole, with lines across every block border."""
    codec = sample.encoding or ("utf-8" if not sample.data[:1] > b"\xf0" else None)
    if codec is None or not sample.text:
        return
    unit = len("\n".encode(codec))
    long = "long " * (SMALL_FILE_BYTES // (5 * unit) + 20)
    filler = "".join(f"line {number}\n" for number in range(SMALL_FILE_BYTES // (9 * unit)))
    text = [long + "\n" + sample.text, sample.text + "\n" + long, filler + sample.text, filler + long][at]
    with stored(store, {"big.txt": text.encode(codec)}) as files:
        driver = Driver(files, reply_bytes=cap)
        lines = split(text)
        reply = driver.call("read_file", path="big.txt", offset=-40, encoding=codec)
        # A bucket sends its end alone, so lines have numbers from there until all above are counted.
        total = fact(reply, "total_lines")
        assert total == len(lines) or (total is None and store in BUCKETS)
        assert fact(reply, "size_bytes") == len(text.encode(codec)) > SMALL_FILE_BYTES
        first = max(1, len(lines) - 39) if total else -min(40, len(lines))
        tail = dict(enumerate(lines[-40:], first))
        found = shown(reply)
        assert all(tail[number].startswith(shown_text) for number, shown_text in found.items())
        assert driver.lines("big.txt", offset=-40, encoding=codec) == tail


LONG = "x" * 2100 + "ab日" * 9000
"""Cut in a page, and too long for the reply that shows the rest."""


@every_store
@settings(max_examples=7)
@given(
    lines=st.lists(st.sampled_from(["", "short", "y" * 2001, "z" * 5000, LONG]), min_size=1, max_size=30),
    cap=caps,
    limit=st.none() | st.integers(1, 9),
)
def test_what_long_lines_were_cut_of_is_shown_in_every_kind_of_text(
    store: StoreName, lines: list[str], cap: int, limit: int | None
) -> None:
    text = "".join(f"{number} {line}\n" for number, line in enumerate(lines))
    wanted = dict(enumerate(split(text), 1))
    body = ["def f():", *(f"    {line!r}" for line in lines)]
    code = "\n".join(["a = 1", *body, "b = 2"])
    made = {name: text.encode() for name in ("a.csv", "a.tsv", "a.log", "a.md", "a.min.js", "a.jsonl")}
    files = {**made, "b.txt.gz": gzip.compress(text.encode()), "c.py": code.encode()}
    with stored(store, files) as held:
        driver = Driver(held, reply_bytes=cap)
        for name in files.keys() - {"c.py"}:
            assert driver.lines(name, limit=limit) == wanted, name
        assert driver.lines("c.py", symbol="f", limit=limit) == dict(enumerate(body, 2))


@settings(max_examples=10)
@given(grown=st.lists(st.sampled_from(["", "+", "+\nmore\n", LONG, f"\n{LONG}\n"]), max_size=5))
def test_what_is_appended_while_it_is_read_comes_behind_what_was_there(grown: list[str]) -> None:
    """Calls hold all their state: nothing is shown twice and nothing is passed over."""
    text = f"short\n{LONG}\nshort\n{LONG}"
    held, left = MemoryStore({"a.txt": text}), list(grown)

    class Appending(Driver):
        def call(self, tool: str, /, **arguments: object) -> Reply:
            nonlocal text
            if left:
                text += left.pop()
                held.put("a.txt", text)
            return super().call(tool, **arguments)

    found = Appending(held, reply_bytes=MIN_REPLY_BYTES).lines("a.txt")
    now = split(text)
    assert list(found.values())[:-1] == now[: len(found) - 1]
    assert now[len(found) - 1].startswith(found[len(found)])


@given(sample=samples(), cap=caps)
def test_a_known_hash_gets_a_receipt_for_exactly_that_content(sample: Sample, cap: int) -> None:
    with stored("memory", {sample.path: sample.data}) as files:
        driver = Driver(files, reply_bytes=cap)
        first = driver.call("read_file", path=sample.path, **options(sample))
        known = fact(first, "content_hash")
        for given_hash in (known, known[:19], known.removeprefix("sha256:")[:12].upper()):
            receipt = driver.call("read_file", path=sample.path, known_hash=given_hash, **options(sample))
            assert fact(receipt, "not_modified") is True
            assert fact(receipt, "content_hash") == known
            assert list(hints(receipt)) == []
            assert receipt.text.count("\n") == 1
        other = "sha256:" + os.urandom(32).hex()
        assert (
            fact(
                driver.call("read_file", path=sample.path, known_hash=other, **options(sample)),
                "not_modified",
            )
            is False
        )
