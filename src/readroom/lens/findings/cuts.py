"""Results that were cut: whether the rest could be seen, and what stood in it, error lines first.

What was cut away is in the record only where the client keeps the whole for the screen, or beside the
record where it keeps it in a file; otherwise the finding says that nobody can tell.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from readroom.lens.bounds import Bounds
from readroom.lens.evidence.numbering import WIDE_CHARS
from readroom.lens.evidence.wrapping import stated_cut, unwrap
from readroom.lens.findings.places import Listing, excerpt, finding_about
from readroom.lens.normal_form import Finding, FindingKind, counted
from readroom.lens.sessions import Result
from readroom.limits.lens import KEPT_FILE_BYTES, KEPT_FOLDERS
from readroom.text.output import holds
from readroom.text.output.patterns import FAILURE, TIERS, WEAK, WORD, clue
from readroom.text.tokens import estimate

_EXCERPTS = 3

_TELLING = "|".join((*TIERS, f"(?:{WEAK})"))
"""Found in every line that says what failed."""

_PERSISTED_IN_PART = "\n... command output truncated for persistence ...\n"
"""Where Codex keeps less of a long output than it had."""

KeptText = Callable[[str], str]
"""The text of a file in which a client kept a whole output, empty where there is none."""


class Cuts(Listing):
    """Results cut by the client or the tool."""

    def __init__(self, kept_text: KeptText, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._kept_text = kept_text
        self._kept: dict[str, int] = {}  # where the whole is, and the finding that says so
        self._later: set[str] = set()

    def model(self, text: str) -> None:
        """A model that names where the whole is kept has gone to see it."""
        if self._kept:
            self._later.update(path for path in self._kept if path in text)

    def result(self, result: Result) -> None:
        """Look at a result that was cut without the model asking for it."""
        seen = result.seen
        if seen.cut_by not in ("client", "tool"):
            return
        whole = result.whole or (self._kept_text(seen.kept_at) if seen.kept_at else "")
        lost = _lost_lines("\n".join(unwrap(whole).body), seen.text) if whole else []
        errors = _errors(lost)
        tells_rest = seen.kind == "read" and bool(seen.runs)  # offset and limit show the rest of a file
        tokens, known = estimate("\n".join(lost)), counted(len(lost), "line")
        if not whole or _PERSISTED_IN_PART in whole:
            tokens, known = _as_stated(result)
        if errors:
            quoted = " / ".join(excerpt(line.strip()) for line in errors[:_EXCERPTS])
            what = f"{counted(len(errors), 'error line')} among {known} that were cut away"
            self._say(result, "lost-errors", tokens, what, quoted)
        elif not tells_rest:
            self._say(result, "lost", tokens, f"{known} cut by the {seen.cut_by}{_rest(result)}", "")

    def _say(self, result: Result, kind: FindingKind, tokens: int, what: str, quoted: str) -> None:
        if self._add(finding_about(result, kind, tokens, what, quoted=quoted)) and result.seen.kept_at:
            self._kept[result.seen.kept_at] = len(self._rows) - 1

    def findings(self) -> Iterator[Finding]:
        """What was found, without what the model went to see where the whole is kept."""
        gone_to = {self._kept[path] for path in self._later}
        return (finding for index, finding in enumerate(self._rows) if index not in gone_to)


def _rest(result: Result) -> str:
    """How the rest of a result could have been seen."""
    if result.seen.kept_at:
        return f", the whole is kept at {result.seen.kept_at}"
    return (
        ", seen by a narrower search alone" if result.seen.kind == "search" else " and no way to see the rest"
    )


def _as_stated(result: Result) -> tuple[int, str]:
    """What was cut where nobody kept it, as its mark says: with tokens as dense as in what was shown."""
    stated = stated_cut(result.returned.text)
    if stated is None:
        return 0, "an unknown part"
    count, unit = stated
    shown = result.returned.text.count("\n") + 1 if unit == "lines" else len(result.returned.text)
    return count if unit == "tokens" else round(result.tokens * count / shown), f"{count:,} {unit}"


def _errors(lines: list[str]) -> list[str]:
    """The lines that say what failed; where none is sure to, those with a word for it."""
    # Seventy rules for each of thousands of lines took half of an audit: one pattern says which may fit.
    heads = ((line, line[:WIDE_CHARS]) for line in lines)
    telling = ((line, head) for line, head in heads if holds(head.encode("utf-8", "replace"), _TELLING))
    weighed = [(line, seen.weight) for line, head in telling if (seen := clue(head))]
    sure = [line for line, weight in weighed if weight >= FAILURE]
    return sure or [line for line, weight in weighed if weight == WORD]


def _lost_lines(whole: str, shown: str) -> list[str]:
    """The lines of the whole that the shown text does not have, as often as it does not have them."""
    counts: dict[str, int] = {}
    for line in shown.split("\n"):
        counts[line.strip()] = counts.get(line.strip(), 0) + 1
    lost = []
    for line in whole.split("\n"):
        bare = line.strip()
        if counts.get(bare, 0) > 0:
            counts[bare] -= 1
        elif bare:
            lost.append(line)
    return lost


# -----------------------------------------------------------------------------
# Whole outputs that a client keeps in files beside its records, found by their names and never by paths.
#
# A record names such a file by an absolute path of the machine it was written on. The path is not followed:
# a file of that name is looked for in the folders where clients keep them, near the record.
# -----------------------------------------------------------------------------

_FOLDERS = frozenset({"tool-outputs", "tool-output", "tool-results", "tmp"})


def kept_beside(record: Path) -> Callable[[str], str]:
    """What gives the text of a file that a client kept near `record`; empty where there is none."""

    def text(path: str) -> str:
        name = path.replace("\\", "/").rpartition("/")[2]
        if not name or name in (".", "..") or "\0" in name or len(name) > 255:
            return ""
        for folder in _folders(record):
            content = _read(os.path.join(folder, name))
            if content:
                return content
        return ""

    return text


def _folders(record: Path) -> list[str]:
    """The folders near a record in which its client keeps outputs, and those inside of them."""
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


def _read(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return stream.read(KEPT_FILE_BYTES).decode("utf-8", "replace")
