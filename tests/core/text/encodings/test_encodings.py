"""Which encoding a file has, and decoding that neither fails nor loses a byte."""

from __future__ import annotations

import codecs
import contextlib
import encodings
import pkgutil
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.formats import kinds
from readroom.core.text.encodings import (
    BROKEN_UNIT,
    LOWEST_TRAIL,
    MULTIBYTE,
    NUL_SIGN,
    STATEFUL,
    UTF8,
    Encoding,
    UnknownEncoding,
    chars,
    decode,
    decode_strict,
    detect,
    named,
    prefix,
    visible,
    with_bom,
)
from readroom.core.text.encodings.detect import is_mostly_text
from readroom.core.values import Kind
from tests.core.text.encodings.languages import LEGACY, SOURCE, TEXTS
from tests.each import each

WIDE = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
EVERY = [
    UTF8,
    *map(named, [*WIDE, "cp1252", "latin-1", "cp037", "koi8-r", "ascii"]),
    *map(named, sorted(MULTIBYTE)),
    *map(Encoding, sorted(STATEFUL)),
]

REFUSED = [
    *(
        "rot13",
        "base64",
        "hex",
        "zip",
        "idna",
        "punycode",
        "unicode_escape",
        "raw-unicode-escape",
        "undefined",
    ),
    *("mbcs", "oem", "utf-7", "iso-2022-jp", "hz", "nonsense", "", "..", "a/b", "x" * 10_000, "utf-8\0", "ü"),
]


def found(data: bytes, *, complete: bool = True) -> str | None:
    encoding = detect(data, complete=complete)
    return None if encoding is None else encoding.name


