"""What files hold: strategies for texts and bytes that have broken readers before."""

from __future__ import annotations

from hypothesis import strategies as st

BREAKS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\r"
"""What str.splitlines() calls a line end and grep does not."""

ODD = BREAKS + "\t\x1b\x00\x7f\u202e\u200b\ufeff\u0a0a\u0d0a𝄞é日"
"""Controls, invisible characters, characters whose UTF-16 holds the bytes of line ends, and wide ones."""

_plain = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40)
_odd = st.text(
    st.one_of(st.sampled_from(ODD), st.characters(exclude_categories=["Cs"], exclude_characters="\n\u2400")),
    max_size=30,
)
_long = st.builds(
    lambda piece, times: piece * times,
    st.sampled_from(["x", "é", "日本", "𝄞a", "ab "]),
    st.integers(20, 400),
)

lines = st.lists(st.one_of(_plain, _odd, _long), max_size=25)
"""Lines without their ends; a line may hold CR anywhere, even at its end."""

ends = st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"], ["\r\n", "\n", "\n"]])
"""Line ends, used in turn."""


def join(parts: list[str], ends: list[str], *, final: bool) -> str:
    """The text of these lines; `final` says that the last one is ended too."""
    ended = [line + ends[number % len(ends)] for number, line in enumerate(parts)]
    if ended and not final:
        ended[-1] = parts[-1]
    return "".join(ended)


texts = st.builds(join, lines, ends, final=st.booleans())
"""Any text, with ends of one form or several, and with or without a final one."""


def split(text: str) -> list[str]:
    """The definition of lines, written the slow way: LF ends one, and one CR before it belongs to the end."""
    found, line = [], ""
    for char in text:
        if char == "\n":
            found.append(line.removesuffix("\r"))
            line = ""
        else:
            line += char
    return [*found, line] if line else found
