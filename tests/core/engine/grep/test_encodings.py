"""Every encoding, every line end: the same text gives the same matches, on disk and in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from readroom.core.engine.grep.file import GREP_WIDE_BYTES
from readroom.core.limits import SMALL_FILE_BYTES
from readroom.core.search.pattern import Pattern
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.text.encodings import detect
from readroom.core.values import Cap, GrepRequest
from tests.core.engine.grep.searching import (
    CAP,
    in_memory,
    matches,
    on_disk,
    pages,
    rows,
    same_times,
    search,
    without_coverage,
)
from tests.suites import daily, parts

TEXTS = {
    "german": "Die Größe der Straße über München\nschöne Grüße aus Köln, Äpfel und Öl\nfoo(bar)\nü\n",
    "russian": "Привет, как дела сегодня?\nочень хорошо, спасибо большое\nfoo(bar)\nэто строка текста\n",
    "japanese": "これは日本語の文章です。\n検索は、ソース表示foo(bar)\nテストのファイル\n構造能力\n",
    "chinese": "这是一个中文的文件，用来测试。\n我们在这里搜索文字 foo(bar)\n你们的时间不多了\n",
    "greek": "Αυτό είναι ένα κείμενο στα ελληνικά\nμε τους λόγους και τις λέξεις foo(bar)\n",
}
LEGACY = {
    "german": ("cp1252", "mac_roman", "cp850"),
    "russian": ("cp1251", "koi8_r", "iso8859_5", "cp866"),
    "japanese": ("cp932", "euc_jp"),
    "chinese": ("gb18030",),
    "greek": ("cp1253",),
}
LARGE = Cap(10_000_000, CAP.measure)
WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-16", "utf-32")

WORDS = [
    *("ü", "Größe", "größe", "straße", "ÄPFEL", "Привет", "строка", "ПРИВЕТ", "日本語", "表示", "ソ", "能"),
    *("中文", "搜索", "λόγους", "ΛΌΓΟΥΣ", "είναι", "foo", "foo(bar)", "FOO", "。", "、", "σ", "\ufffd"),
]
CASED = ["größe", "ÄPFEL", "ПРИВЕТ", "ΛΌΓΟΥΣ", "FOO", "ς"]
PATTERNS = [
    *(r"\bfoo\b", r"\w+\(bar", r"示\w+\(", r"Gr..e", r"Gr[^a]+e", r"[а-я]+,", r"\p{Han}+", r"\p{Greek}+ κ"),
    *(r"^\w+$", r"\S+$", r"[^\x00-\x7f]+", r"^.{1}$", r"^..$", "(?i)ГОЛ|привет", r"ö|ß", r"K.ln", r"\Boo"),
    *(
        r"\bÄ",
        r"л\b",
        r"^\W",
        r"(?:は|を)",
        r"[語文]",
        r"é?ü",
        r"ü{1}",
        r"。$",
        r"．|。",
        r"\bсегодня\b",
        "σ|ς",
    ),
    *(r"\d", r"\s\p{L}+\s", r"[[:alpha:]]+\(", r"\x{fc}", "\\u3001", r"(?s).", r"\<foo\>", r"(?i)σ", r"å"),
    *(r"foo|\x00", r"\B。", r"(\w{3})(\b|x)", r"[\w&&\p{Greek}]+", r"(\w{20}){8}|ü"),
]


def forms(language: str) -> dict[str, bytes]:
    """A text in all encodings, which are told apart from nothing but the text."""
    text = TEXTS[language]
    found = {encoding: text.encode(encoding) for encoding in ("utf-8", *LEGACY[language], *WIDE)}
    for encoding in LEGACY[language]:
        detected = detect(found[encoding], complete=True)
        assert detected is not None
        assert found[encoding].decode(detected.name) == text
    return found


def by_file(files: Mapping[str, bytes], request: GrepRequest) -> dict[str, list[tuple[int, str]]]:
    """The matching lines of each file on disk; memory has the same where RE2 means the same."""
    with on_disk(files) as disk:
        return matched(disk, files, request)


def matched(
    disk: LocalStore, files: Mapping[str, bytes], request: GrepRequest
) -> dict[str, list[tuple[int, str]]]:
    """The same of files that are there already."""
    found: dict[str, list[tuple[int, str]]] = {path: [] for path in files}
    result = search(disk, request, cap=LARGE)
    for path, number, line in rows(result):
        found[path].append((number, line))
    asked = Pattern(request.pattern, fixed=request.fixed, ignore_case=request.ignore_case)
    if asked.decides("é".encode()):
        assert without_coverage(search(in_memory(files), request, cap=LARGE)) == without_coverage(result)
    assert not [warn for warn in result.warnings if warn.code != "left_out"]
    return found


ASKED = [
    *(GrepRequest(word, fixed=True) for word in WORDS),
    *(GrepRequest(word, fixed=True, ignore_case=True) for word in CASED),
    *map(GrepRequest, PATTERNS),
]


@pytest.mark.parametrize("asked", parts(ASKED))
def test_text_in_any_encoding_is_found_as_it_is_in_utf8(asked: Sequence[GrepRequest]) -> None:
    files = {f"{language}/{name}": data for language in TEXTS for name, data in forms(language).items()}
    with on_disk(files) as disk:
        for request in asked:
            found = matched(disk, files, replace(request, limit=1000))
            for path, lines in found.items():
                assert lines == found[f"{path.partition('/')[0]}/utf-8"], (request.pattern, path)


ENDED = "foo\nbar  \n\nbaz(x)\nfoo bar\n  end\nfoo\n"
ACROSS = [
    *(r"foo\nbar", r"\n\nbaz", r"foo$", r"^bar\s*$", r"(?s)foo.*end", r"o\s+b", r"[^(]+\(", r"x\)\nfoo b"),
    *(
        r"foo[^;]bar",
        r"\n",
        r"$\n^",
        r"(?:bar|foo)\n",
        r"\W\W",
        r"(?s:.)baz",
        r"^$",
        r".$",
        r"\x0abar",
        "o\nb",
    ),
    *(r"foo\r?\nbar", r"\s{2,}", r"o(?-s:.)b", r"[[:space:]]baz", r"(?m)^foo$", r"bar\b\s+\bbaz"),
]


@daily(6, "pattern", ACROSS)
def test_a_match_across_lines_is_found_however_they_end(pattern: str) -> None:
    """Line ends are no part of what a reader sees, so a pattern written from it must not miss them."""
    ended = {"lf": "\n", "crlf": "\r\n"}
    files = {name: ENDED.replace("\n", end).encode() for name, end in ended.items()}
    files["wide"] = ENDED.replace("\n", "\r\n").encode("utf-16-le")
    request = GrepRequest(pattern, multiline=True)
    found = by_file(files, request)
    assert found["lf"] == found["crlf"] == found["wide"]
    assert found["lf"]


def test_a_pattern_that_names_the_carriage_return_finds_it() -> None:
    files = {"lf": b"foo\nbar\n", "crlf": b"foo\r\nbar\r\n"}
    found = by_file(files, GrepRequest(r"foo\r\nbar", multiline=True))
    assert found == {"lf": [], "crlf": [(1, "foo"), (2, "bar")]}


@pytest.mark.parametrize("output", ["content", "count"])
@pytest.mark.parametrize("size", [SMALL_FILE_BYTES, GREP_WIDE_BYTES])
def test_matches_across_lines_of_large_files_are_found_however_lines_end(size: int, output: str) -> None:
    start = b"hay hay\r\n" * (size // 9 + 1)
    files = {"large": start + b"foo\r\nbar\r\n"}
    with on_disk(files) as disk:
        request = GrepRequest(r"foo\nbar", multiline=True)
        numbers = [number for _, number, _ in rows(search(disk, request))]
        assert numbers == [size // 9 + 2, size // 9 + 3]
        assert matches(search(disk, replace(request, output="count"))) == [("large", 2)]


# --- large files -----------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16-le", "cp1251", "cp932"])
def test_a_large_file_in_another_encoding_is_searched_by_its_characters(encoding: str) -> None:
    line = {"cp1251": TEXTS["russian"], "cp932": TEXTS["japanese"]}.get(encoding, TEXTS["german"])
    text = line * (SMALL_FILE_BYTES // len(line.encode(encoding)) + 1)
    files = {"large": text.encode(encoding)}
    with on_disk(files) as disk:
        for pattern in ("ü$", r"\W語", r"^это \w+"):
            request = GrepRequest(pattern, limit=5)
            assert rows(search(disk, request)) == rows(search(MemoryStore({"large": text}), request))


def test_files_too_large_for_their_encoding_are_named() -> None:
    """A limit never looks like "not found"."""
    text = TEXTS["german"] * (GREP_WIDE_BYTES // len(TEXTS["german"]) + 1)
    wide = text[: GREP_WIDE_BYTES // 2 + 10].encode("utf-16-le")
    with on_disk({"latin": text.encode("latin-1"), "wide": wide}) as disk:
        result = search(disk, GrepRequest("Grüße", limit=5))
        assert [(warn.code, warn.detail.partition(":")[0]) for warn in result.warnings][:2] == [
            ("too_large", "wide"),
            ("searched_as_bytes", "latin"),
        ]
        assert matches(search(disk, GrepRequest("foo", limit=1)))[0] == ("latin", 3)


# --- pages -----------------------------------------------------------------------------------


ENCODINGS = ["utf-8", "latin-1", "utf-16-le", "utf-16-be", "utf-32-le", "utf-16"]


@settings(max_examples=20)
@given(
    st.dictionaries(
        st.sampled_from(["a", "b/c", "b/d", "e", "z"]),
        st.tuples(st.sampled_from(ENCODINGS), st.integers(1, 4)),
        min_size=1,
    ),
    st.integers(1, 3),
    st.sampled_from(["path", "mtime", "relevance"]),
    st.sampled_from(["content", "files", "count"]),
)
def test_pages_show_every_file_once_in_whatever_encoding(
    made: dict[str, tuple[str, int]], limit: int, sort: str, output: str
) -> None:
    files = {
        path: ("schöner Fund im Text\n" * count).encode(encoding) for path, (encoding, count) in made.items()
    }
    request = GrepRequest("schöner", sort=sort, output=output, limit=limit)  # type: ignore[arg-type]  # from lists
    with on_disk(files) as disk:
        memory = in_memory(files)
        same_times(disk, memory, files)
        found = [without_coverage(page) for page in pages(disk, request)]
        assert found == [without_coverage(page) for page in pages(memory, request)]
    shown = [place for page in found for place in matches(page)]
    each = {path: count for path, (_, count) in made.items()}
    if output == "content":
        assert sorted(shown) == sorted((path, n) for path in each for n in range(1, each[path] + 1))
    else:
        assert sorted(path for path, _ in shown) == sorted(each)


ADDED = b"appended in another encoding"


def mixed() -> dict[str, bytes]:
    """Logs in one encoding to which a program added lines in another, by what they are."""
    long = b"a plain line\r\n" * (SMALL_FILE_BYTES // 10)
    logs = {"small": b"a plain line\r\n" * 1000, "large": long}
    added = {
        f"utf-8 and {codec}, {size}": text + (ADDED.decode() + "\r\n").encode(codec) * 9
        for codec in ("utf-16-le", "utf-16-be")
        for size, text in logs.items()
    }
    for codec in ("utf-16-le", "utf-16-be"):
        mark = "\ufeff".encode(codec)
        for name, end in {
            "lf, even": b"\n",
            "lf, odd": b"!\n",
            "crlf, even": b"\r\n",
            "crlf, odd": b"!\r\n",
        }.items():
            if (codec, name) == ("utf-16-be", "lf, odd"):
                continue  # rg sees a letter in its end, which is no reason to open a file
            added[f"{codec} and {name}"] = mark + "a line\r\n".encode(codec) * 5 + ADDED + end
    return added


def test_text_in_a_second_encoding_is_not_passed_over_in_silence() -> None:
    requests = [GrepRequest("appended", output=output) for output in ("content", "count", "files")]
    with on_disk(mixed()) as disk:
        for store in (disk, MemoryStore(mixed())):
            for name in mixed():
                for request in requests:
                    found = search(store, replace(request, glob=(name.replace(",", "?"),)))
                    told = [warn.detail for warn in found.warnings if warn.code == "mixed_encodings"]
                    assert found.shown or told, (name, request.output, type(store))


def test_a_nul_is_shown_by_its_sign_as_in_a_read() -> None:
    data = {"a.ts": b"const key = (a) => `${a}\0${a}`;\n" + b"key\0" * 60 + b"\n"}
    for store in (MemoryStore(data),):
        lines = [line for file in search(store, GrepRequest("key")).files for line in file.lines]
        assert len(lines) == 2
        assert not any("\0" in line.text for line in lines)
        assert "${a}\u2400${a}" in lines[0].text
        assert any("NULL" in warn.detail for warn in search(store, GrepRequest("key")).warnings)
