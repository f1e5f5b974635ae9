r"""RTF documents (.rtf), as sections of text.

RTF is nested groups with control words: bytes are decoded by the font they are set in, paragraphs get their
level from the style sheet, and labels of lists are those that the writing program counted. What is known and
not shown (hidden and deleted text, codes of fields, embedded objects) is counted. Unknown groups are skipped
if they are marked as optional (`\*`).

Knows: the control words of RTF.
Does not know: files and processes.
May be touched: freely.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import BinaryIO

from msgspec.structs import replace

from readroom.documents.formats import Unreadable, sections, told
from readroom.documents.formats.archives import ANOTHER_COPY
from readroom.documents.formats.formulas import FormulaParts
from readroom.documents.formats.rtf import tokens
from readroom.documents.formats.sections import Sections
from readroom.documents.formats.story import FlowStory, label, sound
from readroom.documents.limits import RTF_BYTES, RTF_GROUPS

MARK = b"{\\rtf"
_CHARACTERS = {
    "tab": "\t", "line": "\n", "softline": "\n", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’",
    "ldblquote": "“", "rdblquote": "”", "bullet": "•", "emspace": "\u2003", "enspace": "\u2002",
    "qmspace": "\u2005", "~": "\u00a0", "_": "\u2011", "\t": "\t", "{": "{", "}": "}", "\\": "\\",
    "zwj": "\u200d", "zwnj": "\u200c",
}  # fmt: skip
_NOTHING = b"\0\t\r\n\x1a {}"
_ENDS = frozenset(("par", "sect", "page", "column", "\n", "\r"))
_PAGES = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}

_SKIPPED = frozenset(
    ("colortbl", "objdata", "themedata", "colorschememapping", "datastore", "latentstyles", "rsidtbl",
     "generator", "shprslt", "nonshppict", "nonesttables", "listtable", "listoverridetable", "pn", "pnseclvl",
     "filetbl", "revtbl", "ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc", "aftncn", "blipuid",
     "objclass", "mmathPict", "mctrlPr", "xmlnstbl", "atnid", "atnref", "atndate", "atntime", "atnicn",
     "atnparent", "atrfstart", "atrfend", "bkmkend", "ffname", "htmltag", "objalias", "objsect", "tmpl",
     "panose", "falt", "fontemb", "private", "xform", "operator")
)  # fmt: skip
"""Destinations without text of the document."""

_COUNTED = {
    "bkmkstart": "bookmark", "xe": "index mark", "tc": "index mark", "tcn": "index mark", "rxe": "index mark",
    "docvar": "document variable", "background": "background", "template": "document property",
    "title": "document property", "subject": "document property", "keywords": "document property",
    "doccomm": "document property", "author": "document property", "company": "document property",
    "manager": "document property", "category": "document property", "hlinkbase": "document property",
    "staticval": "document property", "oldcprops": "", "oldpprops": "", "oldtprops": "", "oldsprops": "",
}  # fmt: skip
"""Destinations that are counted, and their names."""

_THROUGH = frozenset(
    ("shppict", "shpinst", "picprop", "moMathPara", "moMathParaPr", "ud", "do", "userprops",
     "nesttableprops", "shptxt", "dptxbxtext", "result", "field", "shp", "object", "info", "formfield")
)  # fmt: skip
"""Destinations that only hold others, or hold text of the story."""

_MARGINS = {f"{name}{which}": name for name in ("header", "footer") for which in ("", "l", "r", "f")}
_LINK = re.compile(r'HYPERLINK\s+(?:\\[a-z]\s+)*"([^"]*)"')
_BODY_TEXT = 9


def open_document(file: BinaryIO) -> Sections:
    """The document in `file`. Raises Unreadable."""
    data = file.read(RTF_BYTES + 1)
    if len(data) > RTF_BYTES:
        raise Unreadable(f"it has more than {RTF_BYTES:,} bytes", "Ask for it as DOCX or PDF.")
    return read(data)


def read(data: bytes) -> Sections:
    """The document in `data`. Raises Unreadable."""
    start = data.find(MARK[1:], 0, 1024)
    if start < 0:
        raise Unreadable("it does not start like RTF", "Read it as text, with `encoding`.")
    return _RtfReader(data).document()


class _RtfReader:
    """Reads one document token by token."""

    def __init__(self, data: bytes) -> None:
        self._tokens = tokens.Tokens(data)
        self._body = FlowStory()
        self._state = tokens.State(self._body)
        self._stack: list[tokens.State] = []
        self._page = "cp1252"
        self._fonts: dict[int, str] = {}
        self._styles: dict[int, int] = {}
        self._default_font = 0
        self._bytes = bytearray()
        self._to_skip = 0
        self._unseen = ""
        self._notes: dict[str, list[str]] = {}
        self._margins: list[Sequence[str]] = []
        self._author = self._property = self._described = ""
        self._in_picture = self._fresh = False
        self._beside: Counter[str] = Counter()

    def document(self) -> Sections:
        for token in self._tokens:
            self._take(token)
            if token.brace and not self._stack:
                # Some programs leave the end of an older version behind it; of damaged files it is the text.
                self._beside["text after its end"] += bool(self._tokens.rest().strip(_NOTHING))
                break
        self._flush()
        while self._stack:
            self._close()
        self._body.end(self._state.paragraph, self._level())
        return sections.document(self._body.blocks, self._margins, self._notes, self._beside)

    def _take(self, token: tokens.Token) -> None:
        if token.data:
            self._data(token)
        elif token.brace == b"{":
            self._flush()
            if len(self._stack) >= RTF_GROUPS:
                raise Unreadable("its groups are nested too deeply", ANOTHER_COPY)
            self._stack.append(self._state)
            self._state = replace(self._state, close=None, starred=False)
            self._to_skip = 0
            self._fresh = True
            return
        elif token.brace:
            self._flush()
            self._to_skip = 0
            if self._stack:
                self._close()
        elif self._to_skip and token.word in _CHARACTERS:
            self._to_skip -= 1
        else:
            self._flush()
            self._to_skip = 0
            self._word(token.word, token.number)
        self._fresh = False

    def _close(self) -> None:
        ended, self._state = self._state, self._stack.pop()
        if ended.close is not None:
            ended.close()

    # --- text --------------------------------------------------------------------------------------

    def _data(self, token: tokens.Token) -> None:
        data = token.data
        if self._to_skip:
            data, self._to_skip = data[self._to_skip :], max(0, self._to_skip - len(data))
        self._bytes += data

    def _flush(self) -> None:
        if self._bytes:
            state = self._state
            data, self._bytes = bytes(self._bytes), bytearray()
            self._out(tokens.decoded(data, state.far if state.is_far else state.codec))

    def _out(self, text: str) -> None:
        """Route text to its group's destination; hidden and deleted text is counted."""
        state = self._state
        if state.formula is not None and not (state.deleted or state.hidden):
            state.formula.text(text)
        elif state.words is not None:
            state.words.append(text)
        elif state.story is not None:
            unseen = "tracked deletion" if state.deleted else "hidden text" if state.hidden else ""
            if not unseen:
                state.story.text.append(text)
            elif unseen != self._unseen and text.strip():
                state.story.dropped[unseen] += 1
            if unseen != self._unseen and (text.strip() or not unseen):
                self._unseen = unseen

    # --- control words -----------------------------------------------------------------------------

    def _word(self, word: str, number: int | None) -> None:
        if word == "*":
            self._state.starred = self._fresh  # of a group; elsewhere it has no meaning
        elif word in _CHARACTERS:
            self._out(_CHARACTERS[word])
        elif word == "u":
            self._out(tokens.as_shown(chr((number or 0) % 0x10000), self._state.codec))
            self._to_skip = self._state.skipped
        elif self._destination(word):
            return
        elif self._state.starred:
            self._state.starred = False
            self._tokens.skip_group()
        elif word in _ENDS or word in ("cell", "nestcell", "row", "nestrow"):
            self._end(word)
        elif word in _CHARACTER_WORDS:
            self._character(word, 1 if number is None else number)
        else:
            self._paragraph_word(word, number or 0)

    def _end(self, word: str) -> None:
        state = self._state
        story = state.story
        if state.words is not None:
            state.words.append("\n")
        elif story is None:
            return
        elif word in _ENDS:
            story.end_paragraph(state.paragraph, self._level())
        elif word in ("cell", "nestcell"):
            depth = 1 if word == "cell" else max(2, state.paragraph.table_depth)
            inside = replace(state.paragraph, in_table=True, table_depth=depth)
            story.end_paragraph(inside, self._level())
            story.end_cell(depth)
        else:
            story.end_row(1 if word == "row" else max(2, state.paragraph.table_depth))

    def _level(self) -> int:
        """Heading level of the paragraph that ends here, 0 for body text."""
        paragraph = self._state.paragraph
        outline = paragraph.outline
        if outline is None:
            outline = self._styles.get(paragraph.style, _BODY_TEXT)
        return outline + 1 if 0 <= outline < _BODY_TEXT else 0

    def _paragraph_word(self, word: str, number: int) -> None:
        state = self._state
        was = state.paragraph
        if word == "pard":
            state.paragraph = tokens.PLAIN
        elif word == "s":
            state.paragraph = replace(was, style=number)
        elif word == "outlinelevel":
            state.paragraph = replace(was, outline=number)
        elif word == "intbl":
            state.paragraph = replace(was, in_table=True)
        elif word == "itap":
            state.paragraph = replace(was, in_table=number > 0, table_depth=number)
        elif word == "ilvl":
            state.paragraph = replace(was, list_depth=number)
        elif word in _PAGES:
            self._page = state.codec = _PAGES[word]
        elif word == "ansicpg":
            self._page = state.codec = state.far = tokens.code_page(number)
        elif word == "deff":
            self._default_font = number
        elif word in ("fftype", "ffres", "ffdefres") and state.field is not None:
            name = {"fftype": "kind", "ffres": "chosen", "ffdefres": "usual"}[word]
            setattr(state.field, name, number)

    def _character(self, word: str, number: int) -> None:
        state = self._state
        if word == "f":
            state.codec = self._fonts.get(number, self._page)
            state.far = state.codec
        elif word == "af":
            state.far = self._fonts.get(number, self._page)
        elif word in ("loch", "hich", "dbch"):
            state.is_far = word == "dbch"
        elif word == "plain":
            state.hidden = state.deleted = state.is_far = False
            state.codec = self._fonts.get(self._default_font, self._page)
        elif word == "v":
            state.hidden = number != 0
        elif word == "deleted":
            state.deleted = number != 0
        elif word == "uc":
            state.skipped = min(max(0, number), 100)

    # --- destinations ------------------------------------------------------------------------------

    def _destination(self, word: str) -> bool:
        """Whether a word sets the destination of its group; if so, it is set."""
        state = self._state
        if word in _THROUGH:
            self._through(word)
        elif word in _SKIPPED:
            self._tokens.skip_group()
        elif word == "moMath" or (state.formula is not None and word[0] == "m" and self._begins()):
            self._formula_part(word)
        elif word.startswith("m") and word.endswith("Pr") and word[1:-2].isalpha():
            self._tokens.skip_group()
        elif word in _COUNTED:
            self._capture(partial(self._count, _COUNTED[word] if state.story is not None else ""))
        elif word == "fonttbl":
            self._fonts |= tokens.fonts(self._tokens.skip_group(), self._page)
        elif word == "stylesheet":
            self._styles |= tokens.headings(self._tokens.skip_group())
        elif word == "upr":
            state.story = None
        elif word in _MARGINS:
            self._story(partial(self._margin, _MARGINS[word]))
        elif word in ("footnote", "annotation"):
            self._note(word)
        elif word == "ftnalt":
            self._state.starred = False
        elif word in ("listtext", "pntext"):
            story = state.story
            self._capture(lambda words: _set_label(story, words))
        elif word == "pict":
            self._picture()
        elif word in _TEXTS:
            self._capture(getattr(self, _TEXTS[word]))
        elif word == "fldinst":
            self._capture(self._code)
        elif word == "fldrslt":
            self._result()
        else:
            return False
        self._state.starred = False
        return True

    def _capture(self, use: Callable[[str], None]) -> None:
        """Collect the text of the group and use it at its end."""
        words: list[str] = []
        self._state.words, self._state.formula = words, None
        self._state.hidden = self._state.deleted = False
        self._state.close = lambda: use(sound("".join(words)).strip())

    def _story(self, use: Callable[[FlowStory], None]) -> None:
        """Read the text of the group as a story of its own."""
        story = FlowStory()
        state = self._state
        state.story, state.words, state.formula, state.paragraph = story, None, None, tokens.PLAIN
        state.hidden = state.deleted = False

        def close() -> None:
            story.end(tokens.PLAIN, 0)
            use(story)

        state.close = close

    def _begins(self) -> bool:
        """Whether a word is the first of its group."""
        return self._fresh or self._state.starred

    def _formula_part(self, word: str) -> None:
        """An element of a formula; the outermost one writes it at its end."""
        state = self._state
        outer = state.formula
        parts = outer or FormulaParts()
        parts.start(word[1:], {})
        state.formula = parts

        def close() -> None:
            parts.end()
            if outer is None:
                self._out(parts.written())

        state.close = close

    def _through(self, word: str) -> None:
        state = self._state
        if word == "ud":
            state.story = next((at.story for at in reversed(self._stack) if at.story is not None), None)
        elif word == "field":
            state.field = tokens.RtfField()
        elif word == "formfield":
            state.words = []
        elif word in ("shptxt", "dptxbxtext"):
            outer = state.story
            self._story(lambda story: _add_box(outer, story))
        elif word == "object":
            if state.story is not None:
                state.story.dropped["embedded object"] += 1
        elif word in ("shpinst", "do", "info", "userprops", "picprop"):
            state.words, state.formula = [], None

    def _count(self, kind: str, words: str) -> None:
        if kind and words:
            self._beside[kind] += 1

    def _margin(self, kind: str, story: FlowStory) -> None:
        for block in story.blocks:
            self._beside += block.dropped
        self._margins.append(sections.margin(kind, [line.strip() for line in story.lines()]))

    def _note(self, word: str) -> None:
        """Note a foot- or endnote or a comment where it is referred to."""
        outer = self._state.story
        prefix = "c" if word == "annotation" else ""
        mark = f"{prefix}{1 + sum(known.startswith('c') == bool(prefix) for known in self._notes)}"
        self._notes[mark] = []
        author, self._author = self._author, ""
        if outer is not None:
            outer.text.append(f"[^{mark}]")
            outer.marks.append(mark)

        def use(story: FlowStory) -> None:
            for block in story.blocks:
                self._beside += block.dropped
            self._notes[mark] = sections.comment(author if prefix else "", story.lines())

        self._story(use)

    def _picture(self) -> None:
        """Show a picture as its description."""
        outer = self._state
        outer_story, outer_words, of_shape = outer.story, outer.words, self._property == "pib"
        self._described, self._in_picture = "", True
        outer.words, outer.formula = [], None

        def close() -> None:
            written, self._in_picture = sections.picture(self._described), False
            if outer_story is not None and (outer_words is None or of_shape):
                outer_story.text.append(written)

        self._state.close = close

    def _code(self, words: str) -> None:
        """The code of a field; that of a link is its target."""
        state = self._state
        if state.field is None:
            state.field = tokens.RtfField()
        state.field.code = words
        if words and state.story is not None and not words.startswith(("HYPERLINK", "FORM")):
            state.story.dropped["field code"] += 1

    def _result(self) -> None:
        """The result of a field is its text; of a link, its words."""
        state = self._state
        story, about = state.story, state.field
        if story is None or about is None:
            return
        start, before = len(story.text), len(story.blocks)
        link = _LINK.search(about.code)
        if about.kind == tokens.TICKED:
            story.text.append("[x]" if about.state else "[ ]")
        story.dropped[told("unselected choice", "; ".join(about.entries))] += max(0, len(about.entries) - 1)

        def close() -> None:
            if len(story.blocks) != before:
                return
            if about.state < len(about.entries) and not "".join(story.text[start:]).strip():
                story.text.append(about.entries[about.state])  # Word leaves the result empty
            if link is None:
                return
            words = sound("".join(story.text[start:]))
            story.dropped[told("link target", link[1])] += sections.is_lost(words, link[1])
            story.text[start:] = [sections.link(words, link[1])]

        state.close = close

    # --- texts of small destinations -----------------------------------------------------------------

    def _atnauthor(self, words: str) -> None:
        self._author = words

    def _sn(self, words: str) -> None:
        self._property = words

    def _sv(self, words: str) -> None:
        """The value of a property of a drawing."""
        story = next((at.story for at in reversed([*self._stack, self._state]) if at.story is not None), None)
        if self._property == "wzDescription" and words:
            if self._in_picture:
                self._described = words
            elif story is not None:
                story.boxes.append(f"[drawing: {words}]")
        elif self._property == "gtextUNICODE" and words and story is not None:
            story.boxes.append(words)

    def _ffl(self, words: str) -> None:
        about = self._state.field
        if about is not None:
            about.entries.append(words)


_TEXTS = {"atnauthor": "_atnauthor", "sn": "_sn", "sv": "_sv", "ffl": "_ffl"}
_CHARACTER_WORDS = frozenset(("f", "af", "loch", "hich", "dbch", "plain", "v", "deleted", "uc"))


def _set_label(story: FlowStory | None, words: str) -> None:
    if story is not None:
        story.label = label(words)


def _add_box(outer: FlowStory | None, story: FlowStory) -> None:
    if outer is not None:
        outer.boxes += story.lines()
        for block in story.blocks:
            outer.dropped += block.dropped
            outer.marks += block.marks
