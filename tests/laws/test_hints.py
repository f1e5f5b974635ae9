"""Laws 7 and 9: every reply is within its cap, and every call that a reply suggests is accepted.

Calls are drawn at random, sound ones and hostile ones, over one tree that holds
most of what a tree can hold.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from readroom.core.contracts.native import NATIVE
from readroom.core.limits import MIN_REPLY_BYTES, Limits
from readroom.core.stores.base import Store
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from tests.documents.reading.making import code, markdown, notebook, pdf, printed
from tests.each import each
from tests.hostile import office
from tests.laws.driving import STORES, Driver, StoreName, fact, hints
from tests.laws.places import PlaceName, is_key, over_bucket, over_shell
from tests.suites import one_of

FILES: dict[str, bytes] = {
    "src/many.py": b"class A:\n" + b"    # n\n    def f(self): pass\n" * 400,
    "README.md": b"# Title\n\nneedle and thread\n" * 40,
    "src/main.py": b"def main():\n    return 'needle'\n" * 100,
    "src/long.py": b"x = '" + b"needle " * 900 + b"'\nshort\n" * 30,
    "src/deep/a/b/c/d.txt": b"needle\n",
    "data/table.csv": b"name,age\n" + b"needle,1\n" * 300,
    "data/wide.csv": b",".join(b"column%d" % n for n in range(900)) + b"\n" + b"needle,1\n" * 30,
    "data/one.json": b'{"needle": "' + b"v" * 9000 + b'"}',
    "data/blob.bin": bytes(range(256)) * 20,
    "data/utf16.txt": "\ufeffneedle\r\nzwei\r\n".encode("utf-16-le"),
    "data/latin.txt": "na\xefve caf\xe9 needle\nd\xe9j\xe0 vu\n".encode("latin-1"),
    "logs/app.log": b"".join(b"event %d needle\n" % number for number in range(1500)),
    "logs/app.min.js": b"var a=1;needle();" * 300 + b"\n" + b"b;" * 3000,
    "docs/book.pdf": pdf([[f"page {page} needle {line}" for line in range(30)] for page in range(30)]),
    "docs/scan.pdf": pdf([["needle"], [], ["x"]]),
    "docs/cells.ipynb": notebook(
        *(code("needle " * 900 + "\nshort", printed("out needle\n" * 99)) for _ in range(9)),
        markdown("# needle"),
    ),
    "docs/broken.pdf": b"%PDF-1.7\nneedle",
    "docs/locked.docx": office.encrypted_docx(),
    "docs/sheet.xlsx": office.rows_xlsx(30_000),
    "docs/page.html": b"<h1>needle</h1>" + b"<p>words" * 90,
    "empty": b"",
    "mixed": b"a\nb\r\nneedle\rc\n\x0c\n",
    "hidden.py": "if a\u202e and\u200b needle:\n".encode() * 30,
    ".env": b"SECRET=needle\n",
    ".gitignore": b"build/\n",
    "build/out.txt": b"needle\n",
    "odd name\n\u202e\u00e9.txt": b"needle\n",
    "x" * 200 + "/" + "y" * 200 + "/z.txt": b"needle\n" * 200,
    "-dash": b"needle\n",
    "/".join(["\u202e" * 66] * 5): b"needle\n" * 3,
    '"quoted".txt': b"needle\n",
}
LINKS = {"link.md": "README.md", "out": "/etc/passwd", "up": "../..", "loop": "loop", "to_src": "src"}


MOST_MISTAKES = 20
"""In one call: more than any tool has arguments."""


@contextmanager
def tree(name: StoreName | PlaceName) -> Iterator[Store]:
    if name == "memory":
        memory = MemoryStore(FILES)
        for path, to in LINKS.items():
            memory.link(path, to)
        yield memory
        return
    if name == "bucket" or name == "container":
        files = {path: data for path, data in FILES.items() if is_key(path, name)}
        with over_bucket(files, kind=name) as store:
            yield store
        return
    with TemporaryDirectory(prefix="readroom-law-") as folder:
        for path, data in FILES.items():
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        for path, to in LINKS.items():
            Path(folder, path).symlink_to(to)
        os.mkfifo(Path(folder, "pipe"))
        yield over_shell(Path(folder)) if name == "shell" else LocalStore(folder, confinement=name)


@pytest.fixture(scope="module", params=one_of(STORES))
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with tree(request.param) as found:
        yield found


_known = st.sampled_from([*FILES, *LINKS, "src", "data", ".", "logs", "src/deep", "pipe"])
_documents = st.sampled_from([name for name in FILES if name.startswith("docs/")])
_hostile = st.sampled_from(
    [
        "", "..", "../x", "/", "/etc/passwd", "nul\0", "\n", "~", "~root", "src/main.py/x",
        "a" * 5000, "日" * 1365, "\u202e" * 900, "a/" * 2500, '"', '""', '"\\"', '"\\777"', '"a\\q"',
        "READM.md", "src/man.py", "README.md ", "C:\\x", "%2e%2e/", "data/", "-", "--", ".env", ".ENV",
        "./.env", ".git/config", "src//../README.md", "\udcff", "\ud800",
    ]
)  # fmt: skip
_mangled = st.builds(
    lambda path, at, junk: path[:at] + junk + path[at:], _known, st.integers(0, 9), st.text(max_size=3)
)
paths = st.one_of(_known, _known, _hostile, _mangled)

_numbers = st.one_of(st.integers(-3, 40), st.sampled_from([0, 10**6, 10**15, 10**400, 2**63, -(10**9)]))
_texts = st.one_of(st.text(max_size=12), st.sampled_from(["needle", "x" * 20_000, "\ud800", "日" * 9000]))
_junk = st.one_of(
    st.none(), st.booleans(), _numbers, st.floats(), _texts, st.lists(_numbers, max_size=2), st.just({"a": 1})
)


def _some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


_globs = st.one_of(_texts, st.sampled_from(["*.py", "**/*.txt", "!*.md", "[", "{a,b", "src/**", "\\"]))
_glob = st.one_of(_globs, st.lists(_globs, max_size=3))

_pages = st.one_of(
    _texts,
    st.sampled_from(["1", "2-3,1", "cell 2", "contents", "5-", "99", "1!A2:C9", "#1", "-", "0", "1!B"]),
)

_read = _some(
    path=st.one_of(paths, _documents),
    pages=st.one_of(st.none(), _pages),
    offset=_numbers,
    limit=_numbers,
    column=_numbers,
    symbol=st.one_of(
        st.sampled_from(["main", "A.f", "A", "Title", "f", "", " ", "x" * 600, "::", "operator+", "\ud800"]),
        _texts,
    ),
    view=st.sampled_from(["text", "outline", "x"]),
    known_hash=st.one_of(_texts, st.just("0" * 12)),
    encoding=st.one_of(_texts, st.sampled_from(["utf-8", "latin-1", "utf-16", "shift_jis", "utf-7", "idna"])),
)
_list = _some(
    path=paths,
    glob=_glob,
    depth=_numbers,
    include=st.lists(st.sampled_from(["ignored", "hidden"]), max_size=2),
    sort=st.sampled_from(["name", "mtime", "size", "x"]),
    limit=_numbers,
    cursor=_texts,
)
_patterns = st.one_of(
    _texts,
    st.sampled_from(
        [
            "needle",
            "nee(dle|t)",
            "^",
            "$",
            "",
            "(",
            "[a-",
            "a{99999}",
            "(?=x)",
            r"\1",
            "needle\nand",
            r"\bneedle\b",
            "(?i)NEEDLE",
            ".",
        ]
    ),
)
_grep = _some(
    pattern=_patterns,
    path=paths,
    glob=_glob,
    type=st.one_of(st.sampled_from(["py", "md", "nope", ""]), _texts),
    output=st.sampled_from(["content", "files", "count"]),
    context=st.integers(0, 5),
    before=st.integers(0, 60),
    ignore_case=st.booleans(),
    multiline=st.booleans(),
    symbols=st.booleans(),
    fixed=st.booleans(),
    include=st.lists(st.sampled_from(["ignored", "hidden", "binary"]), max_size=3),
    documents=st.booleans(),
    sort=st.sampled_from(["path", "relevance", "mtime"]),
    limit=_numbers,
    cursor=_texts,
)


_find = _some(
    query=st.one_of(
        _texts, st.sampled_from(["needle", "where is the needle", "A.f", "event 17", "(", "é", "x" * 900])
    ),
    path=paths,
    glob=_glob,
    type=st.sampled_from(["py", "md", "nope", ""]),
    output=st.sampled_from(["passages", "outline", "files"]),
    budget_tokens=st.one_of(_numbers, st.sampled_from([100, 400, 2000, 9000])),
    include=st.lists(st.sampled_from(["ignored", "hidden"]), max_size=2),
    explain=st.booleans(),
    cursor=_texts,
)


def _spoiled(arguments: dict[str, Any], name: str, junk: object) -> dict[str, Any]:
    return {**arguments, name: junk}


def calls(tool: str, arguments: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[tuple[str, Any]]:
    names = st.sampled_from(
        ["path", "offset", "limit", "pattern", "query", "glob", "cursor", "sort", "other", "depth"]
    )
    spoiled = st.builds(_spoiled, arguments, names, _junk)
    return st.tuples(st.just(tool), st.one_of(arguments, arguments, arguments, spoiled))


any_call = st.one_of(
    calls("read_file", _read),
    calls("list_directory", _list),
    calls("grep_files", _grep),
    calls("find_relevant", _find),
)
caps = st.sampled_from([1, MIN_REPLY_BYTES, 3000, 11_500, 10**6])
limits = st.builds(Limits, line_chars=st.sampled_from([1, 50, 2000]))


@given(call=any_call, cap=caps, limits=limits)
def test_every_reply_is_within_its_cap(
    store: Store, call: tuple[str, dict[str, Any]], cap: int, limits: Limits
) -> None:
    tool, arguments = call
    reply = Driver(store, reply_bytes=cap, limits=limits).call(tool, **arguments)
    assert reply.text
    if reply.is_error:
        assert fact(reply, "error")["code"] != "internal", reply.text


_NOTHING: st.SearchStrategy[object] = st.sampled_from(["", 0, None, [], {}])
_EMPTY = {tool.name: list(tool.input_schema["properties"]) for tool in NATIVE.tools}
filled_in = any_call.flatmap(
    lambda call: st.builds(
        lambda values: (call[0], {**dict(zip(_EMPTY[call[0]], values, strict=True)), **call[1]}),
        st.lists(_NOTHING, min_size=len(_EMPTY[call[0]]), max_size=len(_EMPTY[call[0]])),
    )
)
"""Calls with a value for every argument, as some models send them."""

_LEFT_OUT = re.compile(r"[Ll]eave (?:it|(?:out )?[`'](?P<name>\w+)[`'])(?: out)?\b")
_BAD_VALUE = re.compile(r"^(?P<name>\w+)=")
_ONE_OF = re.compile(r"'(?P<name>\w+)' must be one of '(?P<value>\w+)'")
_AS_NUMBER = re.compile(r"'(?P<name>\w+)' (?:must be|as) a (?:whole )?number")


def advised(call: tuple[str, dict[str, Any]], advice: str) -> dict[str, Any] | None:
    """The arguments after what an error advises in words; None where it advises nothing about them."""
    arguments, named = dict(call[1]), _BAD_VALUE.match(advice)
    if (left := _LEFT_OUT.search(advice)) is not None:
        name = left["name"] or (named and named["name"])
        return None if name not in arguments else {k: v for k, v in arguments.items() if k != name}
    if "argument `encoding`" in advice and call[0] == "read_file":
        return {**arguments, "encoding": "utf-8"}
    if (choice := _ONE_OF.search(advice)) is not None:
        return {**arguments, choice["name"]: choice["value"]}
    if (number := _AS_NUMBER.search(advice)) is not None:
        return {**arguments, number["name"]: 1}
    return None


def next_call(call: tuple[str, dict[str, Any]], reply: Reply) -> tuple[str, dict[str, Any]] | None:
    """The call that an error suggests, as a call or in words."""
    error = fact(reply, "error")
    if error["next"] is not None:
        return error["next"]["tool"], error["next"]["arguments"]
    arguments = advised(call, error["message"])
    return None if arguments is None else (call[0], arguments)


@given(call=st.one_of(any_call, filled_in), cap=caps)
@example(call=("read_file", {"path": "data/blob.bin"}), cap=10**6)
@example(call=("read_file", {"path": "data/latin.txt", "encoding": "utf-8"}), cap=10**6)
@example(
    call=("read_file", {"path": "README.md", "view": "", "pages": "", "symbol": "", "offset": 0}), cap=10**6
)
def test_every_hint_is_accepted(store: Store, call: tuple[str, dict[str, Any]], cap: int) -> None:
    driver = Driver(store, reply_bytes=cap)
    reply, mended, sent = driver.call(call[0], **call[1]), list[object](), [call]
    while reply.is_error and (following := next_call(call, reply)) is not None:
        # A call may be wrong in several ways: each hint mends one for good, and none leads back.
        mistake = (fact(reply, "error")["code"], fact(reply, "error")["message"])
        assert mistake not in mended, reply.text
        assert following not in sent, reply.text
        assert len(mended) < MOST_MISTAKES, reply.text
        mended.append(mistake)
        sent.append(following)
        call = following
        reply = driver.follow({"tool": call[0], "arguments": call[1]})
    if not reply.is_error:
        check_hints(driver, reply, depth=3)


def check_hints(driver: Driver, reply: Reply, depth: int) -> None:
    """Follow what a reply suggests, and what those replies suggest."""
    for call in list(hints(reply))[:4]:
        following = driver.follow(call)
        assert not following.is_error, (call, following.text)
        if depth:
            check_hints(driver, following, depth - 1)


def _lines_of_texts() -> dict[str, list[str]]:
    found = {}
    for path, data in FILES.items():
        try:
            text = data.decode()
        except UnicodeDecodeError:
            continue
        found[path] = [line.removesuffix("\r") for line in text.split("\n")]
    return found


TEXTS = _lines_of_texts()
"""What can be compared: every file that is UTF-8, in its own lines."""

_shown = st.sampled_from([name for name in FILES if not name.endswith((".pdf", ".docx", ".xlsx"))])
_sound = st.one_of(
    st.tuples(
        st.just("read_file"),
        st.fixed_dictionaries(
            {"path": _shown}, optional={"offset": st.integers(1, 9), "limit": st.integers(1, 9)}
        ),
    ),
    st.tuples(
        st.just("grep_files"),
        st.fixed_dictionaries(
            {"pattern": st.sampled_from(["needle", "a", "."]), "path": st.one_of(_shown, st.just("."))},
            optional={"limit": st.integers(1, 9), "context": st.integers(0, 3)},
        ),
    ),
    st.tuples(
        st.just("find_relevant"),
        st.fixed_dictionaries(
            {"query": st.sampled_from(["needle", "event", "name age"])},
            optional={"path": _shown, "budget_tokens": st.sampled_from([100, 400, 2000])},
        ),
    ),
)


@given(call=_sound, cap=st.sampled_from([3000, 10**6]))
def test_a_call_for_lines_or_characters_shows_just_those(
    store: Store, call: tuple[str, dict[str, Any]], cap: int
) -> None:
    driver = Driver(store, reply_bytes=cap)
    reply = driver.call(call[0], **call[1])
    for left in [] if reply.is_error else fact(reply, "omitted"):
        lines = None if left["call"] is None else TEXTS.get(left["call"]["arguments"].get("path"))
        if lines is None or left.get("part") or left["what"] not in ("lines", "columns"):
            continue
        number, column = (left["line"], left["from"]) if left["what"] == "columns" else (left["from"], 1)
        place = f"{number}:{column}" if column > 1 else str(number)
        text = lines[number - 1][column - 1 :][:5]
        assert f"\n{place}\t{text}" in driver.follow(left["call"]).text, left


MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("read_file", {"path": "READM.md"}, "not_found"),
    ("read_file", {"path": "src/deep/a/b/c/e.txt"}, "not_found"),
    ("list_directory", {"path": "srcc"}, "not_found"),
    ("grep_files", {"pattern": "x", "path": "srcc"}, "not_found"),
    ("read_file", {"path": "src"}, "not_a_file"),
    ("list_directory", {"path": "README.md"}, "not_a_folder"),
    ("list_directory", {"path": "README.md", "cursor": "x"}, "not_a_folder"),
    ("read_file", {"path": "README.md", "offset": 10**6}, "bad_range"),
    ("read_file", {"path": "empty", "offset": 2}, "bad_range"),
    ("read_file", {"path": "empty", "column": 2}, "bad_range"),
    ("read_file", {"path": "README.md", "column": 10**6}, "bad_range"),
    ("read_file", {"path": "README.md", "column": 10**6, "limit": 5}, "bad_range"),
    ("read_file", {"path": "README.md", "encoding": "klingon"}, "bad_encoding"),
    ("read_file", {"path": "src/many.py", "symbol": "A.f"}, "ambiguous"),
    ("read_file", {"path": "src/many.py", "symbol": "A.g"}, "unknown_symbol"),
    ("read_file", {"path": "src/many.py", "symbol": "zzz"}, "unknown_symbol"),
    ("read_file", {"path": "src/many.py", "symbol": "A", "offset": 10**6}, "bad_range"),
    ("read_file", {"path": "src/many.py", "symbol": "A", "offset": -1}, "bad_value"),
    ("read_file", {"path": "src/many.py", "symbol": " "}, "bad_value"),
    ("read_file", {"path": "src/many.py", "view": "outline", "offset": 10**6}, "bad_range"),
    ("read_file", {"path": "data/utf16.txt", "view": "outline"}, "no_outline"),
    ("list_directory", {"path": "src", "cursor": "x"}, "bad_cursor"),
    ("grep_files", {"pattern": "needle", "cursor": "x"}, "bad_cursor"),
    ("grep_files", {"pattern": "needle("}, "bad_pattern"),
    ("find_relevant", {"query": "needle", "cursor": "x"}, "bad_cursor"),
    ("find_relevant", {"query": "x", "path": "srcc"}, "not_found"),
    ("find_relevant", {"query": "needle", "type": "pyy"}, "bad_pattern"),
    ("find_relevant", {"query": "needle", "glob": "src/[a"}, "bad_pattern"),
    ("find_relevant", {"query": "(?)"}, "bad_value"),
    ("find_relevant", {"query": "needle", "path": "data/blob.bin"}, "binary"),
    ("grep_files", {"pattern": "needle", "type": "pyy"}, "bad_pattern"),
    ("grep_files", {"pattern": "needle", "glob": "src/[a"}, "bad_pattern"),
]


@each(("tool", "arguments", "code"), MISTAKES, ids=[str(m[:2]) for m in MISTAKES])
def test_a_mistake_is_named_and_its_hint_works(
    store: Store, tool: str, arguments: dict[str, Any], code: str
) -> None:
    driver = Driver(store)
    reply = driver.call(tool, **arguments)
    assert fact(reply, "error")["code"] == code
    suggested = fact(reply, "error")["next"]
    if suggested is not None:
        following = driver.follow(suggested)
        assert not following.is_error, following.text
        assert f"Next: {suggested['tool']} " in reply.text


@each("tool", ["read_file", "list_directory", "grep_files", "nothing", "", "x" * 9999])
@each("arguments", [None, [], "path", 3, {}, {"": ""}, {"path": {}}, {"x" * 9999: 1}])
def test_a_call_that_makes_no_sense_is_an_error_within_the_cap(tool: str, arguments: object) -> None:
    driver = Driver(MemoryStore(FILES))
    reply = driver.workspace.call(tool, arguments, reply_bytes=MIN_REPLY_BYTES)
    assert len(reply.text.encode()) <= MIN_REPLY_BYTES
    if tool != "list_directory" or arguments not in ({}, {"path": {}}):  # an empty value is a left-out one
        assert reply.is_error
        assert fact(reply, "error")["code"] != "internal"
