"""In which definition a found line stands."""

from __future__ import annotations

from typing import Any

from readroom.core.limits.outline import OUTLINE_BYTES
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from tests.laws.driving import Driver, fact, rows

FILES = {
    "a.py": b"import needle\n\nclass A:\n    # needle\n    def f(self):\n"
    b"        needle\n        needle()\n\nneedle = 1\n",
    "doc.md": b"# One\n\nneedle\n\n## Two\n\nneedle\n",
    "bare.txt": b"needle\n",
    "big.py": b"def f():\n    needle\n" + b"#" * OUTLINE_BYTES,
    "utf16.py": "\ufeffclass Ä:\r\n    needle = 1\r\n".encode("utf-16-le"),
}


def _search(path: str, **options: Any) -> Reply:
    return Driver(MemoryStore(FILES)).call("grep_files", pattern="needle", path=path, symbols=True, **options)


def test_each_match_names_the_innermost_definition_around_it() -> None:
    reply = _search("a.py")
    (file,) = fact(reply, "files")
    assert [(line["line"], line.get("symbol")) for line in file["lines"]] == [
        (1, None),
        (4, "A.f"),
        (6, "A.f"),
        (7, "A.f"),
        (9, None),
    ]


def test_a_run_of_matches_names_it_once() -> None:
    assert rows(_search("a.py"))[1:] == [
        "1\timport needle",
        "in A.f:",
        "4\t    # needle",
        "6\t        needle",
        "7\t        needle()",
        "outside:",
        "9\tneedle = 1",
    ]


def test_headings_and_other_encodings() -> None:
    assert [row for row in rows(_search("doc.md")) if row.startswith("in ")] == ["in One:", "in One.Two:"]
    assert "in Ä:" in rows(_search("utf16.py"))


def test_files_without_an_outline_are_searched_like_any() -> None:
    for path in ("bare.txt", "big.py"):
        assert fact(_search(path), "shown") == 1
        assert "in " not in rows(_search(path))[1]


def test_a_page_of_many_symbols_is_within_its_cap_and_continues() -> None:
    text = "".join(f"class A{n}:\n    needle = {n}\n" for n in range(400)).encode()
    caller = Driver(MemoryStore({"a.py": text}), reply_bytes=4096)
    pages = list(caller.pages("grep_files", pattern="needle", symbols=True, limit=1000))
    found = [line["symbol"] for page in pages for file in fact(page, "files") for line in file["lines"]]
    assert found == [f"A{n}" for n in range(400)]