class TestDetect:
    @each("language", TEXTS)
    def test_utf8_is_utf8_with_and_without_a_mark(self, language: str) -> None:
        data = TEXTS[language].encode()
        assert detect(data, complete=True) == UTF8
        assert detect(codecs.BOM_UTF8 + data, complete=True) == Encoding("utf-8", codecs.BOM_UTF8)

    @each("codec", WIDE)
    @each("language", TEXTS)
    def test_wide_text_is_found_with_and_without_a_mark(self, language: str, codec: str) -> None:
        unit = int(codec[4:6]) // 8
        text = TEXTS[language]
        assert detect(text.encode(codec), complete=True) == Encoding(codec, unit=unit)
        bom = "\ufeff".encode(codec)
        assert detect(bom + text.encode(codec), complete=True) == Encoding(codec, bom, unit)

    @each(("language", "codec"), LEGACY)
    def test_a_line_in_a_legacy_encoding_reads_right_and_encodes_back(
        self, language: str, codec: str
    ) -> None:
        data = TEXTS[language].encode(codec)
        encoding = detect(data, complete=True)
        assert encoding is not None
        assert decode_strict(data, encoding) == TEXTS[language]
        assert TEXTS[language].encode(encoding.name) == data

    @each(("language", "codec"), LEGACY)
    def test_a_legacy_comment_in_source_reads_right(self, language: str, codec: str) -> None:
        text = SOURCE.format(TEXTS[language].strip())
        encoding = detect(text.encode(codec), complete=True)
        assert encoding is not None
        assert decode(text.encode(codec), encoding) == text

    @each(
        ("data", "text"),
        [
            (b"caf\xe9\n", "café\n"),
            (b"na\xefve", "naïve"),
            (b"// \xa9 2026\n", "// © 2026\n"),
            (b"it\x92s", "it’s"),
            (b"price: \x80 5", "price: € 5"),
            (b"Gr\xf6\xdfe", "Größe"),
            (b"\xe9", "é"),
            (b"ni\xf1o \xbfd\xf3nde?", "niño ¿dónde?"),
            (b"L'\xe9l\xe8ve a \xe9t\xe9 re\xe7u", "L'élève a été reçu"),
        ],
    )
    def test_a_few_bytes_above_ascii_are_western_european(self, data: bytes, text: str) -> None:
        encoding = detect(data, complete=True)
        assert encoding is not None
        assert decode(data, encoding) == text

    def test_what_windows_1252_leaves_undefined_still_reads_without_loss(self) -> None:
        data = b"caf\xe9 na\xefve \x81\x8d\x8f\x90\x9d d\xe9j\xe0 vu\n"
        encoding = detect(data, complete=True)
        assert encoding is not None
        assert decode(data, encoding).encode(encoding.name) == data

    @pytest.mark.parametrize(
        "text", ["", "\n", "plain ascii\n", "tab\tand\x1b[31mcolour\x1b[0m\n", "a\x0cb\x08c"]
    )
    def test_ascii_is_utf8(self, text: str) -> None:
        assert detect(text.encode(), complete=True) == UTF8

    def test_a_character_cut_at_the_samples_end_is_still_utf8(self) -> None:
        data = "Größe 日本 𝄞".encode()
        for end in range(1, len(data)):
            assert found(data[:end], complete=False) == "utf-8"

    def test_a_few_broken_bytes_leave_utf8(self) -> None:
        data = "Über größere Bäume läßt sich täglich schön träumen.\n".encode()
        assert found(data[:20] + b"\xff" + data[20:]) == "utf-8"
        assert found(data + b"\xc3") == "utf-8"

    def test_broken_bytes_that_outweigh_utf8_are_legacy(self) -> None:
        assert found("é".encode() + "déjà élevé, très cher".encode("latin-1")) == "cp1252"

    def test_a_broken_double_byte_does_not_turn_a_page_into_other_letters(self) -> None:
        data = (TEXTS["japanese"] * 3).encode("cp932")
        assert found(data + b"\x81") == "cp932"

    @each(
        "data",
        [
            b"\0",
            b"a\0",
            b"a\0b\0\0c\0",
            b"\5\0\0\0hello\0" * 9,
            b"\0\0\0\0",
            bytes(range(256)),
            b"\1\2\3\4",
            b"\x7fELF\2\1\1",
        ],
    )
    def test_nul_and_control_bytes_are_binary(self, data: bytes) -> None:
        assert found(data) is None

    def test_noise_is_binary(self) -> None:
        noise = random.Random(1)
        for size in (200, 1000, 8191, 8193, 70000):
            assert found(noise.randbytes(size), complete=size < 65536) is None
            assert found(codecs.BOM_UTF16_LE + noise.randbytes(size)) is None
            assert found(codecs.BOM_UTF32_LE + noise.randbytes(size)) is None

    def test_a_nul_behind_8192_bytes_leaves_text(self) -> None:
        assert found(b"x" * 8192 + bytes(9000)) == "utf-8"
        assert found(b"x" * 5000 + bytes(9000)) is None

    @each(
        "data",
        [
            b"hello\0",
            b"a\0b",
            b"ls\0-l\0/home\0",
            b"const k = a + '\0' + b;\n",
            "naïve\0café\n".encode(),
            b"1\n2\n3\n\0FAILED tests/test_a.py\n",
            b"log line\n" * 99 + bytes(64) + b"log line\n" * 9,
        ],
    )
    def test_a_few_nuls_leave_text(self, data: bytes) -> None:
        assert found(data) == "utf-8"
        assert is_mostly_text(data)

    def test_magic_bytes_of_letters_count_in_a_file_with_nuls(self) -> None:
        tar = b"a.txt" + bytes(252) + b"ustar\0" + bytes(249) + b"text\n" * 4000
        assert kinds.classify("a", tar, detect(tar, complete=True)) is Kind.BINARY

    @given(st.binary(max_size=300), st.booleans())
    def test_never_fails_and_what_it_finds_decodes(self, data: bytes, complete: bool) -> None:
        encoding = detect(data, complete=complete)
        if encoding is not None:
            assert named(encoding.name).name == encoding.name
            decode(data, encoding)


