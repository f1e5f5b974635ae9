"""What rg is told to look for: at least all files in which the text matches, at little cost."""

from __future__ import annotations

import subprocess

import pytest

from readroom.core.search.prefilter import anywhere, superset
from readroom.core.search.ripgrep import program
from tests.each import each

LEGACY = ("cp1252", "cp1251", "koi8_r", "cp932", "euc_jp", "gb18030", "cp949", "cp950", "mac_roman")


def wanted(pattern: str, *, fixed: bool = False, multiline: bool = False) -> str | None:
    return superset(pattern, fixed=fixed, ignore_case=False, multiline=multiline)


def rg_finds(patterns: list[str], data: bytes, *options: str) -> bool:
    asked = [f"--regexp={pattern}" for pattern in patterns]
    command = [program(), "--no-config", "--crlf", *options, *asked, "-"]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 0


@each(
    "pattern",
    ["foo", "[a-z_]+x", "^def (a|b)$", r"\.py", "a{2}", r"[\[\]]", "[[:alpha:]]", r"\x41", r"(?i)x"],
)
def test_a_pattern_for_ascii_alone_stays_as_it_is(pattern: str) -> None:
    assert wanted(pattern) is None


@each("pattern", ["foo", "a b", ".", "(", "[x]", "^$"])
def test_fixed_text_of_ascii_stays_as_it_is(pattern: str) -> None:
    assert wanted(pattern, fixed=True) is None


@each("codec", LEGACY)
@pytest.mark.parametrize("char", ["é", "ж", "語", "ソ", "中", "한", "。"])
def test_a_character_is_found_in_every_encoding_that_has_it(codec: str, char: str) -> None:
    try:
        data = f"x{char}y\n".encode(codec)
    except UnicodeEncodeError:
        return
    for pattern in (
        f"x{char}y",
        "x.y",
        r"x\wy",
        f"x[{char}]y",
        "x[^a]y",
        f"x(?:{char})+y",
        r"x\S{1}y",
        r"\bx",
    ):
        found = wanted(pattern) or pattern
        assert rg_finds([found], data), pattern


def test_what_stands_around_still_has_to_match() -> None:
    """Otherwise every file that is not ASCII would have to be looked into."""
    found = wanted("Größe") or ""
    assert not rg_finds([found], "Gruß, Öl, größer\n".encode("cp1252"))
    assert not rg_finds([found], "слово 日本語\n".encode())
    assert not rg_finds([wanted("foo.*bar") or ""], "föö bar\n".encode("cp1252"))


@each("pattern", [r"a\nb", "a\nb", r"a\sb", r"a[^x]b", r"a\Wb", r"(?s)a.b", r"a\x0ab"])
def test_a_line_feed_may_be_cr_lf(pattern: str) -> None:
    found = wanted(pattern, multiline=True) or ""
    for data in (b"a\nb\n", b"a\r\nb\r\n"):
        assert rg_finds([found], data, "--multiline")
    assert not rg_finds([found], b"a.\r\nb\r\n", "--multiline")


@each(
    ("data", "broken"),
    [
        *((text.encode(), False) for text in ("plain\n", "é", "日本 語", "😀\r\n", "\ue000\u07ff", "")),
        *(
            (b"\xe9t\xe9", True),
            (b"\x80", True),
            (b"\xc3", True),
            (b"\xe6\x97", True),
            (b"\xf0\x9f\x98", True),
        ),
        *((b"\xc3\xa9\xa9", True), (b"\xed\xa0\x80", True), (b"\xc0\x80", True), (b"\xf5\x80\x80\x80", True)),
        *(("日本語".encode(codec), True) for codec in ("cp932", "euc_jp", "gb18030")),
    ],
)
def test_beside_an_unknown_pattern_every_file_that_is_not_utf8_is_found(data: bytes, broken: bool) -> None:
    assert rg_finds(list(anywhere(multiline=False)), b"x\n" + data + b"\ny\n") is broken
