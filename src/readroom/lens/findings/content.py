"""What should not have been read at all: secrets, files that policy denies, hidden characters, text that
addresses the model.
"""

from __future__ import annotations

import re

from readroom.errors import ReadroomError
from readroom.lens.bounds import Bounds
from readroom.lens.findings.places import Listing, Place, excerpt, finding_about, places
from readroom.lens.findings.secrets import SecretScanner
from readroom.lens.normal_form import Finding, FindingKind
from readroom.lens.sessions import Result
from readroom.paths import normalize
from readroom.policy.rules import Rules
from readroom.text import hidden
from readroom.text.output import holds
from readroom.text.tokens import estimate

_NEVER_READ = frozenset({"list", "agent", "other"})


class Secrets(Listing):
    """Secrets in results; each is told by its place and kind and never quoted."""

    def __init__(self, scanner: SecretScanner, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._scanner = scanner

    def result(self, result: Result) -> None:
        """Scan the lines of a result."""
        for place in places(result):
            kinds = self._scanner.kinds(place.file, place.text)
            if kinds:
                what = f"{' and '.join(kinds)} went to the model"
                self._add(_at(result, "secrets", place, what, ""))


class Denied(Listing):
    """Files that the policy of today denies."""

    def __init__(self, rules: Rules, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._rules = rules

    def result(self, result: Result) -> None:
        """Ask the rules about every file of which lines were shown."""
        spans = {
            run.file: (run.first, run.last, len("\n".join(run.lines))) for run in reversed(result.seen.runs)
        }
        if result.seen.kind == "read" and not result.seen.error and not spans and result.seen.file:
            spans[result.seen.file] = (0, 0, len(result.returned.text))
        for span in result.again:
            spans.setdefault(span.file, (span.first, span.last, 0))
        for file, (first, last, characters) in spans.items():
            rule = self._rule(file)
            if rule:
                share = characters / max(1, len(result.returned.text))
                tokens = round(result.tokens * min(1.0, share)) if characters else result.tokens
                what = f"the rule {rule} denies this file"
                self._add(finding_about(result, "denied", tokens, what, file=file, lines=(first, last)))

    def _rule(self, file: str) -> str:
        try:
            path = normalize(file.lstrip("/"))
            verdict = self._rules.decide(path, folder=False)
        except (ReadroomError, ValueError):
            return ""
        return f"{verdict.rule.pattern!r} of {verdict.rule.source}" if verdict.rule else ""


_NUMBER = "(?:[0-79]|[1-9][0-9]{1,2})?"
_COLOURS = re.compile(f"\x1b\\[(?:(?:{_NUMBER};)*+{_NUMBER}m|K)")
"""What programs colour their output with: of these numbers 8 alone hides text."""


_SEEN = "[^\x00-\x7f\u200b-\u200f\u2060-\u206f\ufeff]"
_JOINERS = re.compile(f"(?<={_SEEN})[\u200c\u200d](?={_SEEN})")
"""Between letters of Persian and of many scripts of India, and between the parts of a picture, one of them is
spelling.
"""


def _without_usual(place: Place) -> str:
    """A line without what is unseen in it and hides nothing."""
    text = _COLOURS.sub("", place.text) if "\x1b" in place.text else place.text
    if text.isascii():
        return text
    first = place.line <= 1  # a byte order mark is the file's, not the line's
    return _JOINERS.sub("", text.removeprefix("\ufeff") if first else text)


class Hidden(Listing):
    """Characters that a reader does not see."""

    _HARMLESS = frozenset({"line_break", "undecodable", hidden.MORE})

    def result(self, result: Result) -> None:
        """Scan the lines of a result that came out of files or commands."""
        if result.seen.kind in _NEVER_READ or (
            result.returned.text.isascii() and "\x1b" not in result.returned.text
        ):
            return
        for place in places(result):
            if place.text.isascii() and place.text.isprintable():
                continue
            for warning in hidden.scan([_without_usual(place)], place.line or 1, limit=5):
                if warning.code not in self._HARMLESS:
                    self._add(
                        _at(result, "hidden", place, f"{warning.code}: {warning.detail}", excerpt(place.text))
                    )


_ADDRESSES = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|all|your|system)\b"
    r"[^.\n]{0,30}\b(?:instructions?|prompts?|rules|guidelines|context)\b"
    r"|\byou are (?:now )?(?:an? )?(?:AI|LLM|language model|assistant|agent|Claude|GPT|Gemini)\b"
    r"[^.\n]{0,80}\b(?:must|should|will|please)\b"
    r"|\b(?:AI|LLM) (?:agents?|assistants?|models?)\b[^.\n]{0,60}\b(?:must|should|have to|are required to)\b"
    r"|<\|?(?:im_start|system|assistant)\|?>|\[/?INST\]|^\s*(?:System|Assistant)\s?: "
    r"|\bdo not (?:tell|inform|mention (?:this|it) to) the (?:user|human)\b"
)
"""Phrases seen in published injections: taken word by word, and never judged by what they might mean."""


class Instructions(Listing):
    """Text in files that speaks to the model."""

    def result(self, result: Result) -> None:
        """Scan the lines of a result that came out of files or commands."""
        # RE2 looks through a whole result in a tenth of the time; it tells where one look is enough.
        if result.seen.kind in _NEVER_READ or not holds(
            result.seen.text.encode("utf-8", "replace"), _ADDRESSES.pattern
        ):
            return
        for place in places(result):
            match = _ADDRESSES.search(place.text)
            if match:
                sentence = excerpt(place.text, match.start())
                self._add(_at(result, "instructions", place, "text that addresses the model", sentence))


def _at(result: Result, kind: FindingKind, place: Place, what: str, quoted: str) -> Finding:
    tokens, lines = estimate(place.text[:100_000]), (place.line, place.line)
    return finding_about(result, kind, tokens, what, file=place.file, lines=lines, quoted=quoted)
