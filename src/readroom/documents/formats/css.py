"""Elements that a page hides by its own style sheets, in rules whose selectors are one element alone.

A browser matches more: elements inside of others, sheets of other files, what scripts change. Rules for
print, and for the whole page, which scripts show again, hide nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct, field

HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_STATED = re.compile(r"(?:^|[;\s])(?:display|visibility)\s*:", re.IGNORECASE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_MEDIA = re.compile(r"@media\s+(?:screen|all)\s*\{((?:[^{}]*\{[^{}]*\})*)[^{}]*\}", re.IGNORECASE)
_AT_RULE = re.compile(r"@[^{};]*(?:;|\{(?:[^{}]*\{[^{}]*\})*[^{}]*\})")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_SELECTOR = re.compile(r"([a-zA-Z][\w-]*|\*)?((?:[.#][\w-]+)*)")
_MARK = re.compile(r"[.#][\w-]+")
_WHOLE = frozenset(("html", "body"))


class _Rule(Struct, frozen=True):
    tag: str
    marks: frozenset[str]
    hides: bool
    order: int

    @property
    def weight(self) -> tuple[int, int, int, int]:
        ids = sum(mark.startswith("#") for mark in self.marks)
        return ids, len(self.marks) - ids, bool(self.tag), self.order


STYLE_RULES = 2_000
"""Rules of a page about visibility; a framework has some hundreds."""


class Sheet(Struct):
    """The rules of the style sheets of a page that were met so far."""

    count: int = 0
    rules: dict[str, list[_Rule]] = field(default_factory=dict)
    """By one of the marks that a rule asks for, else by its element."""

    def add(self, text: str) -> None:
        """Take the rules of one more style sheet that say whether something is shown."""
        plain = _AT_RULE.sub("", _MEDIA.sub(r"\1", _COMMENT.sub("", text)))
        for selectors, declarations in _RULE.findall(plain):
            if not _STATED.search(declarations):
                continue
            for selector in selectors.split(","):
                match = _SELECTOR.fullmatch(selector.strip())
                if match is not None and match[0] and self.count < STYLE_RULES:
                    tag, marks = (match[1] or "").lower().strip("*"), _MARK.findall(match[2])
                    self.count += 1
                    hides = HIDDEN.search(declarations) is not None
                    rule = _Rule(tag, frozenset(marks), hides, self.count)
                    self.rules.setdefault(marks[0] if marks else tag, []).append(rule)

    def hides(self, tag: str, attributes: Mapping[str, str]) -> bool:
        """Whether an element is not shown, by the weightiest rule for it or by its own style."""
        own = attributes.get("style", "")
        if HIDDEN.search(own):
            return True
        if not self.rules or tag in _WHOLE or (own and _STATED.search(own)):
            return False
        marks = {f".{name}" for name in attributes.get("class", "").split()}
        marks.add(f"#{attributes.get('id', '')}")
        asked = (rule for key in (*marks, tag, "") for rule in self.rules.get(key, ()))
        found = [rule for rule in asked if rule.tag in ("", tag) and rule.marks <= marks]
        return bool(found) and max(found, key=lambda rule: rule.weight).hides
