"""How names are displayed: as they are, or quoted in git's style where they could be misread.

One rule for every place that shows a name, whether a line of its own, a heading, a
sentence or a fact.  `RULES` is the grammar of our own lines and sentences, seen from a
name: what in it could pass for a part of the line.  Such a name, and one with
characters that a reader cannot see, is put in double quotes with C escapes.  So a plain
name ends where the grammar says that it ends, a quoted one at its quote, and the rest of the line is ours.
`paths.parse` takes the quotes off again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from unicodedata import normalize

ESCAPES = {
    "\a": r"\a",
    "\b": r"\b",
    "\t": r"\t",
    "\n": r"\n",
    "\v": r"\v",
    "\f": r"\f",
    "\r": r"\r",
    '"': r"\"",
    "\\": r"\\",
}
"""The characters with an escape of their own; all others are octal bytes."""

_UNESCAPES = {escape[1]: char for char, escape in ESCAPES.items()}

_ESCAPE = r"(?s)\\(?:([0-3][0-7]{2})|(.?))"

# Printable by Unicode category but invisible: marks and letters that can hide text
# in a name. `str.isprintable` detects all other invisible characters.
_BLANK = "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"

FOLLOWING = (
    "aliases", "already", "are", "at least", "because", "cannot", "changed", "contains", "defines", "denied",
    "did", "does", "due to", "files are", "has", "holds", "is", "itself", "not", "replacing", "says", "was",
    r"and \d+ more", r"\d+ times",
)  # fmt: skip
"""Words that follow a name in our sentences."""

_AFTER_COMMA = ("not", "which")


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`".replace(r"\d+", "9") for word in words)


RULES: tuple[tuple[str, str], ...] = (
    ("a double quote, or another quote at its beginning", r"""\"|\A['`]"""),
    ("a blank at one of its ends, or next to a slash", r"\A | \Z|/ | /"),
    ("no letter and no digit, as `--`", r"\A(?![./]\Z)[!-/:-@\[-`{-~ ]+\Z"),
    ("brackets that do not pair, as `a) b (c`", r"(?!)"),
    (
        "a bracket at its beginning with a blank inside, as `[end of file]`, or `[empty]`",
        r"\A\[[^\]]* |\A\[empty\]\Z",
    ),
    (
        "the beginning of a heading, an item or a line of a diff, as `## `, `- `, `@@ ` or a backslash",
        r"\A(?:#+|[-+*>]+|@@) |\A\\",
    ),
    (
        "the beginning of a line that counts, as `5 matches` or `3 files`",
        r"\A\d[\d,+]* (?:match(?:es)?|files?|entries|entry)\b",
    ),
    ("a colon at its end, as `stderr:`", r":\Z"),
    (
        "the end of a clause or of a bracket before a blank, as `a. b`, `a: b` or `(a) b`",
        r"[.:;!?)\]}] ",
    ),
    ("a bar or an arrow between blanks, as `a | b` or `a -> b`", r"(?: |\A)(?:\||->)(?: |\Z)"),
    (
        "a remark at its end like those that we add to names, as `a (special file)`",
        r"(?:\A| )\((?:special file|before|after|sandbox mode|more[^)]*|lines? [\d-]+|denied[^)]*)\)\Z",
    ),
    (
        "a word with a colon that opens a sentence of ours: `Next:`, `Note:`, `Warning:`, `Error:`",
        r"(?i:\b(?:next|notes?|warnings?|error):)",
    ),
    (
        "after a blank, a word that follows names in our sentences: "
        f"{_listed(FOLLOWING)}; after a comma {_listed(_AFTER_COMMA)}",
        rf" (?:{'|'.join(FOLLOWING)})(?: |\Z)|, (?:{'|'.join(_AFTER_COMMA)}) ",
    ),
)
"""Why a name is quoted: in words, and as it is searched for. Brackets are counted, not searched."""

# Compiled for the first unusual name, like all patterns below: together they take 2 ms.
_OURS = "|".join(pattern for _, pattern in RULES)

# The names of nearly all files need no quoting; this check takes a tenth of the time of the rules.
_EVERYDAY = re.compile(r"\.?[A-Za-z0-9_@][A-Za-z0-9_@./+=,~%$#-]*", re.ASCII)

_BRACKETS = r"[()\[\]]"
_PAIRS = {")": "(", "]": "["}


KEY_BYTES = 512
"""A key of several names has to fit into 2,704 bytes, the most that an index of PostgreSQL takes."""

_DIGEST_BYTES = 67


class Misquoted(ValueError):
    """Text in quotes that is not a quoted name; the message is a clause about it."""


def quote(name: str) -> str:
    """A name as replies show it: that of a file, or any other name that strangers chose."""
    return name if _is_plain(name) else in_quotes(name)


def as_value(name: str) -> str:
    """A name as a JSON value, in arguments and facts, where only JSON marks its end.

    Quoted only where a reader would not see all of it, or could take it for quoted.
    """
    odd = name.startswith(('"', " ")) or name.endswith(" ")
    plain = bool(_EVERYDAY.fullmatch(name)) or (_is_visible(name) and not odd)
    return name if plain else in_quotes(name)


def as_key(name: str, maximum: int = KEY_BYTES) -> str:
    """A name as a key in a database: as a value, and never longer than an index takes.

    The part that is cut off counts by its hash: two long names are two keys.
    """
    key = as_value(name)
    if len(key.encode()) <= maximum:
        return key
    import hashlib

    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{key.encode()[: maximum - _DIGEST_BYTES].decode(errors='ignore')}...{digest}"


