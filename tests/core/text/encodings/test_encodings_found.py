"""Encodings that were taken for others: ISO-2022-JP, cp1258, and the export format of journald."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom.core.errors import BrokenPlace
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.laws.driving import STORES, Driver, StoreName, fact, shown, stored

JAPANESE = "件名: テスト\n\n日本語のメールです。\nplain line\nコメント: 終わり\n"
MAIL = JAPANESE.encode("iso2022_jp")

VIETNAMESE = (
    "Kh\u00f4ng th\u00ea\u0309 mo\u031b\u0309 t\u00e2\u0323p tin.\n".replace("o\u031b", "\u01a1")
    + "Ha\u0303y th\u01b0\u0309 la\u0323i v\u01a1\u0301i t\u00ean kh\u00e1c.\n"
    + "Ti\u00ea\u0301ng Vi\u00ea\u0323t c\u01b0\u0309a ng\u01b0\u01a1\u0300i du\u0300ng\n"
)


@pytest.mark.parametrize("name", STORES)
def test_iso_2022_jp_reads_as_what_it_says(name: StoreName) -> None:
    with stored(name, {"mail.txt": MAIL, "z.txt": b"plain line\n"}) as store:
        driver = Driver(store)
        reply = driver.call("read_file", path="mail.txt")
        assert fact(reply, "encoding") == "iso2022_jp"
        assert list(shown(reply).values()) == JAPANESE.splitlines()
        last = driver.call("read_file", path="mail.txt", offset=5)
        assert list(shown(last).values()) == ["コメント: 終わり"]
        found = driver.call("grep_files", pattern="コメント|plain")
        lines = [(file["path"], line["line"]) for file in fact(found, "files") for line in file["lines"]]
        assert lines == [("z.txt", 1), ("mail.txt", 4), ("mail.txt", 5)]


@pytest.mark.parametrize("name", STORES)
def test_words_are_found_in_iso_2022_jp_that_begins_with_much_english(name: StoreName) -> None:
    text = "Header: value\n" * 200 + JAPANESE
    with stored(name, {"mail.txt": text.encode("iso2022_jp")}) as store:
        driver = Driver(store)
        assert shown(driver.call("read_file", path="mail.txt", offset=201))[201] == "件名: テスト"
        for pattern in ("テスト", "plain line", "コメント: 終"):
            found = driver.call("grep_files", pattern=pattern)
            assert [file["path"] for file in fact(found, "files")] == ["mail.txt"]


def test_a_long_iso_2022_jp_file_is_read_to_its_end() -> None:
    lines = [f"{number} 日本語のテキスト" for number in range(60_000)]
    driver = Driver(MemoryStore({"long.txt": "".join(f"{line}\n" for line in lines).encode("iso2022_jp")}))
    reply = driver.call("read_file", path="long.txt", offset=-3)
    assert list(shown(reply).values()) == lines[-3:]
    assert fact(reply, "total_lines") == len(lines)


def test_iso_2022_jp_is_not_edited_and_can_be_replaced() -> None:
    with Workspace(MemoryStore({"mail.txt": MAIL})) as space:
        known = fact(space.read("mail.txt"), "content_hash")
        with pytest.raises(BrokenPlace, match="is not edited"):
            space.edit("mail.txt", known, [{"old_text": "テスト", "new_text": "試験"}])
        assert fact(space.read("mail.txt"), "content_hash") == known
        space.write("mail.txt", JAPANESE.replace("テスト", "試験"), expected_hash=known)
        assert shown(space.read("mail.txt"))[1] == "件名: 試験"
        assert fact(space.read("mail.txt"), "encoding") == "iso2022_jp"


def test_logs_of_terminals_are_not_taken_for_japanese() -> None:
    log = b"\x1b[32mok\x1b[0m \x1b(B done\n\x1b$Bunfinished\n"
    reply = Driver(MemoryStore({"a.log": log})).call("read_file", path="a.log")
    assert fact(reply, "encoding") == "utf-8"


def test_cp1258_is_found_and_edits_keep_its_bytes(tmp_path: Path) -> None:
    data = VIETNAMESE.encode("cp1258")
    (tmp_path / "vi.txt").write_bytes(data)
    with Workspace(tmp_path) as space:
        reply = space.read("vi.txt")
        assert fact(reply, "encoding") == "cp1258"
        assert list(shown(reply).values()) == VIETNAMESE.splitlines()
        known = fact(reply, "content_hash")
        space.edit("vi.txt", known, [{"old_text": "tin.", "new_text": "tin!"}])
    assert (tmp_path / "vi.txt").read_bytes() == data.replace(b"tin.", b"tin!")


JOURNAL = (
    b"__CURSOR=s=abc;i=1\n__REALTIME_TIMESTAMP=1700000000000000\nPRIORITY=6\nMESSAGE=plain needle\n\n"
    b"__CURSOR=s=abc;i=2\nMESSAGE\n" + (16).to_bytes(8, "little") + b"two\nneedles here\n\n"
)


@pytest.mark.parametrize("name", STORES)
def test_an_export_of_journald_is_text_with_control_characters(name: StoreName) -> None:
    with stored(name, {"j.export": JOURNAL, "x.bin": b"\0\0\1\2needle"}) as store:
        driver = Driver(store)
        reply = driver.call("read_file", path="j.export")
        assert "\n4\tMESSAGE=plain needle\n" in reply.text
        assert "control character" in reply.text
        found = driver.call("grep_files", pattern="needle")
        lines = [(file["path"], line["line"]) for file in fact(found, "files") for line in file["lines"]]
        assert lines == [("j.export", 4), ("j.export", 9)]
