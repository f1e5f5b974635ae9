"""The places of secrets in some bytes: the one judgement, of masks and of the audit alike.

The library detect-secrets judges lines, with a few more published formats (`shapes`).  Nothing is verified,
so nothing leaves the machine.  Only what a line itself says counts, and of the lines above it whether a
private key begins there: so the judgement of a place does not depend on how much of a file was read, nor on
its name, and a copy or a new name shows no more.

A regex of RE2 that every judged line matches comes first, so most lines cost no more than a search.  Lines
that are longer than the detectors can take are judged in overlapping pieces, cut at fixed places of the file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from readroom.core.errors import MissingProgram
from readroom.core.extras import install
from readroom.core.secrets.codings import unescaped
from readroom.core.secrets.conditions import ASSIGNED, ESCAPED, QUOTED, SETTING, matching
from readroom.core.secrets.shapes import (
    BEGINS,
    KEYWORD,
    KINDS,
    LETTERS,
    LIBRARY,
    NAMED,
    NAMES,
    OWN,
    PRIVATE_KEY,
)

LINE_BYTES = 16 * 1024
"""The longest line that is judged whole."""

CELL_BYTES = 8 * 1024
"""A longer one is judged in cells that begin at multiples of this, each with as much on both sides: the
longest secret that is found in it for sure."""

REACH_BYTES = 3 * CELL_BYTES
"""How far from a byte the judgement looks, in its line."""

_LIBRARY_BYTES = 1024
"""The longest text that detectors of the library get: some take the square of its length."""

_LIBRARY_CELL = 512


class SecretPlace(NamedTuple):
    """A secret: where it begins, where it ends, and the letter of its kind."""

    start: int
    end: int
    letter: str


_CONDITIONS = {
    "AWSKeyDetector": r"A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA|(?i:aws)",
    "AzureStorageKeyDetector": r"AccountKey=",
    "BasicAuthDetector": r"://[^:/?#@\s]+:[^:/?#@\s]+@",
    "DiscordBotTokenDetector": r"\.[a-zA-Z\d_-]{6}\.[a-zA-Z\d_-]{12}",
    "GitHubTokenDetector": r"gh[pousr]_",
    "GitLabTokenDetector": r"gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-|GR1348941",
    "IbmCloudIamDetector": r"(?i:key|pwd|pass|password|token)[\"']?\]? *(?:[:= ]|:=|=>|::) *[\"']?[\w-]{16}",
    "IbmCosHmacDetector": r"(?i:secret[-_]?(?:access)?[-_]?key)",
    "JwtTokenDetector": r"eyJ[A-Za-z0-9_=-]+\.",
    "MailchimpDetector": r"[0-9a-z]-us[0-9]",
    "NpmDetector": r"_authToken",
    "OpenAIDetector": r"T3BlbkFJ",
    "PypiTokenDetector": r"pypi-Ag",
    "SendGridDetector": r"SG\.",
    "SlackDetector": r"(?i:xox[abposr]-|hooks\.slack\.com)",
    "SquareOAuthDetector": r"sq0csp-",
    "StripeDetector": r"[rs]k_live_",
    "TelegramBotTokenDetector": r"\d:[0-9A-Za-z_-]{20}",
    "TwilioKeyDetector": r"(?:AC|SK)[a-z0-9]{12}",
    "ArtifactoryDetector": r"(?:\s|=|:|\"|^)(?:AKC[a-zA-Z0-9]{10}|AP[\dABCDEF][a-zA-Z0-9]{8})",
    "KeywordDetector": QUOTED,
}
"""By detector, a pattern that each line matches in which it finds something; a test compares the two."""

_IN_GROUP = frozenset({"AWSKeyDetector", "BasicAuthDetector", "IbmCloudIamDetector", "IbmCosHmacDetector"})
"""Detectors whose regexes have the secret as their group; of others the whole match is one."""

_REAL = {
    # 35 random characters have digits and capitals; a number before a long word has neither.
    "TelegramBotTokenDetector": re.compile(r":(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])"),
    # Documentation has `USER:PASS@HOST` and `postgres:postgres@localhost`.
    "BasicAuthDetector": re.compile(
        r"\A(?!(?:[A-Z_]+|(?i:pass(?:word)?|passwd|pwd|secret|user|root|admin|postgres|mysql|example|test))\Z)[^<{$%]"
    ),
    # Names of constants are letters alone.
    "ArtifactoryDetector": re.compile(r"(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])"),
    "TwilioKeyDetector": re.compile(r"..(?=.*[0-9])"),
    "DiscordBotTokenDetector": re.compile(r"(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])"),
}
"""Patterns of real secrets of these kinds."""

_ANY = [one for name, one in _CONDITIONS.items() if name != "KeywordDetector"]
_MAYBE_ASSIGNED, _MAYBE_SETTING, _MAYBE_ANY = matching(ASSIGNED), matching(SETTING), matching(*_ANY)
_MAYBE_OWN = matching(*(one for *_, one in OWN))
_MAYBE_NAMED = matching(*(one for _, one in NAMED))
"""Conditions of values without quotes, lines of settings, the other detectors, and shapes of one's own."""

