"""Giant, minified, generated, binary and encrypted files neither crowd out the rest nor stall it."""

from __future__ import annotations

import random

import pytest

from readroom import Workspace
from readroom.errors import Binary, TooLarge
from readroom.limits import Limits
from readroom.limits.find import FIND_FILE_BYTES, FIND_LINE_CHARS
from readroom.stores.memory import MemoryStore
from tests.laws.driving import Driver, fact

PLAIN = {"src/door.py": b"def open_door(key):\n    return key.turn()\n"}
NOISE = random.Random(1).randbytes(200_000)


def paths(room: Workspace, question: str = "open door key", **more: str) -> list[str]:
    return [file["path"] for file in fact(room.find(question, output="files", **more), "files")]


@pytest.mark.parametrize(
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


def test_files_that_are_too_large_are_named_with_the_search_that_helps() -> None:
    driver = Driver(MemoryStore({**PLAIN, "huge.log": b"door opened with key\n" * (FIND_FILE_BYTES // 20)}))
    reply = driver.call("find_relevant", query="open door key")
    assert "1 file too large to rank" in reply.text
    (left,) = [item for item in fact(reply, "omitted") if item["reason"] == "too_large"]
    assert left["call"]["tool"] == "grep_files"
    assert not driver.follow(left["call"]).is_error


def test_a_large_file_alone_is_ranked_and_a_giant_one_refused_in_words() -> None:
    line = b"a line of a long log\n"
    large = line * (FIND_FILE_BYTES // len(line) + 9) + b"the door opened with a key\n"
    room = Workspace(MemoryStore({"large.log": large, "giant.log": large * 9}))
    (file,) = fact(room.find("door key", path="large.log", budget_tokens=2000), "files")
    assert file["passages"][-1]["end"] == large.count(b"\n")
    with pytest.raises(TooLarge, match="giant"):
        room.find("door key", path="giant.log")


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
