"""Content of results: lines that should not have been read, and lines that were cut.

The first are secrets, files that policy denies, hidden characters, and text that addresses the
model. Findings on cut lines: whether the model could see the rest, and its content, error lines first. That
is known only if the client keeps the whole output for its screen, or in a file next to the record.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from readroom.core.errors import ReadroomError
from readroom.core.paths import normalize
from readroom.core.policy.rules import Rules
from readroom.core.rows import Finding, FindingKind
from readroom.core.text import client_tags, hidden
from readroom.core.text.output import holds
from readroom.core.text.output.patterns import FAILURE, TIERS, WEAK, WORD, clue
from readroom.core.text.tokens import estimate
from readroom.lens.evidence.numbering import WIDE_CHARS
from readroom.lens.evidence.shell import only_reads
from readroom.lens.evidence.tools import command_of
from readroom.lens.evidence.wrapping import stated_cut, unwrap
from readroom.lens.findings import Listing, Place, excerpt, finding_about, places
from readroom.lens.findings.secrets import SecretScanner
from readroom.lens.limits import Bounds
from readroom.lens.normal_form import counted
from readroom.lens.records.stream import sibling_bytes
from readroom.lens.sessions import Result

KEPT_FILE_BYTES = 4 * 1024 * 1024
"""Maximum of a whole output, kept by a client next to its record, that is compared with the shown part."""

KEPT_FOLDERS = 200
"""Folders near a record in which such outputs are looked for."""


_NEVER_READ = frozenset({"list", "agent", "other"})


class Secrets(Listing):
    """Secrets in results; each is named by its place and kind and never quoted."""

    def __init__(self, scanner: SecretScanner, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._scanner = scanner

    def result(self, result: Result) -> None:
        """Scan the lines of a result."""
        for place in places(result):
            found = self._scanner.found(place.file, place.text)
            if found.kinds:
                what = f"{' and '.join(found.kinds)} sent to the model"
                self._add(replace(_at(result, "secrets", place, what, ""), mark=found.mark))


class Denied(Listing):
    """Files that today's policy denies."""

    def __init__(self, rules: Rules, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._rules = rules

    def result(self, result: Result) -> None:
        """Ask the rules about every file that was shown."""
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
        for file in sorted(_printed(result)):
            if file not in spans and (rule := self._rule(file)):
                what = f"the rule {rule} denies this file, which the command was to print"
                self._add(finding_about(result, "denied", 0, what, file=file))

    def _rule(self, file: str) -> str:
        try:
            path = normalize(file.lstrip("/"))
            verdict = self._rules.decide(path, folder=False)
        except (ReadroomError, ValueError):
            return ""
        return f"{verdict.rule.pattern!r} of {verdict.rule.source}" if verdict.rule else ""


def _printed(result: Result) -> Iterable[str]:
    """The files that a command was to print; which lines of its output are theirs may be unknown."""
    text = result.returned.text
    if result.seen.error or not text.strip():
        return ()
    refused = {match[1] for match in _REFUSED.finditer(text)}
    return {piece.file for piece in result.seen.printed.pieces if piece.file and piece.file not in refused}


_REFUSED = re.compile(r": (\S+): (?:No such file|Permission denied|Operation not permitted)")
"""Messages of programs for a file that they could not open."""


_NUMBER = "(?:[0-79]|[1-9][0-9]{1,2})?"
_COLOURS = re.compile(f"\x1b\\[(?:(?:{_NUMBER};)*{_NUMBER}m|K|\\?25[hl])")
"""Colours in the output of programs, of whose numbers only 8 hides text, and the cursor shown or hidden."""

_CLEARED = re.compile("\\A(?:\x1b\\[(?:[12]?K|1?G))+")
"""A line that a program clears before it writes: later in the line, this would hide what was before."""


_SEEN = "[^\x00-\x7f\u200b-\u200f\u2060-\u206f\ufeff]"
_JOINERS = re.compile(f"(?<={_SEEN})[\u200c\u200d](?={_SEEN})")
"""One joiner is correct spelling between letters of Persian and many scripts of India, and inside an emoji.
"""


def _without_usual(place: Place) -> str:
    """A line without invisible characters that hide nothing."""
    text = _CLEARED.sub("", _COLOURS.sub("", place.text)) if "\x1b" in place.text else place.text
    if text.isascii():
        return text
    first = place.line <= 1  # a byte order mark belongs to the file
    return _JOINERS.sub("", text.removeprefix("\ufeff") if first else text)


class Hidden(Listing):
    """Characters that a reader does not see."""

    # Clients put their own tags into the results of tools that they record.
    _HARMLESS = frozenset({"line_break", "undecodable", client_tags.CODE, hidden.MORE})

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
                    what = f"{warning.code}: {warning.detail}"
                    self._add(_at(result, "hidden", place, what, excerpt(place.text)))


_ADDRESSES = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|all|your|system)\b"
    r"[^.\n]{0,30}\b(?:instructions?|prompts?|rules|guidelines|context)\b"
    r"|\byou are (?:now )?(?:an? )?(?:AI|LLM|language model|assistant|agent|Claude|GPT|Gemini)\b"
    r"[^.\n]{0,80}\b(?:must|should|will|please)\b"
    r"|\b(?:AI|LLM) (?:agents?|assistants?|models?)\b[^.\n]{0,60}\b(?:must|should|have to|are required to)\b"
    r"|<\|?(?:im_start|system|assistant)\|?>|\[/?INST\]|^\s*(?:System|Assistant)\s?: "
    r"|\bdo not (?:tell|inform|mention (?:this|it) to) the (?:user|human)\b"
)
"""Phrases of published injections: matched word by word, never by a possible meaning."""