class TestNamed:
    @each(
        ("name", "encoding"),
        [
            ("utf-8", "utf-8"),
            ("UTF8", "utf-8"),
            ("utf_8_sig", "utf-8"),
            ("ascii", "utf-8"),
            ("latin-1", "iso8859-1"),
            ("ISO-8859-1", "iso8859-1"),
            ("windows-1252", "cp1252"),
            ("sjis", "shift_jis"),
            ("Shift-JIS", "shift_jis"),
            ("utf-16", "utf-16-le"),
            ("UTF-16BE", "utf-16-be"),
            ("utf32", "utf-32-le"),
            ("macroman", "mac-roman"),
            ("IBM866", "cp866"),
        ],
    )
    def test_usual_names_are_understood(self, name: str, encoding: str) -> None:
        assert named(name).name == encoding

    @each("name", REFUSED)
    def test_what_files_cannot_be_read_in_is_refused_with_a_reason(self, name: str) -> None:
        with pytest.raises(UnknownEncoding) as refused:
            named(name)
        assert refused.value.problem
        assert all(named(near) for near in refused.value.near)

    def test_a_misspelt_name_gets_near_ones_that_work(self) -> None:
        with pytest.raises(UnknownEncoding) as refused:
            named("windws-1252")
        assert "windows-1252" in refused.value.near
        assert all(named(near) for near in refused.value.near)

    @given(st.text(max_size=50))
    def test_any_name_is_known_or_refused(self, name: str) -> None:
        try:
            encoding = named(name)
        except UnknownEncoding:
            return
        assert decode("line\n".encode(encoding.name), encoding) == "line\n"

    def test_a_mark_decides_the_byte_order_of_what_was_asked_for(self) -> None:
        big, little = codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE
        assert with_bom(named("utf-16"), big + b"\0a") == Encoding("utf-16-be", big, 2)
        assert with_bom(named("utf-16-be"), little + b"a\0") == Encoding("utf-16-le", little, 2)
        assert with_bom(named("utf-16"), little + b"\0\0") == Encoding("utf-16-le", little, 2)
        assert with_bom(named("utf-8"), codecs.BOM_UTF8 + b"a") == Encoding("utf-8", codecs.BOM_UTF8)
        assert with_bom(named("utf-8"), b"a") == UTF8
        assert with_bom(named("cp1252"), codecs.BOM_UTF8) == named("cp1252")


