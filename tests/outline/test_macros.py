"""What is blanked before C is parsed: short ways to look for it find what the patterns find."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from readroom.outline.grammars import macros

_TOKENS = st.sampled_from(
    ["((", "(", ")", "))", ";", "\n", " ", "\t", "#", "#if X\n", "# ifdef KR\n", "#else\n", "#endif\n", "if"]
)
_WORDS = st.sampled_from(["f", "int ", "9a", "_x", "return", ",", "{", "}", "\r\n", "*", "\xe9", "\n"])
_TEXTS = st.lists(_TOKENS | _WORDS, max_size=40).map(lambda tokens: "".join(tokens).encode("latin-1"))
_FROM_WORDS = re.compile(rb"\b" + macros.PARAMETERS.pattern)


@given(_TEXTS)
def test_hidden_parameters_are_found_from_their_parentheses(text: bytes) -> None:
    found = [match.span() for match in macros.hidden_parameters(text)]
    assert found == [match.span() for match in _FROM_WORDS.finditer(text)]


@given(_TEXTS)
def test_split_declarations_are_found_from_their_conditions(text: bytes) -> None:
    found = [match.span() for match in macros.split_declarations(bytearray(text))]
    assert found == [match.span() for match in macros.SPLIT.finditer(text)]