_MAYBE = matching(*_ANY, QUOTED, ASSIGNED, *(one for *_, one in OWN), *(one for _, one in NAMED))
_MAYBE_ESCAPED = matching(ESCAPED)
"""All of them, and what they miss where something is escaped: what matches neither has no secret.

They are two, because RE2 would have to tell so many more states apart, were they one.
"""

_NAMED = [(re.compile(shape), matching(one)) for shape, one in NAMED]

_OWN = [(LETTERS[kind], re.compile(shape), matching(one)) for kind, shape, one in OWN]

_ASSIGNED = re.compile(
    r"\s{0,40}(?:export\s+|set\s+|-\s+|--?|env\.|\"|')?[\w.\[\]-]{0,80}"
    rf"(?i:{NAMES}|token|passphrase)[\w.\]-]{{0,40}}[\"']?\s{{0,8}}(?::=|=>|[:=])\s{{0,8}}"
    r"(?![\"'`\[{(<$%&*@!|>:])([^\s\"'`,;(){}\[\]<>|&\\]{6,512}),?;?\s*(?:[#;].*|//.*)?\Z"
)
"""A line of settings that is one assignment without quotes: there a plain value counts."""

_INLINE = re.compile(
    rf"(?i:{NAMES}|token|passphrase)[\w.-]{{0,40}}=(?![\"'`\[{{(<$%&*@!|>=:])"
    r"([^\s\"'`,;(){}\[\]<>|&\\]{6,512})(?=\Z|[\s&;\"']|\\[nrt\"])"
    rf"|(?i:{NAMES}|token|passphrase)[\w.-]{{0,40}}:\s?(?![\"'`\[{{(<$%&*@!|>=:])"
    r"([^\s\"'`,;(){}\[\]<>|&\\]{6,512})(?=\Z|[\"']|\\[nrt\"])"
    rf"|(?i:{NAMES}|token|passphrase)[\w.-]{{0,40}}=(?=[^\s,]*[0-9])(?=[^\s,]*[a-z])(?=[^\s,]*[A-Z])"
    r"([^\s\"'`,;(){}\[\]<>|&\\]{6,512})(?=,)"
)
"""The same within a line, as in logs, addresses and commands."""

_PLAIN_VALUE = re.compile(
    r"[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)+\Z|[0-9.,:+-]+\Z|[A-Z](?:[A-Z]*[0-9]{0,3}|[A-Z0-9]*_[A-Z0-9_]*)\Z"
    r"|/(?![A-Za-z0-9+/]{22,4096}={1,2}\Z)|\./|~"
)
"""Values that are names of other things, numbers, constants and paths."""


def places(data: bytes, base: int = 0) -> list[SecretPlace]:
    """The secrets in some lines, in order and apart from each other, without private keys.

    `base` is the position of the first byte in its file, by which long lines are cut.
    """
    found: list[SecretPlace] = []
    for start, stop in _suspicious(data):
        if stop - start <= LINE_BYTES:
            line = in_line(data[start:stop])
            found += [SecretPlace(start + one.start, start + one.end, one.letter) for one in line]
        else:
            found += _in_long_line(data, start, stop, base)
    return merged(found)


def _suspicious(data: bytes) -> list[tuple[int, int]]:
    """The starts and the ends of the lines that may have a secret, in order."""
    found: dict[int, int] = {}
    for maybe in _conditions(data):
        at = 0
        while at < len(data) and (hit := maybe.search(data, at)) is not None:
            start, stop = _line(data, hit.start())
            found[start] = stop
            at = stop + 1
    return sorted(found.items())


