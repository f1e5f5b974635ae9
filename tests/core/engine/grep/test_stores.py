"""The same search gives the same result on disk, through rg, and in memory, through RE2."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from readroom.core.values import Cap, GrepRequest, Include
from tests.core.engine.grep.searching import (
    CAP,
    in_memory,
    matches,
    on_disk,
    pages,
    same_times,
    search,
    without_coverage,
)

WORDS = ("foo", "Foo", "bar", "föö", "é", "x", "42", "foo bar", "", "a\tb", "\u2028", "日本", "K", "ſ")

NAMES = st.sampled_from(
    [
        "a.py",
        "b.js",
        "c.txt",
        ".hidden.py",
        "-e",
        "é.md",
        "a b.c",
        "x.log",
        "zz",
        "Makefile",
        "q\nr.py",
        "\udcff.py",
        "n\n",
        " s ",
    ]
)
FOLDERS = st.sampled_from(["", "src/", "src/deep/", "lib/", ".dot/", "build/", "a.py.d/", "src/build/"])
LINES = st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), max_size=8)
ENDS = st.sampled_from(["\n", "\r\n"])


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    text = draw(ENDS).join(draw(LINES)) + draw(st.sampled_from(["", "\n"]))
    form = draw(st.sampled_from(["plain"] * 8 + ["bom", "utf-16", "utf-16-be", "latin", "binary"]))
    match form:
        case "bom":
            return b"\xef\xbb\xbf" + text.encode()
        case "utf-16":
            return b"\xff\xfe" + text.encode("utf-16-le")
        case "utf-16-be":
            return b"\xfe\xff" + text.encode("utf-16-be")
        case "latin":
            return text.encode("latin-1", "replace")
        case "binary":
            return text.encode() + b"\0foo\n"
    return text.encode()


@st.composite
def trees(draw: st.DrawFn) -> dict[str, bytes]:
    files = draw(st.dictionaries(st.builds(str.__add__, FOLDERS, NAMES), contents(), max_size=10))
    if draw(st.booleans()):
        files[".gitignore"] = draw(
            st.sampled_from(
                [b"build/\n", b"*.log\n", b"/src\n!/src/deep\n", b"*.py\n!b.py\n", b"src/build\n.hidden.py\n"]
            )
        )
    if draw(st.booleans()):
        files["src/.gitignore"] = draw(st.sampled_from([b"*.js\n", b"!build/\n", b"/deep\n", b"#x\n\n a\n"]))
    return files


ATOMS = st.sampled_from(
    [
        *(
            "foo",
            "f",
            "o",
            "bar",
            "x",
            "é",
            "ö",
            "日",
            "k",
            "K",
            "s",
            ".",
            r"\w",
            r"\d",
            r"\s",
            r"\W",
            r"\D",
            r"\S",
        ),
        *(
            "[a-f]",
            "[^a-f]",
            r"[\w.]",
            r"[^\s]",
            "[[:alpha:]]",
            r"\.",
            r"\x66",
            r"\u00e9",
            r"\x{6f}",
            "(?i:FOO)",
        ),
        *(r"[^\n]", r"[\d-]", "[]a]", r"\t", r"\p{L}", r"\P{L}", "()"),
    ]
)
REPEATS = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,2}", "*?", "+?"])
PIECES = st.builds(str.__add__, ATOMS, REPEATS)
BODIES = st.lists(PIECES, min_size=1, max_size=3).map("".join)
PATTERNS = st.one_of(
    BODIES,
    BODIES.map(lambda body: f"^{body}"),
    BODIES.map(lambda body: f"{body}$"),
    st.builds("({}|{})".format, BODIES, BODIES),
    st.sampled_from(["", "^", "$", "^$", "foo bar", "(?:foo)+", "^(foo|bar)"]),
)
GLOBS = st.lists(
    st.sampled_from(
        [
            "*.py",
            "!a.py",
            "src/**",
            "*.{py,js}",
            "src/",
            "!src/deep",
            "**/deep/*",
            "*",
            "[ab].*",
            "/a.py",
            "lib/*.c",
        ]
    ),
    max_size=2,
).map(tuple)
KINDS: list[Include] = ["hidden", "ignored", "binary"]
INCLUDES = st.frozensets(st.sampled_from(KINDS), max_size=2)


@st.composite
def requests(draw: st.DrawFn) -> GrepRequest:
    multiline = draw(st.booleans())
    pattern = draw(PATTERNS)
    if multiline and draw(st.booleans()):
        pattern = draw(BODIES) + draw(st.sampled_from([r"\n", r"\s+", r"\r?\n", "(?s:.)*"])) + draw(BODIES)
    if r"\p" in pattern.lower():
        pattern = pattern.replace("(?i:", "(?:")
    if multiline:
        pattern = pattern.replace("$", "")  # see DIFFERENCES
    fixed = draw(st.sampled_from([False, False, True]))
    if fixed:
        pattern = draw(st.sampled_from(["foo", "foo bar", ".", "é", "o b"]))
    return GrepRequest(
        pattern=pattern,
        glob=draw(GLOBS),
        type=draw(st.sampled_from([None, None, None, "py", "make"])),
        output=draw(st.sampled_from(["content", "content", "files", "count"])),
        before=draw(st.integers(0, 2)),
        after=draw(st.integers(0, 2)),
        ignore_case=r"\p" not in pattern.lower() and draw(st.booleans()),
        multiline=multiline and not fixed,
        fixed=fixed,
        include=draw(INCLUDES),
        sort=draw(st.sampled_from([None, "path", "mtime", "relevance"])),
        limit=draw(st.sampled_from([None, 1, 3])),
    )


@given(trees(), requests())
@example({"a.py": b"foo\r\n"}, GrepRequest("foo$", multiline=True))
@example({"a.py": b"foo\r\n"}, GrepRequest("foo.", multiline=True))
@example({"a.py": b"a\n\nb\n"}, GrepRequest("^$"))
def test_disk_and_memory_give_the_same_result(files: dict[str, bytes], request: GrepRequest) -> None:
    memory = in_memory(files)
    with on_disk(files) as disk:
        same_times(disk, memory, files)
        expected = search(memory, request)
        assert without_coverage(search(disk, request)) == without_coverage(expected)
        assert without_coverage(search(disk, request, confined=False)) == without_coverage(expected)


@given(trees(), requests(), st.sampled_from([CAP.size, 3000]))
@example({"src/\udcff.py": b"foo\nfoo"}, GrepRequest("foo", limit=1), CAP.size)
def test_pages_are_the_same_and_show_every_match_once(
    files: dict[str, bytes], request: GrepRequest, size: int
) -> None:
    memory, cap = in_memory(files), Cap(size, CAP.measure)
    with on_disk(files) as disk:
        same_times(disk, memory, files)
        found = [without_coverage(page) for page in pages(disk, request, cap=cap)]
        assert found == [without_coverage(page) for page in pages(memory, request, cap=cap)]
    whole = search(memory, replace(request, limit=10_000), cap=Cap(10_000_000, CAP.measure))
    assert [place for page in found for place in matches(page)] == matches(whole)