def in_quotes(name: str) -> str:
    """A name in quotes, in any case."""
    return '"' + "".join(map(_quoted, name)) + '"'


def joined(names: Iterable[str], between: str = ", ") -> str:
    """Names as a list in a sentence; a name that contains the separator is quoted."""
    return between.join(in_quotes(name) if between in name else quote(name) for name in names)


def first_of(names: Sequence[str], maximum: int, total: int | None = None) -> str:
    """The first `maximum` names as a list in a sentence, and how many more there are, or of `total`."""
    more = (len(names) if total is None else total) - maximum
    return joined(names[:maximum]) + (f" and {more:,} more" if more > 0 else "")


def as_given(name: str, maximum: int | None = None) -> str:
    """A name as its caller wrote it, in quotes or not, in about `maximum` UTF-8 bytes."""
    inner = unquoted(name)
    if inner is None or in_quotes(inner) != name:
        return quote(name) if maximum is None else shortened(name, maximum)
    return (
        name
        if maximum is None or len(name.encode("utf-8", "replace")) <= maximum
        else shortened(inner, maximum)
    )


def is_in_quotes(text: str) -> bool:
    """Whether it is between two quotes; what is between them may be invalid."""
    return len(text) >= len('""') and text[0] == text[-1] == '"'


def unquoted(text: str) -> str | None:
    """The name in quotes; None if it is not quoted, or not correctly."""
    try:
        return without_quotes(text) if is_in_quotes(text) else None
    except Misquoted:
        return None


def without_quotes(text: str) -> str:
    """The name in quotes. Raises Misquoted."""
    inner = text[1:-1]
    if "\\" not in inner and '"' not in inner:
        return inner
    data = bytearray()
    at = 0
    for match in re.finditer(_ESCAPE, inner):
        data += _encoded(inner[at : match.start()])
        octal, letter = match.groups()
        if octal:
            data.append(int(octal, 8))
        elif letter in _UNESCAPES:
            data += _UNESCAPES[letter].encode()
        else:
            raise Misquoted("has an escape in its quotes that git does not write")
        at = match.end()
    data += _encoded(inner[at:])
    return data.decode("utf-8", "surrogateescape")


def _encoded(text: str) -> bytes:
    if '"' in text:
        raise Misquoted("has a double quote inside its quotes without a backslash")
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise Misquoted("contains half of a surrogate pair") from None


def shortened(name: str, maximum: int) -> str:
    """A name as shown, in about `maximum` UTF-8 bytes: its beginning and its end if it is longer."""
    quoted = quote(name)
    if len(quoted) <= maximum and len(quoted.encode("utf-8", "replace")) <= maximum:
        return quoted
    # Truncate the name itself: truncating its quoted form could end the quotes early.
    half = maximum // 2
    while half and len(quoted.encode("utf-8", "replace")) > maximum:
        quoted = quote(f"{name[:half]}…{name[-half:]}")
        half = half * 3 // 4
    return quoted


_TITLED = r"\A\"|, (?:lines|rows) \d+-\d+ of \d+\Z| \((?:page|slide|sheet|cell|section) \d+\)\Z"


def title(text: str) -> str:
    """A title in a heading of ours, which ends with what is shown of it.

    The line begins with our words and has no sentences in it, so that titles are quoted for less than names.
    """
    return text if _is_visible(text) and not re.search(_TITLED, text) else in_quotes(text)


def _is_plain(name: str) -> bool:
    if _EVERYDAY.fullmatch(name):
        return True
    if not _is_visible(name) or not _is_unlike_ours(name):
        return False
    # A full-width bracket or colon looks like one of the reply's own.
    return name.isascii() or _is_unlike_ours(normalize("NFKC", name))


def _is_visible(name: str) -> bool:
    return name.isprintable() and (name.isascii() or not re.search(_BLANK, name))


def _is_unlike_ours(name: str) -> bool:
    return not re.search(_OURS, name) and _is_paired(name)


def _is_paired(name: str) -> bool:
    """Whether no bracket in the name can close one of ours."""
    open_: list[str] = []
    for char in re.findall(_BRACKETS, name):
        if char in "([":
            open_.append(char)
        elif not open_ or open_.pop() != _PAIRS[char]:
            return False
    return not open_


def _quoted(char: str) -> str:
    if char in ESCAPES:
        return ESCAPES[char]
    if char.isprintable() and not re.match(_BLANK, char):
        return char
    errors = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", errors))


_UNSEEN = re.compile(
    "[\0-\x08\x0a-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


def plain(text: str, maximum: int = 400) -> str:
    """A text of a record on one line; what controls a terminal, or hides or reorders text, is escaped."""
    short = text if len(text) <= maximum else text[: maximum - 1] + "…"
    return _UNSEEN.sub(lambda match: ascii(match[0])[1:-1], short)


_WITH_IES = re.compile(r"(?<=[^aeiou])y\Z")
_WITH_ES = ("s", "x", "z", "ch", "sh")
_WITH_MORE = re.compile(r"(.*?)( )((?:of|in|to|by|that|with|without|outside) .*)")


def plural(kind: str) -> str:
    """The plural of a kind: `header or footer` is `headers or footers`, `link to it` is `links to it`."""
    parted = _WITH_MORE.match(kind)
    noun, space, rest = parted.groups() if parted else (kind, "", "")
    plurals = (
        _WITH_IES.sub("ie", name) + ("es" if name.endswith(_WITH_ES) else "s") for name in noun.split(" or ")
    )
    return " or ".join(plurals) + space + rest
