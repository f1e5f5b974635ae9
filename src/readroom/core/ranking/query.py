"""Parse a question: its words with their weights, and the names that it spells out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from itertools import pairwise

from msgspec import Struct

from readroom.core.ranking.words import (
    attached,
    fold,
    is_unspaced,
    lower,
    plain,
    spelled_out,
    stem,
    sub_words,
)

MAX_TERMS = 32
"""Words that are looked for; each costs a pass over the whole tree.  Real issues have 10 to 60."""

MAX_CHARS = 20_000
"""Length above which only the most unusual lines of a question are used, as for a pasted log."""

_READ_CHARS = 1_000_000
"""Length above which only the beginning and the end are read, where logs and traces say what went wrong."""

_RUN, _VARIES = re.compile(r"[\w.+-]+"), re.compile(r"\D*\d|[A-Fa-f]{8,}\Z")
"""Runs that differ between lines of a log with the same message: times, numbers, ids.
Both in one pattern would take the square of a long run."""

_WHOLE_NAMES = 8
"""Names in programs that are also looked for as spelled: 1 to 4 points of coverage."""

_TITLE_CHARS = 100
_LATER_WEIGHT = 0.5
"""Weight of words that occur only after the first line: a title says what it is about. With 1.0 the coverage
of fixes at 5,000 tokens is 2 points lower."""

_HEADING_WORDS = 3
"""Telling words of a first line that says what is asked for; a greeting or a heading has fewer."""

_STAMP = re.compile(r"\d\d:\d\d:\d\d|\d{4}-\d\d-\d\d")
"""Recognizes the first line of a pasted log, which is not a title."""

_REPEATED = 8
"""A word that is more frequent in a log is common to its lines."""

_STOP = frozenset(
    """a about after all also an and any are as at be because been before being but by can cannot
    could did do does doing done each for from get gets got had has have how i if in into is it its
    just let like make makes me more my need no not of off on one only or our out over should so
    some such than that the their them then there these they this those through to too under up us
    use used uses using via want was way we were what when where which while who why will with
    within without work works would you your bug bugs fix fixed fixes fixing
    again came come comes decide decided decides goes happen happened happens know knows went""".split()  # noqa: SIM905
)
"""Words that are common in questions and titles; counted if there is nothing else."""

_HOW_TO = re.compile(r"\bhow (?:to|(?:do|can|could|should|would) (?:i|we|you|one))\b", re.IGNORECASE)
"""Phrases that ask for a guide; how the program does something is another question."""

_SYMBOL = re.compile(r"[@#$]?[^\W\d][\w$]*(?:(?:::|->|[.#\\])~?[^\W\d][\w$]*)*(?:[!?]|\(\))?")
_SEPARATOR = re.compile(r"::|->|[.#\\]")
_NAME = re.compile(r"[^\W\d]\w*")
_QUALIFIED = re.compile(r"\b[^\W\d]\w*(?:(?:::|->|[.#\\])[^\W\d]\w*)+")
"""Begins at a border of words only: any other pattern would take the square of a long run."""


_BETWEEN_PATHS, _ENDING = re.compile(r"[^\w@.+/\\-]+"), re.compile(r"\w\.[A-Za-z]\w{0,7}\Z")
_PATHS, _PATH_CHARS = 32, 300
"""Names of files in a question, such as those of a trace, and their length; those at its end say most."""

_RUN_OF_LETTERS = re.compile(r"[^\W\d_]+|\d+")
_PIECE_LETTERS = 3
"""Letters of the shortest piece of a name such as `ETag` that is looked for besides the whole."""


class Term(Struct, frozen=True):
    """A word to look for.

    Attributes:
        stem: The stem of the words that count.
        key: The beginning of those words, in lower case.
        word: The word of the question, folded, in lower case.
        weight: Its weight.
        anywhere: Whether it counts inside longer runs of letters, as in scripts without blanks.
    """

    stem: str
    key: str
    word: str
    weight: float = 1.0
    anywhere: bool = False

    def is_stem_of(self, word: str) -> bool:
        """Whether a sub-word in lower case counts as an occurrence."""
        # Stemming a word takes a tenth of a millisecond, and few words share a beginning.
        return word == self.stem or (word.startswith(self.key) and stem(word) == self.stem)


class Query(Struct, frozen=True):
    """A parsed question.

    Attributes:
        text: The question.
        terms: Its words, each stem once.
        symbol: If it is a single name, the parts of that name, the last being the definition; else empty.
        names: Names in it that are spelled like identifiers.
        left_out: Words that are not searched for because there are too many.
        asks_how_to: Whether guides answer it as well as the program.
        paths: Possible paths of files in it, split, in lower case.
        qualified: Names in it with what they belong to, such as `Writer.write` or `Store::open`.
        subject: The stems of its first line, or of all of it where that is a heading or a log.
    """

    text: str
    terms: Sequence[Term]
    symbol: tuple[str, ...] = ()
    names: Sequence[str] = ()
    left_out: int = 0
    asks_how_to: bool = False
    paths: frozenset[tuple[str, ...]] = frozenset()
    qualified: frozenset[tuple[str, str]] = frozenset()
    subject: frozenset[str] = frozenset()

    def asks_for(self, *words: str) -> bool:
        """Whether the question is about one of these stems; its details may name them for other reasons."""
        return not self.subject.isdisjoint(words)


def term_of(word: str, weight: float = 1.0) -> Term:
    """The term for a sub-word."""
    anywhere, stemmed = is_unspaced(word[0]), stem(word[attached(word) :])
    # Stemming turns `cache` and `caching` into `cach`, but leaves the e of `store`; y becomes i.
    key = stemmed if anywhere else stemmed.rstrip("ei")
    return Term(stemmed, key if len(key) > 1 else stemmed, word, weight, anywhere)


def parse(text: str) -> Query:
    """Parse a question; it has no terms if it has no letters or digits."""
    first = text.strip().partition("\n")[0]
    text, often = _unlike_others(text)
    words = Counter(_asked(text))
    is_log = _STAMP.search(first) is not None
    # A piece of `ETag` is less than what is asked for.
    title = set(words if is_log else _asked(first[:_TITLE_CHARS], _TITLE_CHARS))
    symbol = _symbol(text.strip())
    ignored = frozenset() if symbol else _STOP
    telling = [word for word in words if word not in ignored and (len(word) > 1 or is_unspaced(word))]
    by_stem: dict[str, Term] = {}
    for word in telling or words:
        term = term_of(word, 1.0 if word in title else _LATER_WEIGHT)
        by_stem.setdefault(term.stem, term)
    terms = list(by_stem.values())
    if len(terms) > MAX_TERMS:
        common = {word for word, times in words.items() if word.isdigit() or times > _REPEATED}
        terms = _most_telling(terms, {*common, *sub_words(often)} if is_log else frozenset())
    left_out = len(by_stem) - len(terms)
    names = [name for name in dict.fromkeys(_NAME.findall(text)) if _is_compound(name)]
    terms += _whole(names[:_WHOLE_NAMES], first, {term.stem for term in terms})
    how_to = _HOW_TO.search(first) is not None
    subject = frozenset(by_stem) if is_log else _subject(first, by_stem.keys())
    paths, qualified = _paths(text), _qualified(text)
    return Query(text, terms, symbol, names[:MAX_TERMS], left_out, how_to, paths, qualified, subject)


def _qualified(text: str) -> frozenset[tuple[str, str]]:
    """The last two parts of each qualified name; names of files are among them, which define nothing."""
    runs = (_SEPARATOR.split(run)[-2:] for run in _QUALIFIED.findall(text)[:MAX_TERMS])
    return frozenset((owner, name) for owner, name in runs)


def _subject(first: str, known: Set[str]) -> frozenset[str]:
    """The telling stems of the first line; all of them if it has too few, as a greeting or a heading."""
    subject = known & {term_of(word).stem for word in _asked(first)}
    return frozenset(subject if len(subject) >= _HEADING_WORDS else known)


def _whole(names: Sequence[str], first: str, known: Set[str]) -> list[Term]:
    """Terms for whole names: `MAX_TURNS` is rarer than its words, and more specific."""
    keys = {plain(name): 1.0 if name in first else _LATER_WEIGHT for name in names}
    return [Term(key, key, key, weight, anywhere=True) for key, weight in keys.items() if key not in known]


def _paths(text: str) -> frozenset[tuple[str, ...]]:
    runs = (run.rstrip(".-") for run in _BETWEEN_PATHS.split(text))
    names = [run for run in runs if len(run) <= _PATH_CHARS and _ENDING.search(run)][-_PATHS:]
    paths = (tuple(filter(None, re.split(r"[/\\]", path.lower()))) for path in names)
    # A name alone is as often that of a file of the user's as of one that is looked at.
    return frozenset(path for path in paths if len(path) > 1)


def _asked(text: str, piece_letters: int = _PIECE_LETTERS) -> list[str]:
    """The words of a question in order.

    `ETag`, `OAuth` and `gRPC` count as a whole, as others spell them, and also by their long pieces.
    """
    words = list[str]()
    for run in _RUN_OF_LETTERS.findall(fold(spelled_out(text)[0])):
        pieces = sub_words(run)
        if run.isascii() and len(pieces) > 1 and any(len(piece) == 1 and piece.isalpha() for piece in pieces):
            words.append(lower(run))
            pieces = [piece for piece in pieces if len(piece) >= piece_letters]
        words += pieces
    return words


def _unlike_others(text: str) -> tuple[str, str]:
    """The most unusual lines of a long question, in order, with one of each frequent kind."""
    if len(text) <= MAX_CHARS:
        return text, ""
    if len(text) > _READ_CHARS:
        text = text[: _READ_CHARS // 2] + "\n" + text[-_READ_CHARS // 2 :]
    lines = text.split("\n")
    shapes = _RUN.sub(lambda run: "0" if _VARIES.match(run[0]) else run[0], text).split("\n")
    alike = Counter(shapes)
    often = "\n".join(shape for shape, times in alike.items() if times > _REPEATED)[:MAX_CHARS]
    left, kept = MAX_CHARS, dict[int, str]()
    # What went wrong stands where a log ends or a trace begins.
    for at in sorted(range(len(lines)), key=lambda at: (alike[shapes[at]], min(at, len(lines) - 1 - at), at)):
        if left <= 0 or alike[shapes[at]] > _REPEATED:
            break
        kept[at] = lines[at][:left]
        left -= len(lines[at]) + 1
    return "\n".join([*(kept[at] for at in sorted(kept)), often]), often


def _symbol(text: str) -> tuple[str, ...]:
    """The parts of the only name in a text; none if it has more than that."""
    if not _SYMBOL.fullmatch(text):
        return ()
    return tuple(part for part in _SEPARATOR.split(text.strip("@#$!?()~")) if part)


def _most_telling(terms: Sequence[Term], common: Set[str]) -> list[Term]:
    """The words of a long question to look for: those of its title, then the longest, in order.

    What is `common` to the lines of a log, and its numbers, tell less than any word.
    """
    order = {term.stem: at for at, term in enumerate(terms)}

    def rank(term: Term) -> tuple[bool, float, int, int]:
        return term.word in common, -term.weight, -len(term.word), order[term.stem]

    return sorted(sorted(terms, key=rank)[:MAX_TERMS], key=lambda term: order[term.stem])


def _is_compound(name: str) -> bool:
    """Whether a word is compound, such as `max_size` or `maxSize`, but not `Size`."""
    folded = fold(name)
    bumps = any(first.islower() and second.isupper() for first, second in pairwise(folded))
    return bumps or "_" in name.strip("_")
