"""Styles and lists of a Word document: which paragraphs are headings, and the labels of list items.

Both are inherited: a paragraph has those of its style, and a style those of the style it is based on. Items
are counted as the document is read, so labels must be requested in order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from readroom.documents.formats import sections, symbols
from readroom.documents.formats.elements import Element

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
VAL = f"{W}val"

MAX_BASED_ON = 20
"""Styles based on styles; Word takes ten. A circle ends here."""

MAX_LABEL = 40
"""Characters of the pattern of a label, which every item of a list repeats."""

BODY_TEXT = 9
"""The outline level of body text; 0 to 8 are headings of level 1 to 9."""

BULLET = "-"
_FORMS = {"lowerLetter": "a", "upperLetter": "A", "lowerRoman": "i", "upperRoman": "I", "decimalZero": "01"}

_HEADING_NAME = re.compile(r"heading ([1-9])", re.IGNORECASE)
_PLACE = re.compile(r"%([1-9])")


class _Style(Struct, frozen=True):
    based_on: str
    outline: int | None
    list_id: str
    list_level: int
    vanish: bool | None = None
    font: str = ""


class ListLevel(Struct, frozen=True):
    """One level of a list: its kind of number, the text around it, and where it starts."""

    form: str
    text: str
    start: int


class Styles(Struct, frozen=True):
    """The formatting that paragraphs, runs and tables inherit."""

    styles: Mapping[str, _Style]
    default: str
    vanish: bool = False
    hiding: bool = False
    """Whether any style hides text; most documents have none."""
    signs: bool = False
    """Whether any style has a font of signs; most documents have none."""

    def hides(self, run: Element | None, paragraph: Element | None, tables: Sequence[Element]) -> bool:
        """Whether text with these properties is hidden; its own properties override those of its styles.

        Hiding is a toggle: of the styles of a table, a paragraph and a run each turns it over, unless the
        document hides all text.
        """
        own = flag(run, "vanish")
        if own is not None:
            return own
        if not self.hiding:
            return False
        names = [child_value(run, "rStyle"), child_value(paragraph, "pStyle") or self.default]
        names += [child_value(properties, "tblStyle") for properties in tables]
        return self.vanish or sum(self._vanishes(name) for name in names if name) % 2 == 1

    def _vanishes(self, name: str) -> bool:
        stated = (style.vanish for style in self._chain(name))
        return bool(next((vanish for vanish in stated if vanish is not None), False))

    def font(self, run: Element | None, paragraph: Element | None) -> str:
        """The symbol font of letters with these properties, if any; a run's own font counts."""
        own = _font(run)
        if own or not self.signs:
            return own
        names = (child_value(run, "rStyle"), child_value(paragraph, "pStyle") or self.default)
        return next((style.font for name in names for style in self._chain(name) if style.font), "")

    def heading(self, properties: Element | None) -> int:
        """The level of the heading with these properties; 0 for other paragraphs."""
        own = child_number(properties, "outlineLvl")
        levels = [own] if own is not None else [style.outline for style in self._inherited(properties)]
        outline = next((level for level in levels if level is not None), BODY_TEXT)
        return outline + 1 if 0 <= outline < BODY_TEXT else 0

    def listed(self, properties: Element | None) -> tuple[str, int]:
        """The list and the level in it; an empty list for other paragraphs."""
        numbering = None if properties is None else properties.find(f"{W}numPr")
        if numbering is not None:
            return child_value(numbering, "numId"), child_number(numbering, "ilvl") or 0
        for style in self._inherited(properties):
            if style.list_id:
                return style.list_id, style.list_level
        return "", 0

    def _inherited(self, properties: Element | None) -> list[_Style]:
        return self._chain(child_value(properties, "pStyle") or self.default)

    def _chain(self, name: str) -> list[_Style]:
        """A style and those that it is based on."""
        chain: list[_Style] = []
        while (style := self.styles.get(name)) is not None and len(chain) < MAX_BASED_ON:
            chain.append(style)
            name = style.based_on
        return chain


def styles(root: Element | None) -> Styles:
    """The styles of the part `styles`; none without one."""
    by_name: dict[str, _Style] = {}
    default = ""
    for element in () if root is None else root.iter(f"{W}style"):
        identity = element.get(f"{W}styleId", "")
        by_name.setdefault(identity, _style(element))
        if element.get(f"{W}type") == "paragraph" and element.get(f"{W}default") in ("1", "true"):
            default = identity
    usual = None if root is None else root.find(f"{W}docDefaults/{W}rPrDefault/{W}rPr")
    vanish = bool(flag(usual, "vanish"))
    hiding = vanish or any(style.vanish for style in by_name.values())
    signs = any(symbols.known(style.font) for style in by_name.values())
    return Styles(by_name, default, vanish, hiding, signs)