def _conditions(data: bytes) -> tuple[Any, ...]:
    """The conditions of which lines or a part of one may meet one, if they have a secret."""
    return (_MAYBE, _MAYBE_ESCAPED) if b"\\" in data or b"&" in data else (_MAYBE,)


def _is_suspicious(data: bytes) -> bool:
    return any(maybe.search(data) is not None for maybe in _conditions(data))


def _line(data: bytes, at: int) -> tuple[int, int]:
    """The start and the end of the line of a byte; a carriage return alone ends one, too."""
    start, stop = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
    stop = len(data) if stop < 0 else stop
    returned = data.find(b"\r", at, stop)
    return data.rfind(b"\r", start, at) + 1 or start, stop if returned < 0 else returned


def merged(found: Iterable[SecretPlace]) -> list[SecretPlace]:
    """The places in order, those that overlap as one, of the more definite kind."""
    made: list[SecretPlace] = []
    for place in sorted(found):
        if made and place.start < made[-1].end:
            last = made[-1]
            letter = place.letter if last.letter in _VAGUE and place.letter not in _VAGUE else last.letter
            made[-1] = SecretPlace(last.start, max(last.end, place.end), letter)
        elif place.end > place.start:
            made.append(place)
    return made


_VAGUE = frozenset((LETTERS[KEYWORD], LETTERS["password in an address"], LETTERS["token"]))


def _in_long_line(data: bytes, start: int, stop: int, base: int) -> Iterator[SecretPlace]:
    first = start - (base + start) % CELL_BYTES
    for cell in range(first, stop, CELL_BYTES):
        low, high = max(start, cell - CELL_BYTES), min(stop, cell + 2 * CELL_BYTES)
        piece = data[low:high]
        if _is_suspicious(piece):
            for one in in_text(piece.decode("latin-1"), base + low):
                yield SecretPlace(low + one.start, low + one.end, one.letter)


@lru_cache(maxsize=4096)
def in_line(line: bytes) -> tuple[SecretPlace, ...]:
    """The secrets in one line, which is judged whole."""
    return tuple(merged(in_text(line.decode("latin-1"), 0)))


def in_text(text: str, base: int) -> list[SecretPlace]:
    """The secrets in the text of a line or a cell of one, as they are found: unordered, and some twice."""
    found = [
        place
        for place in _as_it_speaks(text, _by_shape)
        if text[place.start] != "\x7f" and not _MASKED.search(text, place.start, place.end)
    ]
    if len(text) <= _LIBRARY_BYTES:
        return [*found, *_as_it_speaks(text, _in_short_text)]
    for cell in range(-(base % _LIBRARY_CELL), len(text), _LIBRARY_CELL):
        low = max(0, cell - _LIBRARY_CELL)
        piece = text[low : max(0, cell) + 2 * _LIBRARY_CELL]
        every = _in_cell(piece)
        found += [SecretPlace(low + one.start, low + one.end, one.letter) for one in every]
    return found