class Instructions(Listing):
    """Text in files that speaks to the model."""

    def result(self, result: Result) -> None:
        """Scan the lines of a result that came out of files or commands."""
        # RE2 searches the whole result in a tenth of the time; most have no match.
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


_EXCERPTS = 3

_TELLING = "|".join((*TIERS, f"(?:{WEAK})"))
"""Matches every line that reports a failure."""

_PERSISTED_IN_PART = "\n... command output truncated for persistence ...\n"
"""Codex writes this where it kept only part of a long output."""

KeptText = Callable[[str], str]
"""From the path that a record names to the whole output kept there, or empty."""


class Cuts(Listing):
    """Results cut by the client or the tool."""

    def __init__(self, kept_text: KeptText, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._kept_text = kept_text
        self._kept: dict[str, int] = {}  # where the whole output is, and the index of its finding
        self._later: set[str] = set()
        self._gaps: dict[int, tuple[str, list[tuple[int, int]]]] = {}  # lines of a file that no call showed

    def model(self, text: str) -> None:
        """A model that names the file with the whole output went to see it."""
        if self._kept:
            self._later.update(path for path in self._kept if path in text)

    def result(self, result: Result) -> None:
        """Look at a result that was cut without the model asking for it."""
        seen = result.seen
        for run in seen.runs if self._gaps else ():
            self._fill(run.file, run.first, run.last)
        if seen.cut_by not in ("client", "tool"):
            return
        whole = result.whole or (self._kept_text(seen.kept_at) if seen.kept_at else "")
        lost = _lost_lines("\n".join(unwrap(whole).body), seen.text) if whole else []
        errors = _errors(result, lost)
        tells_rest = seen.kind == "read" and bool(seen.runs)  # offset and limit show the rest of a file
        tokens, known = estimate("\n".join(lost)), counted(len(lost), "line")
        if not whole or _PERSISTED_IN_PART in whole:
            tokens, known = _as_stated(result)
        if errors:
            quoted = " / ".join(excerpt(line.strip()) for line in errors[:_EXCERPTS])
            what = f"{counted(len(errors), 'error line')} among {known} that were truncated"
            self._say(result, "lost-errors", tokens, what, quoted)
        elif not tells_rest:
            gap = _gap(result)
            what = f"{known} truncated by the {seen.cut_by}{'' if gap else _rest(result)}"
            if self._say(result, "lost", tokens, what, "") and gap:
                self._gaps[len(self._rows) - 1] = (seen.runs[0].file, [gap])

    def _say(self, result: Result, kind: FindingKind, tokens: int, what: str, quoted: str) -> bool:
        added = self._add(finding_about(result, kind, tokens, what, quoted=quoted))
        if added and result.seen.kept_at:
            self._kept[result.seen.kept_at] = len(self._rows) - 1
        return added

    def _fill(self, file: str, first: int, last: int) -> None:
        """Lines that were left out of an earlier result came after all."""
        for index, (of, gaps) in self._gaps.items():
            if of == file:
                rest = [part for a, b in gaps for part in ((a, min(b, first - 1)), (max(a, last + 1), b))]
                self._gaps[index] = (of, list(dict.fromkeys((a, b) for a, b in rest if a <= b)))

    def findings(self) -> Iterator[Finding]:
        """The findings, without cuts whose rest the model went to see."""
        gone_to = {self._kept[path] for path in self._later}
        gone_to |= {index for index, (_, gaps) in self._gaps.items() if not gaps}
        return (
            self._told(index, finding) for index, finding in enumerate(self._rows) if index not in gone_to
        )

    def _told(self, index: int, finding: Finding) -> Finding:
        """A finding with the lines of its file that no later result showed."""
        _, gaps = self._gaps.get(index, ("", []))
        named = ", ".join(f"{first}-{last}" for first, last in gaps[:_EXCERPTS])
        more = f" and {len(gaps) - _EXCERPTS:,} more places" if len(gaps) > _EXCERPTS else ""
        return (
            replace(finding, what=f"{finding.what}; not read later: lines {named}{more}") if gaps else finding
        )


def _gap(result: Result) -> tuple[int, int] | None:
    """The first and the last line that were cut out of the middle of a file that a command printed."""
    runs = result.seen.runs
    if result.seen.kind != "command" or len(runs) != 2 or runs[0].file != runs[1].file:
        return None
    return (runs[0].last + 1, runs[1].first - 1) if runs[0].last + 1 < runs[1].first else None


def _rest(result: Result) -> str:
    """Ways for the model to see the rest of a result."""
    if result.seen.kept_at:
        return f"; the client put the whole output into {result.seen.kept_at}"
    narrower = "; only a narrower search shows it"
    return narrower if result.seen.kind == "search" else "; the rest could not be read"


def _as_stated(result: Result) -> tuple[int, str]:
    """The amount that was cut, by the mark of the cut; tokens are estimated from the shown part."""
    stated = stated_cut(result.returned.text)
    if stated is None:
        return 0, "an unknown part"
    count, unit = stated
    shown = result.returned.text.count("\n") + 1 if unit == "lines" else len(result.returned.text)
    return count if unit == "tokens" else round(result.tokens * count / shown), f"{count:,} {unit}"


_FORM = re.compile(r"(?:ERROR|Error|FATAL|FAIL|FAILED|panic|fatal|error(?:\[\w+\])?): ")
"""The beginning of a line that reports the failure of a program."""


def _errors(result: Result, lines: list[str]) -> list[str]:
    """The lines that report a failure, or else those with a word for failure if something did fail.

    Code speaks of errors in every language, so the content of a file is not a failure.
    """
    seen = result.seen
    command = command_of(result.called.arguments)
    if seen.kind not in ("command", "other"):
        return []
    if command and only_reads(command):
        return [line for line in lines if seen.exit_code and _FORM.match(line)]
    # Seventy rules for each of thousands of lines took half of an audit: one pattern finds candidates.
    heads = ((line, line[:WIDE_CHARS]) for line in lines)
    telling = ((line, head) for line, head in heads if holds(head.encode("utf-8", "replace"), _TELLING))
    weighed = [(line, found.weight) for line, head in telling if (found := clue(head))]
    sure = [line for line, weight in weighed if weight >= FAILURE]
    failed = seen.error or bool(seen.exit_code)
    return sure or [line for line, weight in weighed if failed and weight == WORD]


def _lost_lines(whole: str, shown: str) -> list[str]:
    """The lines of `whole` that are missing in `shown`, each as often as it is missing."""
    counts = Counter(map(str.strip, shown.split("\n")))
    lost = []
    for line in whole.split("\n"):
        bare = line.strip()
        if counts[bare] > 0:
            counts[bare] -= 1
        elif bare:
            lost.append(line)
    return lost


# -----------------------------------------------------------------------------
# Whole outputs that a client keeps in files near its record.
#
# The record names such a file by an absolute path of the machine it was written on. That path is not
# followed: only its last name is looked for, in the folders near the record where clients keep outputs.
# -----------------------------------------------------------------------------

_FOLDERS = frozenset({"tool-outputs", "tool-output", "tool-results", "tmp"})


def kept_text_of(record: Path) -> KeptText:
    """A function from the path in a record to the text of the file kept near `record`, or empty."""

    def text(path: str) -> str:
        name = path.replace("\\", "/").rpartition("/")[2]
        if not name or name in (".", "..") or "\0" in name or len(name) > 255:
            return ""
        for folder in _folders(record):
            with suppress(OSError):
                if content := sibling_bytes(Path(folder, name), KEPT_FILE_BYTES):
                    return content.decode("utf-8", "replace")
        return ""

    return text


def _folders(record: Path) -> list[str]:
    """The folders near a record in which its client keeps outputs, and the folders in them."""
    folders: list[str] = []
    nearby = [record.parent / record.stem, *list(record.parents)[:5]]
    for place in nearby:
        for name in sorted(_FOLDERS):
            folder = place / name
            if folder.is_symlink() or not folder.is_dir() or len(folders) >= KEPT_FOLDERS:
                continue
            folders.append(str(folder))
            with suppress(OSError), os.scandir(folder) as entries:
                inner = sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
                folders += inner[: KEPT_FOLDERS - len(folders)]
    return folders
