"""The law that each line of an ignore file takes effect, or the workspace closes and the line is named."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from readroom.core import config
from readroom.core.errors import BadConfig, Denied
from readroom.core.policy.guard import Guard
from readroom.core.stores.memory import MemoryStore
from tests.each import each

NAMES = ("private", "Größe", "a b", "café", "数据", "x")
"""Folders with one file each, all of which the file denies."""

ENCODINGS = {
    "utf-8": b"",
    "utf-8-sig": b"",
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
"""With the marks that Python does not write itself."""

ODD = (
    "",
    "\0",
    "\r",
    "\x0b",
    "\x0c",
    "\x1b",
    "\x85",
    "\u2028",
    "\u2029",
    "\t",
    "\x7f",
    "//",
    "/./",
    "/../",
    "[z-a",
    "\\",
)
"""Texts that may follow a pattern, or separate two."""

UNSEEN = ("", " ", "  ", "\t", "\xa0", "\u202f", "\u3000", "\u200b", "\u200d", "\u2060", "\ufeff", "\xad")
"""What cannot be seen at the ends of a name, as an editor or a web page may leave it there."""

own = pytest.mark.parametrize("name", [".readroomignore", ".kilocodeignore"])


def usable(store: MemoryStore, name: str) -> Guard | None:
    """The guard; None where the file closed the workspace, and its line was named."""
    try:
        return Guard(store)
    except BadConfig as refused:
        error = refused
    assert error.facts["where"] == name
    assert str(error.facts["key"]).startswith("line ") or "begins as" in error.message
    return None


@own
@settings(max_examples=30)
@given(
    names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=4),
    ends=st.lists(
        st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\r\r\n", "\n# words\n", "\n  \n"]),
        min_size=4,
        max_size=4,
    ),
    odd=st.lists(st.sampled_from(ODD), min_size=4, max_size=4),
    encoding=st.sampled_from([*ENCODINGS]),
    marked=st.booleans(),
    unseen=st.tuples(st.sampled_from(UNSEEN), st.sampled_from(UNSEEN)),
)
@example(["private"], ["\r\n"] * 4, [""] * 4, "utf-16-le", True, ("", ""))
@example(["private"], ["\n"] * 4, ["\0"] * 4, "utf-8", False, ("", ""))
@example(["x", "private"], ["\r"] * 4, [""] * 4, "utf-8", False, ("", ""))
def test_every_line_of_an_ignore_file_denies_or_closes(
    name: str,
    names: list[str],
    ends: list[str],
    odd: list[str],
    encoding: str,
    marked: bool,
    unseen: tuple[str, str],
) -> None:
    rows = zip(names, odd, ends, strict=False)
    before, after = unseen
    text = "".join(f"{before}/{folder}{after}/{more}{end}" for folder, more, end in rows)
    data = (ENCODINGS[encoding] if marked else b"") + text.encode(encoding)
    store = MemoryStore()
    for folder in NAMES:
        store.put(f"{folder}/a.txt", b"secret")
    store.put(name, data)
    guard = usable(store, name)
    if guard is None:
        return
    for folder in names:
        with pytest.raises(Denied):
            guard.open(f"{folder}/a.txt")


@own
@each("unseen", [one for one in UNSEEN if one not in ("", "\t")])  # a tab behind a name closes
def test_a_name_is_denied_with_and_without_what_cannot_be_seen(name: str, unseen: str) -> None:
    store = MemoryStore()
    for folder in ("private", f"private{unseen}", f"{unseen}private", "open"):
        store.put(f"{folder}/a.txt", b"secret")
    store.put(name, f"private{unseen}\n{unseen}private/\n  # words\n".encode())
    guard = Guard(store)
    guard.open("open/a.txt").close()
    for folder in ("private", f"{unseen}private"):
        with pytest.raises(Denied):
            guard.open(f"{folder}/a.txt")


@own
@each("encoding", ENCODINGS)
def test_what_windows_writes_is_read(name: str, encoding: str) -> None:
    store = MemoryStore()
    store.put("Größe/a.txt", b"secret")
    store.put("open.txt", b"open")
    store.put(name, ENCODINGS[encoding] + "# words\r\nGröße/\r\n".encode(encoding))
    guard = Guard(store)
    guard.open("open.txt").close()
    with pytest.raises(Denied) as caught:
        guard.open("Größe/a.txt")
    assert caught.value.facts["source"] == f"{name}:2"


@own
@each(
    ("data", "line"),
    [
        (b"x\nprivate/\0\n", 2),
        (b"# x\0\nprivate/\n", 1),
        ("private/\n".encode("utf-16-le"), 1),
        (b"x/\rprivate/\r", 1),
        (b"# what is kept\rprivate/\n", 1),
        (b"x\n\n./private/\n", 3),
        (b"private/\t\n", 1),
        (b"private/../private/\n", 1),
        (b"private//\n", 1),
        ("private/\u2028x/\n".encode(), 1),
        ("\u200b\u200d\n\u2060\n".encode(), 2),
    ],
)
def test_the_line_that_can_deny_nothing_is_named(name: str, data: bytes, line: int) -> None:
    store = MemoryStore()
    store.put(name, data)
    with pytest.raises(BadConfig) as caught:
        Guard(store)
    assert caught.value.facts["key"] == f"line {line}"


@pytest.mark.parametrize("pattern", ["./private/", "private//a", "private/\\u0000", "private/\\r"])
def test_patterns_of_configuration_take_effect_or_are_refused(pattern: str, tmp_path: Path) -> None:
    (tmp_path / "readroom.toml").write_text(f'[policy]\ndeny = ["{pattern}"]\n')
    with pytest.raises(BadConfig, match="is not a pattern that can match a name"):
        config.load(config.open_store(tmp_path))
