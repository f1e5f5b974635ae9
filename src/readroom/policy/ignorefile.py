"""`.readroomignore` and `.kilocodeignore` of the root: names that the owner of a folder keeps from agents.

Their syntax is that of .gitignore.  They are read through the store, so a link out of
the root is no way to put other rules in place, and looked at again with every
call: a line that is added takes effect at once.  A file that cannot be used
closes the workspace rather than opening what it was meant to close.
"""

from __future__ import annotations

from typing import final

from readroom.errors import BadConfig, ReadroomError, StoreFailed
from readroom.limits import IGNORE_FILE_BYTES, IGNORE_FILE_LINES
from readroom.model import Version
from readroom.paths import WorkPath
from readroom.policy.patterns import decode_lines, patterns
from readroom.policy.rules import Denials, Rule
from readroom.policy.wildmatch import UnusablePattern
from readroom.stores.base import Store

KILO = WorkPath(".kilocodeignore")
"""The file of Kilo Code, which names itself, too."""

NAMES = (KILO, WorkPath(".readroomignore"))
"""Each restricts further, so that no order matters but that of naming the rule."""

_REASON = "the owner of this folder keeps it from agents"
_ITSELF = "it says what is kept from agents"
_ADVICE = "Ask the user to correct the file or to remove it; until then nothing can be read."


@final
class IgnoreFile:
    """The layer of one file, kept while the file stays as it is."""

    __slots__ = ("_kept", "_name", "_store")

    def __init__(self, store: Store, name: WorkPath) -> None:
        self._store = store
        self._name = name
        self._kept: tuple[Version | None, Denials | None] = (None, None)

    def layer(self) -> Denials | None:
        """What the file denies; None without a file. The same object while it stays the same.

        Raises:
            BadConfig: It is there and cannot be used.
        """
        try:
            seen = self._store.version(self._name)
        except StoreFailed:
            raise  # of the store, not of this file
        except ReadroomError as error:
            raise BadConfig(self._name, "", error.message, _ADVICE) from None
        if seen is None:
            return None
        # One reference, replaced as a whole: threads see an old pair or a new one.
        known, layer = self._kept
        if known != seen or layer is None:
            layer = _parsed(self._read(), self._name)
            self._kept = (seen, layer)
        return layer

    def _read(self) -> bytes:
        try:
            with self._store.open(self._name) as source:
                if source.size > IGNORE_FILE_BYTES:
                    problem = f"it has {source.size:,} bytes, more than {IGNORE_FILE_BYTES:,}"
                    raise BadConfig(self._name, "", problem, _ADVICE)
                return source.read_at(0, IGNORE_FILE_BYTES)
        except (BadConfig, StoreFailed):
            raise
        except ReadroomError as error:
            raise BadConfig(self._name, "", error.message, _ADVICE) from None


def _parsed(data: bytes, name: WorkPath) -> Denials:
    rules: list[Rule] = []
    found = patterns(decode_lines(data))
    if len(found) > IGNORE_FILE_LINES:
        raise BadConfig(name, "", f"it has more than {IGNORE_FILE_LINES} patterns", _ADVICE)
    for pattern in found:
        try:
            pattern.compiled()
        except UnusablePattern:
            problem = f"{pattern.text!r} is no pattern that can match a name"
            raise BadConfig(name, f"line {pattern.number}", problem, _ADVICE) from None
        rules.append(Rule(pattern.text, f"{name}:{pattern.number}", _REASON))
    if name == KILO:
        # Behind the others, so that none of them takes it back.
        rules.append(Rule(f"/{name}", name, _ITSELF))
    return Denials(rules)
