"""Formulas of Office (OMML) and MathML as one line, the way they are typed.

Bare letters would say something else: of a root only `b^2-4ac` would be left, and brackets and signs of sums,
which can be attributes, would be missing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from xml.etree import ElementTree

from readroom.documents.formats.elements import Element, local

_OFF = frozenset(("0", "false", "off"))
_UNSEEN = frozenset(("rPr", "ctrlPr", "annotation", "annotation-xml", "mphantom", "mspace", "none"))


_UNSEEN_SIGNS = dict.fromkeys(range(0x2061, 0x2065))
"""Signs that say how letters belong together, and are not seen."""


def formula(element: Element) -> str:
    """The formula of an element or inside it, in one line."""
    try:
        written = _written(element)
    except RecursionError:
        written = "".join(element.itertext())
    return " ".join(written.translate(_UNSEEN_SIGNS).split())


def _written(element: Element) -> str:
    name = local(element)
    if name in _UNSEEN or name.endswith("Pr"):
        return ""
    form = _FORMS.get(name)
    if form is not None:
        return form(element)
    if not len(element):
        return str(element.text or "")
    return "".join(map(_written, element))


def _part(element: Element, *names: str) -> str:
    """The text of the parts with these names."""
    return "".join(_written(child) for child in element if local(child) in names)


def _property(element: Element, name: str, usual: str) -> str:
    """The value of a property: an attribute, in RTF text; `usual` if it is absent."""
    for properties in element:
        if not local(properties).endswith("Pr"):
            continue
        for child in properties:
            if local(child) == name:
                values = [value for key, value in child.attrib.items() if key.rpartition("}")[2] == "val"]
                return str(values[0] if values else "".join(child.itertext())).strip()
    return usual


def _grouped(text: str) -> str:
    """In brackets, unless it is one thing already."""
    text = text.strip()
    if len(text) == 1 or text.isalnum() or _is_closed(text):
        return text
    return f"({text})" if text else ""


def _is_closed(text: str) -> bool:
    """Whether a text is wholly inside one pair of brackets."""
    if len(text) < 2 or text[0] not in "([{":
        return False
    depth = 0
    for at, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if not depth:
            return at == len(text) - 1
    return False


def _scripts(base: str, below: str, above: str) -> str:
    return base + (f"_{_grouped(below)}" if below else "") + (f"^{_grouped(above)}" if above else "")


def _accented(base: str, mark: str) -> str:
    """A letter with a mark above or below it; several letters have the mark in front."""
    if not mark or not base:
        return base + mark
    if len(base) == 1 and unicodedata.combining(mark):
        return base + mark
    return f"{' ' if unicodedata.combining(mark) else ''}{mark}{_grouped(base)}"


# --- Office ------------------------------------------------------------------------------------------------


def _fraction(element: Element) -> str:
    above, below = _grouped(_part(element, "num")), _grouped(_part(element, "den"))
    return f"{above}{'¦' if _property(element, 'type', 'bar') == 'noBar' else '/'}{below}"


def _scripted(element: Element) -> str:
    return _scripts(_base(_part(element, "e")), _part(element, "sub"), _part(element, "sup"))


def _base(text: str) -> str:
    return text if text.isalnum() else _grouped(text)


def _before(element: Element) -> str:
    return _scripts("", _part(element, "sub"), _part(element, "sup")) + _part(element, "e")


def _root(element: Element) -> str:
    degree = _part(element, "deg") if _property(element, "degHide", "off") in _OFF else ""
    return _rooted(_part(element, "e"), degree)


def _rooted(content: str, degree: str) -> str:
    return f"√{f'[{degree}]' if degree else ''}({content})"


def _large(element: Element) -> str:
    """A sum, a product, an integral."""
    sign = _property(element, "chr", "∫")
    return _spaced(_scripts(sign, _part(element, "sub"), _part(element, "sup")), _part(element, "e"))


def _spaced(name: str, content: str) -> str:
    return f"{name}{'' if not content or content.startswith('(') else ' '}{content}"


def _fenced(element: Element) -> str:
    between = _property(element, "sepChr", "|")
    inside = between.join(_written(child) for child in element if local(child) == "e")
    return f"{_property(element, 'begChr', '(')}{inside}{_property(element, 'endChr', ')')}"


def _function(element: Element) -> str:
    return _spaced(_part(element, "fName"), _part(element, "e"))


def _limit_below(element: Element) -> str:
    return _scripts(_part(element, "e"), _part(element, "lim"), "")


def _limit_above(element: Element) -> str:
    return _scripts(_part(element, "e"), "", _part(element, "lim"))


def _accent(element: Element) -> str:
    return _accented(_part(element, "e"), _property(element, "chr", "\u0302"))


def _bar(element: Element) -> str:
    mark = "\u0305" if _property(element, "pos", "bot") == "top" else "\u0332"
    return _accented(_part(element, "e"), mark)


def _brace(element: Element) -> str:
    return _accented(_part(element, "e"), _property(element, "chr", "⏟"))


def _rows(row: str, cell: str) -> Callable[[Element], str]:
    """A writer of a matrix: cells parted by commas, rows by semicolons."""

    def written(element: Element) -> str:
        rows = [[_written(at) for at in child if local(at) == cell]
                for child in element if local(child) == row]  # fmt: skip
        return "; ".join(", ".join(cells) for cells in rows)

    return written


def _lines(element: Element) -> str:
    return "; ".join(_written(child) for child in element if local(child) == "e")


# --- MathML ------------------------------------------------------------------------------------------------


def _parts(element: Element) -> list[Element]:
    return [child for child in element if local(child)]


def _at(parts: Sequence[Element], place: int) -> str:
    return _written(parts[place]) if place < len(parts) else ""


def _placed(below: int | None, above: int | None) -> Callable[[Element], str]:
    """A writer of something with other things below and above it, by their places."""

    def written(element: Element) -> str:
        parts = _parts(element)
        base = _at(parts, 0)
        under = "" if below is None else _at(parts, below)
        over = "" if above is None else _at(parts, above)
        if element.get("accent") == "true" or element.get("accentunder") == "true":
            return _accented(base, over or under)
        return _scripts(_base(base), under, over)

    return written


def _ml_fraction(element: Element) -> str:
    parts = _parts(element)
    mark = "¦" if element.get("linethickness", "").rstrip("ptxem%") == "0" else "/"
    return f"{_grouped(_at(parts, 0))}{mark}{_grouped(_at(parts, 1))}"


def _ml_root(element: Element) -> str:
    parts = _parts(element)
    return _rooted(_at(parts, 0), _at(parts, 1))


def _ml_fenced(element: Element) -> str:
    marks = "".join(element.get("separators", ",").split())
    parts = [_written(part) for part in _parts(element)]
    inside = parts[:1]
    for at, part in enumerate(parts[1:]):
        inside += [marks[min(at, len(marks) - 1)] if marks else "", part]
    return f"{element.get('open', '(')}{''.join(inside)}{element.get('close', ')')}"


_FORMS: Mapping[str, Callable[[Element], str]] = {
    "f": _fraction,
    **dict.fromkeys(("sSup", "sSub", "sSubSup"), _scripted),
    "sPre": _before,
    "rad": _root,
    "nary": _large,
    "d": _fenced,
    "func": _function,
    "limLow": _limit_below,
    "limUpp": _limit_above,
    "acc": _accent,
    "bar": _bar,
    "groupChr": _brace,
    "m": _rows("mr", "e"),
    "eqArr": _lines,
    "mfrac": _ml_fraction,
    "msqrt": lambda element: _rooted("".join(map(_written, element)), ""),
    "mroot": _ml_root,
    "msub": _placed(1, None),
    "msup": _placed(None, 1),
    "msubsup": _placed(1, 2),
    "munder": _placed(1, None),
    "mover": _placed(None, 1),
    "munderover": _placed(1, 2),
    "mfenced": _ml_fenced,
    "mtable": _rows("mtr", "mtd"),
}
"""The text of elements without letters of their own."""


FORMULA_ELEMENTS = 20_000
"""Elements of a formula that say more than their letters; the rest of a larger one is shown as letters."""


class FormulaParts:
    """A formula whose elements come one after the other; of a very large one the rest is its letters."""

    def __init__(self) -> None:
        self._top = ElementTree.Element("math")
        self._open = [self._top]
        self._left = FORMULA_ELEMENTS
        self._rest: list[str] = []

    @property
    def depth(self) -> int:
        """How many elements are open."""
        return len(self._open) - 1

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        self._left -= 1
        if self._left < 0:
            self._open.append(self._open[-1])
            return
        known = name in _FORMS or name in _UNSEEN or name in _HELD or name.endswith("Pr")
        spelled = {key: attributes[key] for key in _SAYS & attributes.keys()}
        self._open.append(ElementTree.SubElement(self._open[-1], name if known else "mrow", spelled))

    def text(self, text: str) -> None:
        """Letters inside the element that was begun last."""
        if not text.strip():
            return
        self._left -= 1
        if self._left < 0:
            self._rest.append(text)
        else:
            ElementTree.SubElement(self._open[-1], "mtext").text = text

    def end(self) -> None:
        """The element that was begun last ends."""
        if len(self._open) > 1:
            self._open.pop()

    def written(self) -> str:
        """The formula in a line."""
        return " ".join(filter(None, (formula(self._top), "".join(self._rest))))


_SAYS = frozenset(("accent", "accentunder", "linethickness", "open", "close", "separators"))
_HELD = frozenset(
    ("e", "num", "den", "sub", "sup", "deg", "lim", "fName", "mr", "mtr", "mtd",
     "type", "chr", "pos", "begChr", "endChr", "sepChr", "degHide")
)  # fmt: skip
"""Elements that others look for by their names."""
