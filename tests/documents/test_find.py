"""find_relevant over documents: what it shows stands where it says, and what it left out can be had."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from readroom import Workspace
from readroom.core.limits import MAX_WARNINGS, Limits
from readroom.core.limits.find import FIND_FILE_BYTES
from readroom.core.stores.base import Store
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.documents.find import FIND_DOCUMENT_CHARS
from tests.core.engine.find.test_guard import on_disk
from tests.documents.reading.making import code, markdown, notebook, pdf, printed
from tests.each import each
from tests.hostile import office
from tests.laws.driving import STORES, Driver, StoreName, fact, stored
from tests.suites import daily

PAGES = [
    [f"page {page} line {line} {'needle thread' if line == page else 'hay'}" for line in range(1, 31)]
    for page in range(1, 8)
]
ROWS = "".join(
    f'<row r="{row}"><c t="str"><v>{"name" if row == 1 else f"person {row}"}</v></c>'
    f'<c t="str"><v>{"needle" if row == 77 else row}</v></c></row>'
    for row in range(1, 101)
)
FILES = {
    "a.py": b"def sew():\n    return 'needle'\n",
    "m/book.pdf": pdf(PAGES),
    "n.ipynb": notebook(markdown("# Sewing"), code("a = 'needle'", printed("hay\nneedle\n"))),
    "s.xlsx": office.workbook(ROWS),
}
BROKEN = {"broken.pdf": b"%PDF-1.7\nneedle", "locked.docx": office.encrypted_docx()}


@pytest.fixture(scope="module", params=STORES)
def driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    name: StoreName = request.param
    with stored(name, FILES) as found:
        yield Driver(found)


def passages(reply: Reply) -> list[tuple[str, int | None, int, int]]:
    """File, part, first and last line of each."""
    return [
        (file["path"], each["part"], each["start"], each["end"])
        for file in fact(reply, "files")
        for each in file["passages"]
    ]


def rows(reply: Reply, within: str = "") -> dict[int, str]:
    """The numbered lines of a reply whose numbers stand behind `within`."""
    found = [line.partition("\t") for line in reply.text.split("\n") if line.startswith(within)]
    numbered = [(head.removeprefix(within), text) for head, tab, text in found if tab]
    return {int(number): text for number, text in numbered if number.isdigit()}


@each("budget", [100, 700, 10_000])
def test_pages_show_every_part_once(driver: Driver, budget: int) -> None:
    seen: list[tuple[str, int | None, int, int]] = []
    for reply in driver.pages("find_relevant", query="needle", documents=True, budget_tokens=budget):
        here = passages(reply)
        assert here
        seen += here
    assert len(seen) == len(set(seen))
    assert {(path, part) for path, part, _, _ in seen} >= {
        ("a.py", None),
        ("n.ipynb", 2),
        ("s.xlsx", 1),
        *(("m/book.pdf", page) for page in range(1, 8)),
    }
    lines = [(path, part, line) for path, part, first, last in seen for line in range(first, last + 1)]
    assert len(lines) == len(set(lines))
    assert {line for path, _, line in lines if path == "s.xlsx"} == set(range(1, 101))


def test_a_passage_of_a_document_stands_where_the_named_read_shows_it(driver: Driver) -> None:
    reply = driver.call("find_relevant", query="needle", path="m", documents=True, budget_tokens=6000)
    found = passages(reply)
    assert found
    for path, part, first, last in found:
        read = driver.call("read_file", path=path, pages=str(part), offset=first, limit=last - first + 1)
        here = {number: text for number, text in rows(reply, f"p{part}:").items() if first <= number <= last}
        assert rows(read) == here
    assert f'read_file {{"path":"m/book.pdf","pages":"{found[0][1]}","offset":1}}' in reply.text
    (file,) = fact(reply, "files")
    assert (file["unit"], file["total_parts"], file["total_lines"]) == ("page", 7, None)
    assert file["content_hash"] == fact(driver.call("read_file", path="m/book.pdf"), "content_hash")


def test_rows_of_a_sheet_come_with_its_first_row(driver: Driver) -> None:
    reply = driver.call("find_relevant", query="needle", path="s.xlsx", documents=True, budget_tokens=250)
    found = rows(reply, "p1:")
    assert found[1] == "name\t1"
    assert found[77] == "person 77\tneedle"
    assert len(found) < 20


def test_documents_are_left_out_by_default_and_the_call_with_them_is_named(driver: Driver) -> None:
    reply = driver.call("find_relevant", query="needle")
    assert {path for path, *_ in passages(reply)} == {"a.py", "n.ipynb"}
    (left,) = [item for item in fact(reply, "omitted") if item["reason"] == "documents"]
    assert left["to"] == 2
    assert "m/book.pdf" in {path for path, *_ in passages(driver.follow(left["call"]))}


def test_a_document_that_is_named_says_how_it_is_ranked(driver: Driver) -> None:
    reply = driver.call("find_relevant", query="needle", path="m/book.pdf")
    error = fact(reply, "error")
    assert error["code"] == "binary"
    assert passages(driver.follow(error["next"]))[0][0] == "m/book.pdf"


def test_documents_that_cannot_be_read_are_named_and_the_rest_is_ranked() -> None:
    driver = Driver(MemoryStore({"a.py": b"needle\n", **BROKEN}))
    reply = driver.call("find_relevant", query="needle", documents=True)
    (warning,) = fact(reply, "warnings")
    assert warning["code"] == "unreadable"
    assert all(path in warning["detail"] for path in BROKEN)
    assert fact(reply, "searched_files") == 1
    for path, wanted in (("broken.pdf", "bad_document"), ("locked.docx", "encrypted")):
        alone = driver.call("find_relevant", query="needle", path=path, documents=True)
        assert fact(alone, "error")["code"] == wanted


@each("output", ["outline", "files"])
def test_other_outputs_hold_documents_too(driver: Driver, output: str) -> None:
    reply = driver.call("find_relevant", query="needle thread", documents=True, output=output, explain=True)
    assert "m/book.pdf" in [file["path"] for file in fact(reply, "files")]
    again = driver.call("find_relevant", query="needle thread", documents=True, output=output, explain=True)
    assert again.text == reply.text


def test_what_was_not_reached_of_a_long_document_is_named_with_the_call_that_reaches_it() -> None:
    cell = markdown("\n".join(f"hay {number}" for number in range(FIND_DOCUMENT_CHARS // 12)))
    files = {"a.txt": b"hay\n", "long.ipynb": notebook(cell, cell, markdown("needle"))}
    driver = Driver(MemoryStore(files))
    reply = driver.call("find_relevant", query="needle", documents=True)
    assert fact(reply, "shown") == 0
    (left,) = [item for item in fact(reply, "omitted") if item["what"] == "parts"]
    assert (left["from"], left["to"], left["reason"]) == (2, 3, "too_large")
    assert ("long.ipynb", 3, 1, 1) in passages(driver.follow(left["call"]))


def test_what_is_cut_of_a_line_of_json_is_read_as_json() -> None:
    cell = markdown("needle " * 400)
    driver = Driver(MemoryStore({"n.ipynb": notebook(cell)}))
    reply = driver.call("find_relevant", query="needle", path="n.ipynb")
    shown = reply.text.split("\n")[2].partition("\t")[2]
    assert shown.startswith('{"cells"')
    (left,) = fact(reply, "omitted")
    rest = driver.follow(left["call"])
    line = f"{left['line']}:{left['from']}\t"
    assert line + notebook(cell).decode()[len(shown) :][:100] in rest.text
    assert "lines of n.ipynb are from its JSON" in reply.text


def test_of_many_documents_that_time_was_too_short_for_all_are_named() -> None:
    files = {f"{name}.pdf": pdf(PAGES[:1]) for name in ("a", "b", "c", "d", "e\t")}
    driver = Driver(MemoryStore(files), limits=Limits(document_timeout_s=1e-9, grep_timeout_s=3600))
    reply = driver.call("find_relevant", query="needle", documents=True)
    left = [item["call"]["arguments"]["path"] for item in fact(reply, "omitted")]
    assert left == ["a.pdf", "b.pdf", "c.pdf"]
    assert 'also not searched completely: d.pdf, "e\\t.pdf"' in reply.text


def test_what_cannot_be_read_is_said_before_all_that_is_hidden_in_lines() -> None:
    bidi = "".join(f"needle \u202e{number}\n" for number in range(2 * MAX_WARNINGS))
    driver = Driver(MemoryStore({"a.txt": bidi.encode(), **BROKEN}))
    reply = driver.call("find_relevant", query="needle", documents=True)
    warnings = fact(reply, "warnings")
    assert (warnings[0]["code"], len(warnings)) == ("unreadable", MAX_WARNINGS)


# -----------------------------------------------------------------------------
# What may not be seen, and what has changed.
# -----------------------------------------------------------------------------


def everything(store: Store | Path) -> list[tuple[str, dict[str, Any]]]:
    """All that replies say of a tree, in every form."""
    asked: list[Mapping[str, Any]] = [
        {"explain": True},
        {"output": "files", "explain": True},
        {"documents": False},
        {"explain": True},  # from what is kept
    ]
    with Workspace(store) as room:
        replies = [room.find("needle thread", **{"documents": True, **each}) for each in asked]
    return [(reply.text, dict(reply.facts)) for reply in replies]


SEEN = {"a.py": b"needle = 1\n", "m/book.pdf": pdf(PAGES[:3])}
RULES = {".readroomignore": b"private/\n*.hushed.pdf\n"}
SECRET = pdf([["needle thread needle thread canary7f3a"]] * 3)


@daily(1, "path", ["private/b.pdf", "m/b.hushed.pdf", ".env/b.pdf"])
def test_a_denied_document_changes_no_byte_of_any_reply(path: str, tmp_path: Path) -> None:
    def made(name: str, files: Mapping[str, bytes]) -> Path:
        for path, data in files.items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_bytes(data)
        return tmp_path / name

    plain = everything(made("plain", {**SEEN, **RULES}))
    assert everything(made("other", {**SEEN, **RULES, path: SECRET})) == plain
    assert everything(MemoryStore({**SEEN, **RULES, path: SECRET})) == plain


def test_an_attached_file_that_policy_denies_is_not_ranked(tmp_path: Path) -> None:
    letter = EmailMessage()
    letter["From"], letter["Subject"] = "ann@example.org", "Outer"
    letter.set_content("See what is attached.")
    letter.add_attachment(b"TOKEN=opensesame", "application", "octet-stream", filename=".env")
    letter.add_attachment(b"public words", "application", "octet-stream", filename="notes.txt")
    (tmp_path / "mail.eml").write_bytes(bytes(letter))
    with Workspace(tmp_path) as room:
        for _ in range(2):
            assert fact(room.find("opensesame", documents=True), "shown") == 0
            assert "public words" in room.find("public words", documents=True).text
        assert "opensesame" not in room.find("attached env", documents=True).text
        (tmp_path / ".readroomignore").write_text("notes.txt\n")  # what was let through is gone at once
        assert fact(room.find("public", documents=True), "shown") == 0


def test_a_document_is_ranked_as_it_is_now(tmp_path: Path) -> None:
    on_disk(tmp_path, {"a.txt": "nothing\n"})
    with Workspace(tmp_path) as room:
        for word in ("alpha", "beta"):
            (tmp_path / "b.pdf").write_bytes(pdf([[word]]))
            assert passages(room.find(word, documents=True)) == [("b.pdf", 1, 1, 1)]
            assert fact(room.find("gamma", documents=True), "shown") == 0
        (tmp_path / "b.pdf").unlink()
        assert fact(room.find("beta", documents=True), "shown") == 0


def test_large_files_that_are_no_text_are_not_named_as_too_large() -> None:
    files = {"a.bin": bytes(range(256)) * (FIND_FILE_BYTES // 128), "b.txt": b"needle\n"}
    omitted = fact(Driver(MemoryStore(files)).call("find_relevant", query="needle"), "omitted")
    assert [item["reason"] for item in omitted] == ["left_out"]


def test_a_file_that_matches_by_its_name_alone_is_shown() -> None:
    driver = Driver(MemoryStore({"needle.txt": b"hay\n", "needles": b""}))
    replies = list(driver.pages("find_relevant", query="needle"))
    assert [passages(reply) for reply in replies] == [[("needle.txt", None, 1, 1)]]


def test_documents_that_are_compressed_are_named() -> None:
    book = gzip.compress(FILES["m/book.pdf"])
    sheet = gzip.compress(FILES["s.xlsx"])
    tree = {
        "book.pdf.gz": book,
        "s.xlsx.gz": sheet,
        "x.bin.gz": gzip.compress(bytes(99)),
        "a.txt": b"needle\n",
    }
    with Workspace(MemoryStore(tree)) as space:
        found = space.find("needle", documents=True, include=["compressed"])
        for name in ("book.pdf.gz", "s.xlsx.gz"):
            assert f"{name}: compressed documents are read and searched, not ranked" in found.text
        assert "x.bin.gz" not in found.text
        assert "not ranked" not in space.find("needle", documents=True).text
