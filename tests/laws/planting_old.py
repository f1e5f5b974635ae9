"""Files of Office before 2007, and binary workbooks, with a word planted in every kind of place."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping

from tests.documents.formats import compounds
from tests.documents.formats.compounds import CELL, ROW_END, Word, drawing, record, shape
from tests.laws.planting import Format, mark

_OUTLINE = 0x2640


def _table(word: Word, words: str) -> None:
    word.paragraph("a", CELL, end="\x07")
    word.paragraph(words, CELL, end="\x07")
    word.paragraph("", CELL, ROW_END, end="\x07")


_WORD: Mapping[str, tuple[Callable[[Word, str], object], str]] = {
    "paragraph": (lambda word, words: word.paragraph(words), ""),
    "heading": (lambda word, words: word.paragraph(words, (_OUTLINE, 0)), ""),
    "table": (_table, ""),
    "cell without a row": (lambda word, words: word.paragraph(words, CELL, end="\x07"), ""),
    "footnote": (lambda word, words: word.note("footnotes", words, "\x02"), ""),
    "endnote": (lambda word, words: word.note("endnotes", words, "\x02"), ""),
    "comment": (lambda word, words: word.note("comments", words, "\x05"), ""),
    "header": (lambda word, words: word.story("margins", f"{words}\r"), ""),
    "text box": (lambda word, words: word.story("boxes", f"{words}\r"), ""),
    "hidden text": (lambda word, words: word.paragraph(f"x {words}", hidden=words), "hidden text"),
    "deleted text": (lambda word, words: word.paragraph(f"x {words}", deleted=words), "tracked deletion"),
    "field": (lambda word, words: word.paragraph(f"\x13DATE\x14{words}\x15"), ""),
    "code of a field": (lambda word, words: word.paragraph(f"\x13DATE {words}\x14x\x15"), "field code"),
    "link": (lambda word, words: word.paragraph(f'\x13HYPERLINK "https://x.test"\x14{words}\x15'), ""),
    "link target": (
        lambda word, words: word.paragraph(f'\x13HYPERLINK "https://x.test/{words}"\x14x\x15'),
        "",
    ),
    "relative target": (
        lambda word, words: word.paragraph(f'\x13HYPERLINK "/{words}"\x14x\x15'),
        "link target",
    ),
    "bookmark": (lambda word, words: word.bookmarks.append(words), "bookmark"),
    "drawing": (lambda word, words: word.drawing(words), "drawing"),
}
_STREAMS: Mapping[str, tuple[str, str]] = {
    "subject": ("\x05SummaryInformation", "document property"),
    "embedded object": ("ObjectPool/_1/data", "embedded object"),
    "macro": ("Macros/VBA/Module1", "macro project"),
}


def _old_streams(places: set[str]) -> dict[str, bytes]:
    found = {name: mark(place).encode() for place, (name, _) in _STREAMS.items() if place in places}
    if "subject" in places:
        found["\x05SummaryInformation"] = compounds.summary(subject=mark("subject"))
    return found


def _old_word(places: Iterable[str]) -> bytes:
    wanted = list(places)
    word = Word()
    for name in wanted:
        if name in _WORD:
            _WORD[name][0](word, mark(name))
    return word.build(**_old_streams(set(wanted)))


OLD_WORD = Format(
    "old.doc",
    {name: kind for name, (_, kind) in (*_WORD.items(), *_STREAMS.items())},
    _old_word,
)

_COMMENT = 12000


def _string(words: str, instance: int) -> bytes:
    return record(4026, words.encode("utf-16-le"), instance)


def _word_art(words: str) -> bytes:
    options = struct.pack("<HI", 0x80C0, 2 * len(words)) + words.encode("utf-16-le")
    return drawing(record(0xF004, [record(0xF00B, options, 1)]))


_SLIDE: Mapping[str, tuple[Callable[[str], bytes], str]] = {
    "title": (lambda words: drawing(shape(words, 0)), ""),
    "list": (lambda words: drawing(shape(words, 1)), ""),
    "text": (lambda words: drawing(shape(words)), ""),
    "group": (lambda words: drawing(record(0xF003, [shape(words)])), ""),
    "word art": (_word_art, ""),
    "comment": (lambda words: record(5000, [record(_COMMENT, [_string("Ann", 0), _string(words, 1)])]), ""),
    "footer of the slide": (lambda words: record(4057, [_string(words, 2)]), ""),
}
_DECK: Mapping[str, tuple[Callable[[str], bytes], str]] = {
    "footer of slides": (lambda words: record(4057, [_string(words, 2)], 3), ""),
    "link": (lambda words: record(1033, [record(4055, [_string(words, 1)])]), "link target"),
    "film": (lambda words: record(1033, [record(4102, [_string(words, 0)])]), "film or sound"),
}


def _old_slides(places: Iterable[str]) -> bytes:
    wanted = list(places)
    pages = [[_SLIDE[name][0](mark(name))] for name in wanted if name in _SLIDE] or [[]]
    beside = [_DECK[name][0](mark(name)) for name in wanted if name in _DECK]
    notes = [drawing(shape(mark("notes"), 2))] if "notes" in wanted else []
    streams = (
        {"\x05SummaryInformation": compounds.summary(subject=mark("subject"))} if "subject" in wanted else {}
    )
    return compounds.slides(pages, beside, notes, (), **streams)


OLD_SLIDES = Format(
    "old.ppt",
    {
        **{name: kind for name, (_, kind) in (*_SLIDE.items(), *_DECK.items())},
        "notes": "",
        "subject": "document property",
    },
    _old_slides,
)
