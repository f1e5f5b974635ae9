"""Files in every kind of encoding, sound and broken, for the property tests of changes."""

from __future__ import annotations

from hypothesis import strategies as st

from readroom.core.text.encodings import MULTIBYTE, Encoding, by_bom, named

NAMES = (
    *("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"),
    *("latin-1", "cp1252", "koi8-r", "cp037", "mac-roman"),
    *sorted(MULTIBYTE),
)
MARKS = {"utf-8": b"\xef\xbb\xbf", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}

LETTERS = 'ab \r\n\n\n"\\~€éüЖλ漢字かﾊ゚か゚ñ\U0001f600\u3000¥‾'
"""Those that an encoding holds are used; with characters that are two in some and one unit in others."""


def encodings() -> st.SearchStrategy[Encoding]:
    plain = st.sampled_from(NAMES).map(named)
    marked = st.sampled_from(sorted(MARKS)).map(lambda name: by_bom(MARKS[name]) or named(name))
    return plain | marked


def letters(encoding: Encoding) -> str:
    return "".join(char for char in LETTERS if _holds(encoding, char))


def _holds(encoding: Encoding, char: str) -> bool:
    try:
        return char.encode(encoding.name).decode(encoding.name) == char
    except UnicodeError:
        return False


def contents(encoding: Encoding, *, sound: bool = False, max_size: int = 40) -> st.SearchStrategy[bytes]:
    """Bytes of a file after its mark: characters, line ends of every kind and, unless sound, noise."""
    kinds = [
        st.sampled_from(letters(encoding)).map(lambda char: char.encode(encoding.name)),
        st.sampled_from(["\n", "\r\n", "\r", "ab", "か゚", "aa"])
        .filter(lambda text: all(_holds(encoding, char) for char in text))
        .map(lambda text: text.encode(encoding.name)),
    ]
    if not sound:
        kinds.append(st.binary(min_size=1, max_size=4))
        kinds.append(st.sampled_from([b"\x81", b"\xe2\x82", b"\x81\x30", b"\xd8", b"\x00\xdc", b"\xff"]))
    return st.lists(st.one_of(kinds), max_size=max_size).map(b"".join)


def texts(encoding: Encoding, *, min_size: int = 0, max_size: int = 6) -> st.SearchStrategy[str]:
    """Texts that an encoding holds, with line ends of every kind."""
    pieces = st.sampled_from([*letters(encoding), "\r\n", "ab", "aa", "a\nb"])
    return st.lists(pieces, min_size=min_size, max_size=max_size).map("".join)