@lru_cache(maxsize=4 * LINE_BYTES // _LIBRARY_CELL)
def _in_cell(piece: str) -> tuple[SecretPlace, ...]:
    """The secrets that the library and names find in a piece, which three cells of a long line share."""
    if not _is_suspicious(piece.encode("latin-1")):
        return ()
    return tuple(_as_it_speaks(piece, _in_piece))


def _as_it_speaks(text: str, judged: Callable[[str], Iterator[SecretPlace]]) -> Iterator[SecretPlace]:
    """The secrets of a text as it stands, and of the lines that it has when its escapes are undone."""
    yield from judged(text)
    for line, at in unescaped(text):
        for place in judged(line):
            yield SecretPlace(at[place.start], at[place.end - 1] + 1, place.letter)


def _by_shape(text: str) -> Iterator[SecretPlace]:
    data = text.encode("latin-1")
    for letter, shape, condition in _OWN if _MAYBE_OWN.search(data) is not None else ():
        if condition.search(data) is not None:
            for match in shape.finditer(text):
                group = next(number for number in range(1, len(match.groups()) + 1) if match[number])
                yield SecretPlace(*match.span(group), letter)


def _in_short_text(text: str) -> Iterator[SecretPlace]:
    data = text.encode("latin-1")
    if _MAYBE_SETTING.search(data) is not None:
        assigned = _ASSIGNED.match(text)
        if assigned is not None and not _PLAIN_VALUE.match(assigned[1]) and _is_real(assigned[1], ""):
            yield SecretPlace(*assigned.span(1), LETTERS[KEYWORD])
    yield from _inline(text, data)
    yield from _by_library(text)
    yield from _named(text, data)


def _in_piece(text: str) -> Iterator[SecretPlace]:
    data = text.encode("latin-1")
    yield from _by_library(text)
    yield from _named(text, data)
    yield from _inline(text, data)


def _named(text: str, data: bytes) -> Iterator[SecretPlace]:
    if _MAYBE_NAMED.search(data) is None:
        return
    for shape, condition in _NAMED:
        if condition.search(data) is not None:
            for match in shape.finditer(text):
                group = shape.groups
                if not _PLAIN_VALUE.match(match[group]) and _is_real(match[group], ""):
                    yield SecretPlace(*match.span(group), LETTERS[KEYWORD])


def _inline(text: str, data: bytes) -> Iterator[SecretPlace]:
    first = _MAYBE_ASSIGNED.search(data)
    for match in () if first is None else _INLINE.finditer(text, first.start()):
        group = match.lastindex or 0
        if not _PLAIN_VALUE.match(match[group]) and _is_real(match[group], ""):
            yield SecretPlace(*match.span(group), LETTERS[KEYWORD])


def _by_library(text: str) -> Iterator[SecretPlace]:
    data = text.encode("latin-1")
    every = detectors()
    if _MAYBE_ANY.search(data) is None:
        every = every[-1:]
    for name, letter, condition, regexes, is_valid in (
        every if _MAYBE_ANY.search(data) is not None else every[-1:]
    ):
        if condition.search(data) is None:
            continue
        real = _REAL.get(name)
        for regex, group in regexes:
            for match in regex.finditer(text):
                start, end = match.span(group if group and match[group] else 0)
                secret = text[start:end]
                # A type in brackets is no reference to a value.
                if name == "KeywordDetector" and not _is_real(secret, "" if regex is _TYPED else text):
                    continue
                if name == "ArtifactoryDetector":
                    start, end = _trimmed(text, start, end)
                    secret = text[start:end]
                if secret.startswith("\x7f"):
                    continue  # it is the sign of one
                if name != "KeywordDetector" and _is_within(start, end, text):
                    continue
                if (real is None or real.search(secret)) and (is_valid is None or is_valid(secret)):
                    yield SecretPlace(start, end, letter)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Without the separators that a regex takes along."""
    while start < end and not text[start].isalnum():
        start += 1
    while start < end and not text[end - 1].isalnum():
        end -= 1
    return start, end


_WALRUS = re.compile(rf"(?i:{NAMES})\w*\s{{0,8}}:=\s{{0,8}}[\"`]([^\"`\n]{{6,512}})[\"`]")
"""Short declarations of Go, whose form the library takes in files of Go alone."""

_TYPED = re.compile(
    rf"(?i:{NAMES})\w*\??\s{{0,8}}:\s{{0,8}}[\w&'<>\[\]|.,? ]{{1,60}}="
    r"\s{0,8}[\"'`]([^\"'`\n]{6,512})[\"'`]"
)
"""Declarations with a type, as in Python, TypeScript, Rust, Kotlin and Swift."""

_REFERENCE = re.compile(r"\$\{|\{\{|%\(|\benv\b|\benviron\b|getenv|\A(?:https?|file)://[^@]*\Z")
_PROSE = re.compile(r"\A[^0-9]*\s[^0-9]*\Z|(?:\b[A-Za-z']+\b[ ,.:]+){3}")
_DOTTED = re.compile(
    r"[A-Za-z_]+(?:(?:\.|::)[A-Za-z_]+)+\Z|(?i:_*todo)|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:\Z|[T ])"
)
_PLACEHOLDER = re.compile(
    r"(?i)\A(?:x+|\*+|\.+|-+|_+|your[-_ ].*|change[-_ ]?me.*|<.*>|example.*|placeholder.*"
    r"|redacted.*|dummy.*|none|null|(?:[a-z0-9]{1,8}[-_]){1,4}(?:\.{3}|\xe2\x80\xa6))\Z"
)
"""A value that stands for another, also the beginning of a key without the key: `sk-ant-...`.
Text is decoded as Latin-1 here, an ellipsis too.
"""

_SPEAKS_OF_ONE = re.compile(
    r"(?i)(?:\A|[^a-z])(?:fake|dummy|example|sample|placeholder|change-?me|your|secrets?|passw(?:or)?d|pwd"
    r"|tokens?|keys?|string|none|null)(?:[^a-z]|\Z)"
)
"""A value of words that is not a secret but speaks of one, as in `my-client-secret` and `"string?"`."""

_MASKED = re.compile(r"\[(?:masked|redacted)\b|\*{4}|x{6}", re.IGNORECASE)

_BLOB = re.compile(r"[A-Za-z0-9+/]{60,}")


def _is_within(start: int, end: int, text: str) -> bool:
    """Whether a short secret only stands within the letters of something long, such as a picture as text."""
    return end - start < 60 and any(
        blob.start() <= start and end <= blob.end() for blob in _BLOB.finditer(text)
    )


def _is_real(secret: str, line: str) -> bool:
    from detect_secrets.filters import heuristic

    if "\x7f" in secret or len(secret) < 6 or not re.search(r"[0-9]|[^\w]", secret):
        return False
    if _MASKED.search(secret) or (not re.search(r"[0-9]", secret) and _SPEAKS_OF_ONE.search(secret)):
        return False
    if (
        _REFERENCE.search(secret)
        or _PROSE.search(secret)
        or _PLACEHOLDER.match(secret)
        or _DOTTED.match(secret)
    ):
        return False
    return not (
        heuristic.is_indirect_reference(line)
        or heuristic.is_templated_secret(secret)
        or heuristic.is_prefixed_with_dollar_sign(secret)
        or heuristic.is_not_alphanumeric_string(secret)
        or heuristic.is_sequential_string(secret)
    )


@cache
def detectors() -> tuple[tuple[str, str, Any, tuple[tuple[re.Pattern[str], int], ...], Any], ...]:
    """Each detector: name, letter, condition, regexes with their groups, and a last test."""
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
        from detect_secrets.plugins import keyword
    except ImportError:
        raise MissingProgram("detect-secrets", install("audit")) from None
    made: list[Any] = []
    known: Any
    for known in get_mapping_from_secret_type_to_class().values():
        name = known.__name__
        if name in LIBRARY:
            regexes = tuple(
                (regex, regex.groups and 1 if name in _IN_GROUP else 0) for regex in known().denylist
            )
            is_valid = getattr(known, "is_formally_valid", None)
            made.append((name, LETTERS[LIBRARY[name]], matching(_CONDITIONS[name]), regexes, is_valid))
    groups = {**keyword.QUOTES_REQUIRED_DENYLIST_REGEX_TO_GROUP, **keyword.COMMON_C_DENYLIST_REGEX_TO_GROUP}
    groups |= keyword.C_PLUS_PLUS_REGEX_TO_GROUP
    quoted = (*groups.items(), (_WALRUS, 1), (_TYPED, 1))
    name = "KeywordDetector"
    made.append((name, LETTERS[KEYWORD], matching(_CONDITIONS[name]), quoted, None))
    return tuple(made)


def require() -> None:
    """Raise MissingProgram where the library is not installed."""
    detectors()


def installed() -> bool:
    """Whether secrets can be looked for."""
    try:
        detectors()
    except MissingProgram:
        return False
    return True


def suspicious(lines: Sequence[str]) -> list[int]:
    """The places in a list of the lines that may have a secret, in order: `found` in any other finds none.

    All are looked at together, which takes a small part of the time of one after the other.
    """
    encoded = [line.encode("utf-8", "surrogatepass") for line in lines]
    data, ends = b"\n".join(encoded), list(accumulate(len(line) + 1 for line in encoded))
    starts = [start for start, _ in _suspicious(data)] + [match.start() for match in BEGINS.finditer(data)]
    return sorted({bisect_right(ends, start) for start in starts})


def found(line: str) -> list[tuple[str, str]]:
    """The kinds and the texts of the secrets in one line; a private key by its first line."""
    data = line.encode("utf-8", "surrogatepass")
    made = [
        (KINDS[place.letter], data[place.start : place.end].decode("utf-8", "replace"))
        for place in places(data)
    ]
    made += [(PRIVATE_KEY, match.group().decode("ascii")) for match in BEGINS.finditer(data)]
    return made
