"""Page N of a PDF of 400 pages: cold and warm, beside what reads PDF from Python."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks import corpora
from benchmarks.measure import Record, command, met, seconds, take_turns
from readroom.core.workspace import Workspace
from tests.documents.reading.making import pdf

PAGES, LINES = 400, 45
_PAGE = 300
_ROUNDS = 9
_COLD_S = 0.3
"""The target for a page of a document that nobody has open."""


def run(record: Record) -> None:
    """A page deep in a document; text only, so that what is measured is finding it.

    Unfair to readroom: the libraries read in their own process, unconfined, and neither hash the file nor
    number its lines.  Unfair to them: their processes start Python for one page.
    """
    book = _book()
    _processes(record, book)
    _in_process(record, book)


def _book() -> Path:
    path = corpora.HOME / "book.pdf"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "page {page} line {line}: the quick brown fox jumps over the lazy dog"
        path.write_bytes(
            pdf([[text.format(page=page, line=line) for line in range(LINES)] for page in range(PAGES)])
        )
    return path


def _processes(record: Record, book: Path) -> None:
    """Whole processes, for a page that is asked for once."""
    readroom = str(Path(sys.executable).parent / "readroom")
    pypdf = f"import pypdf; print(pypdf.PdfReader({str(book)!r}).pages[{_PAGE - 1}].extract_text())"
    pdfium = (
        f"import pypdfium2; page = pypdfium2.PdfDocument({str(book)!r})[{_PAGE - 1}]; "
        "print(page.get_textpage().get_text_range())"
    )
    found = take_turns(
        {
            "python -c pass": command(sys.executable, "-c", "pass"),
            "readroom read": command(
                readroom, "read", book.name, "--pages", str(_PAGE), "--root", str(book.parent)
            ),
            "pypdf": command(sys.executable, "-c", pypdf),
            "pypdfium2": command(sys.executable, "-c", pdfium),
        },
        _ROUNDS,
    )
    rows = []
    for name, values in found.items():
        rows.append([f"`{name}`", seconds(record.add("documents", "process", name, values, "s"))])
    record.table(["whole process, page 300 of 400", "median"], rows)


def _in_process(record: Record, book: Path) -> None:
    """A workspace that has never seen the document, one that has it open, and one that has shown the page."""
    found: dict[str, list[float]] = {}

    def timed(name: str, act: Callable[[], object]) -> None:
        start = time.perf_counter()
        act()
        found.setdefault(name, []).append(time.perf_counter() - start)

    for turn in range(_ROUNDS):
        with Workspace(book.parent) as space:
            timed("readroom, cold", partial(space.read, book.name, pages=str(_PAGE)))
            timed("readroom, next page", partial(space.read, book.name, pages=str(_PAGE + 1 + turn)))
            timed("readroom, again", partial(space.read, book.name, pages=str(_PAGE)))
        timed("pypdf", lambda: _pypdf(book))
        timed("pypdfium2", lambda: _pypdfium2(book))
    rows = []
    for name, values in found.items():
        value = record.add("documents", "page", name, values, "s")
        target = met(value / _COLD_S, 1) if name == "readroom, cold" else ""
        rows.append([name, seconds(value), target])
    record.table(["in process, page 300 of 400", "median", "ratio to 300 ms"], rows)


def _pypdf(book: Path) -> str:
    import pypdf

    return pypdf.PdfReader(book).pages[_PAGE - 1].extract_text()


def _pypdfium2(book: Path) -> str:
    import pypdfium2

    document = pypdfium2.PdfDocument(book)
    text = document[_PAGE - 1].get_textpage().get_text_range()
    document.close()
    return str(text)
