"""What is rewritten for RE2 means the same as it does to rg; what cannot be is left to rg."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from readroom.core.search.pattern import Pattern, Untranslatable, translate
from readroom.core.search.ripgrep import program
from tests.each import each


def lines_by_rg(pattern: str, text: bytes, *flags: str) -> list[int] | None:
    """The numbers of the lines that rg finds; None when it refuses the pattern."""
    command = [program(), "--no-config", "--crlf", "-n", "-a", *flags, "-e", pattern, "-"]
    done = subprocess.run(command, input=text, capture_output=True, check=False)
    return (
        None if done.returncode == 2 else [int(row.split(b":")[0]) for row in done.stdout.split(b"\n")[:-1]]
    )


def lines_by_re2(pattern: str, text: bytes, **options: bool) -> list[int]:
    found = Pattern(pattern, **options)
    assert found.problem is None, found.problem
    return [hit.number for hit in found.hits(text, lambda: None)]


def listed(text: str) -> list[str]:
    return text.split()


LINES = [
    *listed("foo x1 a_b a-b ] ^ $ {2} \\ ( é école naïve ٣ 日本語 K \u212a ſ ß ẞ Ǆǅǆ ⓐ ﬃ İ ı e\u0301"),
    *("Foo bar", "", " ", "\xa0", "\u2028", "\u200d", "a\tb", "\x0b", "\x85"),
]
TEXT = "".join(f"{line}\n" for line in LINES).encode()

SAME = [
    *listed(
        r"""
        \w \W \d \D \s \S ^\w+$ ^\W+$ [\w-]+- [^\w] [\d] [^\d\s] [\D] \. \{2\} \\ \] \^ \t \v [\x0b]
        \- \/ \# \& \~
        \u00e9 \u{e9} \x{e9} \xe9 \U000000e9 [\u{e0}-\u{ff}] é+ a|é (|a) ^$ ^ $ () } ] [^\n] [\nf]
        []] [^]] []^] [-a] [a-] [\]] [\\] [[:upper:]] [[:^space:]] [^[:alpha:]] \p{Greek} \pL \p{Lu} \P{L} \PL
        (?P<n>o)o (?<n>o)o (?i)k (?i:S) (?i)ß (?i)ǆ (?-i)K (?s). (?U)o+ o{2} o{1,} o{0,1} o*?
        """
    ),
    *("", r"\ ", "[^\n]", "(?:e\u0301)"),
]

LEFT_TO_RG = [
    *listed(
        r"""
        [a-z&&[^aeiou]] [a--b] [a~~b] [[a]b] [\W] [^\S] \<foo foo\> \b{start}foo \Afoo foo\z
        a** a{2}{3} a{1001}
        (?x)foo (?u)a (?R)a (?-m)^a \p{Alphabetic} \p{sc=Greek} (?i)\p{Lu} foo\n foo\r \x0a \u{d}
        """
    ),
    "foo\n",
]

WRONG = listed(
    r"""
    ( ) a) (a [ [a [] a{ a{2 { * +a (? (?=a) (?<!a)b (a)\1 \q \ \Qa\E \C \Z \0 \012 \8 \_é\é [z-a] a{2,1}
    \x{110000} \x{d800} \p{Nope} (?P<1>a) a{,3} \pé (?z)a (?i [[:nope:] \u12 (?P=n)
    """
)


@each("pattern", SAME)
def test_a_rewritten_pattern_finds_what_rg_finds(pattern: str) -> None:
    assert lines_by_re2(pattern, TEXT) == lines_by_rg(pattern, TEXT)


@each("pattern", [pattern for pattern in SAME if r"\p" not in pattern.lower()])
def test_so_does_it_without_regard_to_case(pattern: str) -> None:
    assert lines_by_re2(pattern, TEXT, ignore_case=True) == lines_by_rg(pattern, TEXT, "-i")


@each("pattern", LEFT_TO_RG)
def test_what_re2_lacks_or_reads_otherwise_is_left_to_rg(pattern: str) -> None:
    assert Pattern(pattern).problem is not None


@each("pattern", WRONG)
def test_nothing_that_rg_refuses_is_accepted(pattern: str) -> None:
    assert lines_by_rg(pattern, b"a\n") is None
    assert Pattern(pattern).problem is not None


ALPHABET = "ab1é \\[]()|.*+?^${}-,:wdsWDSbBnpPLxuiU<>&~\"'"


@given(st.text(ALPHABET, max_size=8), st.booleans(), st.booleans())
@example("[a-\\d]", False, False)
@example("\\x{0}", False, True)
def test_whatever_is_rewritten_is_valid_to_rg_and_means_the_same(
    pattern: str, ignore_case: bool, multiline: bool
) -> None:
    text = TEXT if not multiline else TEXT.replace(b"\n", b"\r\n", 3)
    found = Pattern(pattern, ignore_case=ignore_case, multiline=multiline)
    if found.problem is None and found.decides(text):
        flags = [*(["-i"] if ignore_case else []), *(["-U"] if multiline else [])]
        assert [hit.number for hit in found.hits(text, lambda: None)] == lines_by_rg(pattern, text, *flags)


def test_borders_of_words_are_trusted_in_ascii_texts_only() -> None:
    found = Pattern(r"\bcole\b")
    assert found.decides(b"the cole\n")
    assert not found.decides("école\n".encode())
    assert Pattern("cole").decides("école\n".encode())


def test_a_refusal_names_the_place() -> None:
    with pytest.raises(Untranslatable, match="a set in a set") as caught:
        translate("abc[d[e]]", ignore_case=False, multiline=False)
    assert caught.value.at == 5