class TestDecode:
    @pytest.mark.parametrize("encoding", EVERY, ids=lambda e: e.name)
    @given(data=st.binary(max_size=80))
    def test_never_fails_and_counts_its_characters(self, encoding: Encoding, data: bytes) -> None:
        assert chars(data, encoding) == len(decode(data, encoding))

    @pytest.mark.parametrize("encoding", EVERY, ids=lambda e: e.name)
    @given(
        data=st.one_of(
            st.binary(max_size=40), st.text(max_size=20).map(lambda t: t.encode("utf-8", "replace"))
        )
    )
    def test_a_cut_between_characters_is_invisible(self, encoding: Encoding, data: bytes) -> None:
        whole = decode(data, encoding)
        for end in range(len(data) + 1):
            border = prefix(data[:end], encoding)
            assert 0 <= border <= end
            assert end - 3 <= border or encoding.name in STATEFUL
            assert decode(data[:border], encoding) + decode(data[border:], encoding) == whole

    @pytest.mark.parametrize("encoding", EVERY, ids=lambda e: e.name)
    @given(text=st.text(max_size=30))
    def test_a_cut_between_characters_is_invisible_in_real_text(self, encoding: Encoding, text: str) -> None:
        # A lone escape is no text there, but the start of what another line of it means.
        text = text.replace("\x1b", "") if encoding.name in STATEFUL else text
        data = text.encode(encoding.name, "ignore")
        text = data.decode(encoding.name)
        for end in range(len(data) + 1):
            border = prefix(data[:end], encoding)
            assert decode(data[:border], encoding) + decode(data[border:], encoding) == text

    @pytest.mark.parametrize("encoding", EVERY, ids=lambda e: e.name)
    @given(data=st.binary(max_size=60))
    def test_valid_bytes_decode_as_python_decodes_them(self, encoding: Encoding, data: bytes) -> None:
        try:
            text = decode_strict(data, encoding)
        except UnicodeDecodeError:
            assert any("\ud800" <= char <= "\udfff" for char in decode(data, encoding))
        else:
            assert decode(data, encoding) == text

    @given(st.binary(max_size=60))
    def test_broken_utf8_gives_one_mark_for_each_byte_and_encodes_back(self, data: bytes) -> None:
        assert decode(data, UTF8).encode("utf-8", "surrogateescape") == data

    def test_lone_surrogates_of_utf16_pass_through(self) -> None:
        assert decode(b"\x3d\xd8a\0", named("utf-16-le")) == "\ud83da"
        assert decode(b"\xd8\x3d\0a", named("utf-16-be")) == "\ud83da"

    def test_a_cut_unit_and_an_impossible_one_are_one_mark(self) -> None:
        assert decode(b"a\0b", named("utf-16-le")) == "a" + BROKEN_UNIT
        assert decode(b"a\0\0\0b\0", named("utf-32-le")) == "a" + BROKEN_UNIT
        assert decode(b"\xff\xff\xff\xffa\0\0\0", named("utf-32-le")) == BROKEN_UNIT + "a"

    def test_bytes_undefined_in_a_table_are_marks(self) -> None:
        assert decode(b"a\x81b", named("cp1252")) == "a\udc81b"

    @each("codec", sorted(MULTIBYTE))
    def test_no_byte_of_a_character_looks_like_a_line_feed(self, codec: str) -> None:
        for point in range(0x80, 0x11000):
            encoded = chr(point).encode(codec, "ignore") if not 0xD800 <= point <= 0xDFFF else b""
            assert all(byte >= LOWEST_TRAIL for byte in encoded)

    @each("encoding", EVERY, ids=lambda e: e.name)
    def test_a_line_feed_is_one_unit(self, encoding: Encoding) -> None:
        assert len(encoding.newline) == encoding.unit
        assert decode(encoding.newline, encoding) == "\n"


def known() -> list[Encoding]:
    """Every encoding Python has that can be asked for."""
    found = set()
    for module in pkgutil.iter_modules(encodings.__path__):
        with contextlib.suppress(UnknownEncoding):
            found.add(named(module.name))
    return sorted(found, key=lambda encoding: encoding.name)


class TestEveryEncodingOfPython:
    def test_nearly_a_hundred_can_be_asked_for(self) -> None:
        assert len(known()) > 90

    @each("encoding", known(), ids=lambda e: e.name)
    def test_its_lines_and_characters_can_be_addressed(self, encoding: Encoding) -> None:
        every = bytes(range(256)) * 2 + encoding.newline + b"\0\xff\xfe"
        assert chars(every, encoding) == len(decode(every, encoding))
        assert encoding.unit > 1 or encoding.newline in (b"\n", b"%")  # EBCDIC's is 25
        border = prefix(every[:300], encoding)
        assert decode(every[:border], encoding) + decode(every[border:], encoding) == decode(every, encoding)

    @each("encoding", known(), ids=lambda e: e.name)
    def test_text_in_it_survives(self, encoding: Encoding) -> None:
        text = "line one\r\nline two\n"
        assert decode(text.encode(encoding.name), encoding) == text


class TestVisible:
    @given(st.text(st.characters(categories=None), max_size=30))
    def test_lone_surrogates_and_nuls_are_replaced_one_for_one(self, text: str) -> None:
        shown = visible(text)
        shown.encode()
        assert len(shown) == len(text)
        wanted = ["\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text.replace("\0", NUL_SIGN)]
        assert list(shown) == wanted
