"""Giant, minified, generated, binary and encrypted files neither crowd out the rest nor stall it."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import random
from typing import Any

import pytest

from readroom import Workspace
from readroom.core.engine.find.page import FIND_LINE_CHARS
from readroom.core.errors import BadCursor, Binary, TooLarge
from readroom.core.limits import Limits
from readroom.core.limits.find import FIND_FILE_BYTES
from readroom.core.stores.memory import MemoryStore
from tests.each import each
from tests.laws.driving import Driver, fact

PLAIN = {"src/door.py": b"def open_door(key):\n    return key.turn()\n"}
NOISE = random.Random(1).randbytes(200_000)


def paths(room: Workspace, question: str = "open door key", **more: Any) -> list[str]:
    return [file["path"] for file in fact(room.find(question, output="files", **more), "files")]


@each(
    ("name", "data"),
    [
        ("bundle.min.js", b"var door=key;function openDoor(key){return key};" * 3000),
        ("dist/app.js", b"function openDoor(key) { return door; }\n" * 900),
        ("src/door_pb2.py", b"def open_door(key): pass\n" * 500),
        ("package-lock.json", b'{"door": "key", "open": "door"},\n' * 900),
        ("blob.bin", b"open door key " * 99 + NOISE),
        ("secret.gpg", b"\x85\x01\x0c\x03open door key" + NOISE),
        ("door.zip", b"PK\x03\x04open door key" + NOISE),
        ("door.py.gz", b"\x1f\x8b\x08\x00open door key" + NOISE),
    ],
)
def test_what_nobody_wrote_comes_behind(name: str, data: bytes) -> None:
    room = Workspace(MemoryStore({**PLAIN, name: data}))
    assert paths(room)[0] == "src/door.py"
    assert len(room.find("open door key").text) < 12_000


def test_what_is_packed_into_long_lines_comes_behind_whatever_it_is_called() -> None:
    """Every word that is asked for stands in it, thousands of times; paragraphs of documents are as long."""
    packed = "var a=1;" + ";".join(f"function openDoor{number}(key){{return key}}" for number in range(5000))
    rows = b"openDoorKey = 1;\n" * 5000
    room = Workspace(MemoryStore({**PLAIN, "src/app.js": packed.encode(), "src/rows.js": rows}))
    order = paths(room, "how is a door opened with a key")
    assert order.index("src/door.py") < order.index("src/app.js")
    assert order.index("src/rows.js") < order.index("src/app.js")
    explained = room.find("open door key", path="src", glob="app.js", explain=True).text
    assert "generated" in explained.split("\n")[2]


def test_files_that_are_too_large_are_named_with_the_search_that_helps() -> None:
    driver = Driver(MemoryStore({**PLAIN, "huge.log": b"door opened with key\n" * (FIND_FILE_BYTES // 20)}))
    reply = driver.call("find_relevant", query="open door key")
    assert "1 file too large to rank" in reply.text
    (left,) = [item for item in fact(reply, "omitted") if item["reason"] == "too_large"]
    alone = driver.follow(left["call"])
    assert [file["path"] for file in fact(alone, "files")] == ["huge.log"]


LINES = [
    f"2026-11-22 12:00:00 INFO request {number} served by worker {number % 7}" for number in range(60_000)
]
LINES[41_234] = "2026-11-22 12:00:00 ERROR ledger mismatch: totals differ in batch 17"
LOG = "".join(f"{line}\n" for line in LINES)


def test_a_large_log_answers_an_error_message_with_its_lines() -> None:
    assert len(LOG) > FIND_FILE_BYTES
    room = Workspace(MemoryStore({"large.log": LOG}))
    reply = room.find("LedgerMismatch: totals differ", path="large.log")
    assert f"41235\t{LINES[41_234]}" in reply.text.split("\n")
    (file,) = fact(reply, "files")
    assert file["total_lines"] == len(LINES)
    assert file["content_hash"] == "sha256:" + hashlib.sha256(LOG.encode()).hexdigest()
    assert fact(reply, "searched_files") == 1
    numbered = [row.partition("\t") for row in reply.text.split("\n") if "\t" in row]
    assert numbered
    assert all(LINES[int(number) - 1] == line for number, _, line in numbered)


def test_pages_of_a_large_log_show_every_line_with_a_word_once() -> None:
    lines = [line if number % 997 else f"{line} needle" for number, line in enumerate(LINES)]
    driver = Driver(MemoryStore({"large.log": "".join(f"{line}\r\n" for line in lines).encode()}))
    seen: list[int] = []
    for reply in driver.pages("find_relevant", query="needle", path="large.log", budget_tokens=20_000):
        for file in fact(reply, "files"):
            for passage in file["passages"]:
                seen += range(passage["start"], passage["end"] + 1)
    assert len(seen) == len(set(seen))
    assert {number for number, line in enumerate(lines, 1) if "needle" in line} <= set(seen)


def test_a_large_file_of_one_line_or_of_bytes_is_refused_in_words() -> None:
    room = Workspace(MemoryStore({"one.json": b"door " * 600_000, "blob.bin": NOISE * 12}))
    with pytest.raises(TooLarge, match=r"one\.json"):
        room.find("door key", path="one.json")
    with pytest.raises(Binary):
        room.find("door key", path="blob.bin")


@pytest.mark.parametrize("output", ["passages", "outline", "files"])
def test_a_large_file_without_the_word_says_so(output: Any) -> None:
    reply = Workspace(MemoryStore({"large.log": LOG})).find("zebra", path="large.log", output=output)
    assert fact(reply, "shown") == 0
    assert "No file has any of these words." in reply.text


def test_a_binary_file_alone_is_refused() -> None:
    with pytest.raises(Binary):
        Workspace(MemoryStore({"blob.bin": NOISE})).find("door", path="blob.bin")


def test_long_lines_are_cut_and_their_rest_is_reachable() -> None:
    driver = Driver(MemoryStore({"a.txt": b"door " * 1000 + b"\nend\n"}))
    reply = driver.call("find_relevant", query="door")
    (cut,) = [item for item in fact(reply, "omitted") if item["what"] == "columns"]
    assert (cut["from"], cut["to"]) == (FIND_LINE_CHARS + 1, 5000)
    assert driver.follow(cut["call"]).text.count("door") > 100


def test_encodings_other_than_utf8_are_found_by_their_words() -> None:
    room = Workspace(
        MemoryStore(
            {
                "wide.txt": "\ufeffdie Tür öffnen\r\n".encode("utf-16-le"),
                "latin.txt": "die Tür schließen, nicht öffnen\n".encode("latin-1") * 9,
                "jis.txt": "鍵で扉を開ける。\n".encode("shift_jis") * 9,
            }
        )
    )
    assert set(paths(room, "tur offnen")) == {"wide.txt", "latin.txt"}
    assert paths(room, "扉を開ける") == ["jis.txt"]


def test_at_the_deadline_what_was_looked_at_is_ranked_and_the_rest_follows() -> None:
    """With a time limit that has passed at once every call still looks at a file, and pages reach all."""
    files = {f"d{number}/door_{number}.py": b"def open_door(key): pass\n" for number in range(12)}
    driver = Driver(MemoryStore(files), limits=Limits(grep_timeout_s=1e-9))
    first = driver.call("find_relevant", query="open door")
    assert not fact(first, "complete")
    assert fact(first, "reason") == "timeout"
    assert "not all: out of time" in first.text
    seen = [file["path"] for reply in [first, *driver.rest(first)] for file in fact(reply, "files")]
    assert sorted(seen) == sorted(files)


def test_what_waits_of_a_search_that_ran_out_of_time_is_ranked_among_what_was_looked_at() -> None:
    """Whatever time the next call has: scores are those of what was looked at, and no passage is lost."""
    part = "def open_door_{0}(key):\n    # the key of door {0}\n    return key.turn()\n\n\n"
    files = {
        f"d{number}/door.py": "".join(part.format(f"{number}x{at}") for at in range(30)).encode()
        for number in range(4)
    }
    store = MemoryStore(files)
    hasty, patient = Driver(store, limits=Limits(grep_timeout_s=1e-9)), Driver(store)
    first = hasty.call("find_relevant", query="open door key", budget_tokens=300)
    second = hasty.follow(fact(first, "next"))
    assert [fact(reply, "searched_files") for reply in (first, second)] == [1, 1]
    for number, page in enumerate((first, second)):
        (more,) = [one["call"] for one in fact(page, "omitted") if one["what"] == "passages"]
        cursor = more["arguments"]["cursor"]
        assert f'More passages from files searched so far: the same call with cursor="{cursor}".' in page.text
        follower = patient.follow(more)
        replies = [page, follower, *patient.rest(follower)]
        assert {fact(reply, "searched_files") for reply in replies} == {1}
        shown = [
            (file["path"], line)
            for reply in replies
            for file in fact(reply, "files")
            for one in file["passages"]
            for line in range(one["start"], one["end"] + 1)
        ]
        assert {path for path, _ in shown} == {f"d{number}/door.py"}
        assert len(shown) == len(set(shown)) == 30 * 5
        assert fact(replies[-1], "next") is None
        with pytest.raises(BadCursor):
            patient.workspace.find(
                **{**more["arguments"], "cursor": cursor[: -len("d1/door.pyd0/door.py") - 1]}
            )


def test_compressed_files_are_counted_and_named_with_the_call_that_ranks_them() -> None:
    log = b"open the door with a key\n"
    large = gzip.compress(b"".join(b"%d door\n" % number for number in range(FIND_FILE_BYTES // 8)))
    files = {
        "a.log.gz": gzip.compress(log),
        "b.bz2": bz2.compress(log),
        "large.gz": large,
        "broken.gz": gzip.compress(NOISE.hex().encode())[:60_000],
    }
    driver = Driver(MemoryStore({**PLAIN, **files}))
    first = driver.call("find_relevant", query="open door key")
    assert "4 files were not searched: a.log.gz and 3 more" in first.text
    (left,) = fact(first, "omitted")
    both = driver.follow(left["call"])
    assert {"a.log.gz", "b.bz2"} <= {file["path"] for file in fact(both, "files")}
    assert "large.gz: too large to be ranked" in both.text
    assert "broken.gz" in both.text
    again = driver.call("find_relevant", query="open door key")  # as it was kept
    assert fact(again, "omitted") == fact(first, "omitted")
    alone = driver.call("find_relevant", query="open door key", path="a.log.gz")
    assert "1\topen the door with a key" in alone.text
    shown = fact(alone, "files")[0]["content_hash"]
    assert shown == "sha256:" + hashlib.sha256(files["a.log.gz"]).hexdigest()
    assert driver.call("find_relevant", query="door", path="large.gz").is_error


def test_a_text_with_a_nul_in_its_middle_is_a_text() -> None:
    """As for reads and searches."""
    data = b"".join(b"line %d of a log\n" % number for number in range(9_000)) + b"a\0b\nopen door key\n"
    reply = Driver(MemoryStore({"power.log": data})).call("find_relevant", query="open door key")
    assert "9002\topen door key" in reply.text
