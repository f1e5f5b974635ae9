"""find_relevant over members of archives: they are ranked like the files that they would be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from readroom import Workspace
from readroom.core.stores.memory import MemoryStore
from tests.core.engine.find.test_find import STOCK
from tests.documents.archives.test_archives import PACKERS, SECRET
from tests.documents.reading.making import pdf
from tests.documents.test_find import passages
from tests.each import each
from tests.hostile import containers as hostile
from tests.laws.driving import Driver, fact

TREE = {path: text.encode() for path, text in STOCK.items()}


def ranked(files: Mapping[str, bytes], **arguments: Any) -> list[dict[str, Any]]:
    reply = Driver(MemoryStore(files)).call(
        "find_relevant", query="total price of items", explain=True, **arguments
    )
    return [dict(file) for file in fact(reply, "files")]


@each("name", sorted(PACKERS))
def test_members_are_ranked_as_the_files_of_a_folder_would_be(name: str) -> None:
    packed = {name: PACKERS[name](TREE)}
    unpacked = ranked({f"{name}!/{path}": data for path, data in TREE.items()})
    assert unpacked
    assert ranked(packed, include=["archives"]) == unpacked
    assert ranked(packed, path=name) == ranked(packed, path=f"{name}!")
    assert [file["path"] for file in ranked(packed, path=name)][:2] == [file["path"] for file in unpacked[:2]]
    assert ranked(packed) == []


def test_members_lie_among_files_in_archives_in_archives_too() -> None:
    inner = hostile.zipped({"deep.py": b"def needle_deep(): pass\n", "book.pdf": pdf([["needle page"]])})
    files = {"a.py": b"needle = 1\n", "b.zip": hostile.zipped({"inner.zip": inner}), "c.py": b"needle = 2\n"}
    driver = Driver(MemoryStore(files))
    seen = [
        path
        for reply in driver.pages(
            "find_relevant", query="needle", include=["archives"], documents=True, budget_tokens=100
        )
        for path, *_ in passages(reply)
    ]
    assert sorted(seen) == ["a.py", "b.zip!/inner.zip!/book.pdf", "b.zip!/inner.zip!/deep.py", "c.py"]


def test_an_archive_is_looked_at_where_scope_lets_it() -> None:
    data = hostile.zipped({"x.py": b"needle\n", "x.md": b"needle\n"})
    files = {"a.zip": data, "out/b.zip": data, ".c.zip": data, ".gitignore": b"out/\n"}
    driver = Driver(MemoryStore(files))

    def found(**arguments: Any) -> list[str]:
        reply = driver.call("find_relevant", query="needle", **arguments)
        return sorted(path for path, *_ in passages(reply))

    assert found(include=["archives"]) == ["a.zip!/x.md", "a.zip!/x.py"]
    assert found(include=["archives"], glob="*.py") == ["a.zip!/x.py"]
    assert found(include=["archives", "ignored"], glob="*.py") == ["a.zip!/x.py", "out/b.zip!/x.py"]
    assert found(include=["archives", "hidden"], glob="*.py") == [".c.zip!/x.py", "a.zip!/x.py"]


def test_what_has_the_name_of_members_is_meant() -> None:
    files = {"a.zip": hostile.zipped({"x.py": b"needle inside\n"}), "a.zip!/x.py": b"needle outside\n"}
    reply = Driver(MemoryStore(files)).call("find_relevant", query="needle", include=["archives"])
    assert "outside" in reply.text
    assert "inside" not in reply.text


def test_a_damaged_archive_is_named_and_the_rest_is_ranked() -> None:
    files = {"a.zip": hostile.zipped({"x.py": b"needle\n"})[:60], "b.py": b"needle\n"}
    reply = Driver(MemoryStore(files)).call("find_relevant", query="needle", include=["archives"])
    assert sorted(path for path, *_ in passages(reply)) == ["a.zip!/x.py", "b.py"]
    (warning,) = fact(reply, "warnings")
    assert warning["code"] == "unreadable"
    assert "a.zip: cut short, so members may be missing" in warning["detail"]


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_denied_members_and_archives_change_no_byte_of_any_reply(name: str) -> None:
    """But for the hash of no shown file: members have their own."""
    seen = {"open.txt": b"open words of a token\n", "x/more.txt": b"words\n"}
    rules = {".readroomignore": b"/secrets/\n/hushed.zip\n"}
    canary = {path: data for path, data in SECRET.items() if path not in seen}

    def replies(inside: Mapping[str, bytes], more: Mapping[str, bytes]) -> list[object]:
        files = {name: PACKERS[name](inside), **rules, **more}
        asked: list[Mapping[str, Any]] = [{"explain": True}, {"output": "files"}, {"path": name}]
        with Workspace(MemoryStore(files)) as room:
            every = ["archives", "hidden", "ignored"]
            found = [room.find("token canary51e2 plan words", **{"include": every, **each}) for each in asked]
        return [(reply.text, dict(reply.facts)) for reply in found]

    plain = replies(seen, {})
    assert replies({**seen, **canary}, {"hushed.zip": hostile.zipped(canary)}) == plain


def test_members_that_only_a_password_opens_are_named() -> None:
    locked = bytearray(hostile.zipped(TREE))
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = locked.find(mark)
        while at >= 0:
            locked[at + flags] |= 1
            at = locked.find(mark, at + 1)
    driver = Driver(MemoryStore({"locked.zip": bytes(locked), "open.txt": b"the total price of items\n"}))
    for arguments in ({"path": "locked.zip"}, {"include": ["archives"]}):
        reply = driver.call("find_relevant", query="total price of items", **arguments)
        (warning,) = fact(reply, "warnings")
        assert warning["code"] == "unreadable"
        assert "locked.zip!/README.md: it is encrypted" in warning["detail"]
        assert [file["path"] for file in fact(reply, "files")] == ["open.txt"] * ("include" in arguments)