OFF = ("0", "false", "off")
"""Values of a property that is there and does not hold."""


def flag(properties: Element | None, name: str) -> bool | None:
    """Whether a property is set; None if it is absent."""
    stated = None if properties is None else properties.find(f"{W}{name}")
    return None if stated is None else stated.get(VAL) not in OFF


class Lists(Struct):
    """The lists of a document, and how far each has been counted."""

    levels: Mapping[str, Mapping[int, ListLevel]]
    abstract: Mapping[str, str]
    _counts: dict[str, dict[int, int]] = field(default_factory=dict)

    def label(self, list_id: str, level: int) -> str:
        """The label of the next item: `-`, `3.`, `2.1`; empty where the list has none."""
        known = self.levels.get(list_id, {})
        here = known.get(level)
        if here is None:
            return BULLET if list_id in self.levels else ""
        # Lists of one definition continue the count of each other, as Word does.
        counts = self._counts.setdefault(self.abstract[list_id], {})
        counts[level] = counts[level] + 1 if level in counts else here.start
        for deeper in [at for at in counts if at > level]:
            del counts[deeper]
        if here.form == "none":
            return ""
        if here.form == "bullet":
            return BULLET
        return _PLACE.sub(lambda place: _number(known, counts, int(place[1]) - 1), here.text[:MAX_LABEL])


def lists(root: Element | None) -> Lists:
    """The lists of the part `numbering`; none without one."""
    abstracts: dict[str, dict[int, ListLevel]] = {}
    levels: dict[str, Mapping[int, ListLevel]] = {}
    origin: dict[str, str] = {}
    for element in () if root is None else root.iter(f"{W}abstractNum"):
        abstracts[element.get(f"{W}abstractNumId", "")] = _levels(element)
    for element in () if root is None else root.iter(f"{W}num"):
        identity = element.get(f"{W}numId", "")
        abstract = child_value(element, "abstractNumId")
        overridden = _overridden(element)
        levels[identity] = {**abstracts.get(abstract, {}), **overridden}
        restarts = element.find(f"{W}lvlOverride/{W}startOverride") is not None
        origin[identity] = f"{abstract} {identity}" if overridden or restarts else abstract
    return Lists(levels, origin)


def child_value(parent: Element | None, name: str) -> str:
    """The `val` of a child; empty without one."""
    child = None if parent is None else parent.find(f"{W}{name}")
    return "" if child is None else child.get(VAL, "")


def child_number(parent: Element | None, name: str) -> int | None:
    """The `val` of a child as a number; None without one."""
    return number(child_value(parent, name))


def number(text: str) -> int | None:
    """A decimal number of up to six digits; None for all else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 6 else None


def _font(properties: Element | None) -> str:
    fonts = None if properties is None else properties.find(f"{W}rFonts")
    return "" if fonts is None else fonts.get(f"{W}asciiTheme") or fonts.get(f"{W}ascii", "")


def _style(element: Element) -> _Style:
    properties = element.find(f"{W}pPr")
    numbering = None if properties is None else properties.find(f"{W}numPr")
    outline = child_number(properties, "outlineLvl")
    name = child_value(element, "name")
    if outline is None and (heading := _HEADING_NAME.fullmatch(name)):
        outline = int(heading[1]) - 1
    if outline is None and name.lower() == "title":
        outline = 0
    listed = child_value(numbering, "numId")
    return _Style(
        child_value(element, "basedOn"),
        outline,
        listed,
        child_number(numbering, "ilvl") or 0,
        flag(element.find(f"{W}rPr"), "vanish"),
        _font(element.find(f"{W}rPr")),
    )


def _levels(element: Element) -> dict[int, ListLevel]:
    return {
        number(level.get(f"{W}ilvl", "")) or 0: ListLevel(
            child_value(level, "numFmt") or "decimal",
            child_value(level, "lvlText"),
            child_number(level, "start") or 0,
        )
        for level in element.findall(f"{W}lvl")
    }


def _overridden(element: Element) -> dict[int, ListLevel]:
    levels: dict[int, ListLevel] = {}
    for override in element.findall(f"{W}lvlOverride"):
        levels |= _levels(override)
    return levels


def _number(known: Mapping[int, ListLevel], counts: Mapping[int, int], level: int) -> str:
    here = known.get(level)
    count = counts.get(level, here.start if here else 1)
    return sections.numeral(count, _FORMS.get(here.form if here else "", "1"))
