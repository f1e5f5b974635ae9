"""Kilo Code's read_file: every line by its own hints, bytes and characters, settings and budgets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.contracts.kilo import KiloSettings
from readroom.core import config
from readroom.core.errors import BadConfig
from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.contracts.kilo.calling import read, room
from tests.laws.driving import fact

# --- bytes and lines ----------------------------------------------------------------------------------


@pytest.mark.clause("kilo.padding", "kilo.line_ends")
def test_numbers_are_not_padded_and_line_ends_are_not_shown() -> None:
    space = room({"a.txt": b"one\r\ntwo\rthree\r\n" * 5})
    whole = read(space, "a.txt")
    assert whole.startswith("1 | one\n2 | two\rthree\n")
    assert "\n10 | two\rthree" in whole
    assert whole.split("\n")[8:] == read(space, "a.txt", start_line=9).split("\n")


@pytest.mark.clause("kilo.characters", "kilo.range.streams")
def test_a_range_of_a_large_file_reads_only_what_it_shows_and_keeps_characters(tmp_path: Path) -> None:
    row = "é" * 20 + "\n"
    (tmp_path / "a.txt").write_text("x" + row * 400_000, encoding="utf-8")
    with Workspace(tmp_path) as space:
        assert read(space, "a.txt", start_line=399_999) == "\n".join(
            f"{number} | {row[:-1]}" for number in (399_999, 400_000)
        )
        for first in range(250_000, 250_020):
            assert read(space, "a.txt", start_line=first, end_line=first) == f"{first} | {row[:-1]}"


texts = st.lists(
    st.text(st.sampled_from("ab é😀\t\r\u2028|"), max_size=60) | st.integers(1, 4000).map(lambda n: "x" * n),
    max_size=60,
)


@settings(max_examples=20)
@given(texts, st.sampled_from(["utf-8", "utf-16", "utf-8-sig"]), st.booleans(), st.booleans())
def test_following_its_own_hints_shows_every_line_once(
    lines: list[str], encoding: str, ended: bool, truncates: bool
) -> None:
    text = "\n".join(lines) + ("\n" if ended and lines else "")
    space = room({"a.txt": text.encode(encoding)}, max_read_file_line=7, auto_truncate=truncates)
    wanted = [line.removesuffix("\r") for line in text.split("\n")]
    last = text.rpartition("\n")[2]  # without an end, a CR is its own
    wanted = wanted[:-1] + ([last] if last else [])
    arguments: Any = {"path": "a.txt"}
    found = dict[int, str]()
    for _ in range(500):
        reply = space.call("read_file", arguments, contract_name="kilo", reply_bytes=MIN_REPLY_BYTES)
        assert not reply.is_error
        assert len(reply.text.encode()) <= MIN_REPLY_BYTES
        for row in reply.text.split("\n"):
            match = re.match(r"(\d+) \| ", row)
            if match:
                number = int(match[1])
                found[number] = found.get(number, "") + row[match.end() :]
        cut = next((one for one in fact(reply, "omitted") if one["what"] == "columns"), None)
        following = fact(reply, "next")
        if cut is not None:
            arguments, held = cut["call"]["arguments"], following
            while arguments is not None:
                rest = space.call("read_file", arguments, contract_name="kilo", reply_bytes=MIN_REPLY_BYTES)
                number = arguments["start_line"]
                found[number] += rest.text.split("\n")[0].removeprefix(f"{number} | ")
                again = fact(rest, "next")
                arguments = again["arguments"] if again else None
            following = held
        if following is None:
            break
        arguments = following["arguments"]
    assert [found[number] for number in sorted(found)] == wanted
    assert sorted(found) == list(range(1, len(wanted) + 1))


# --- settings and budgets ------------------------------------------------------------------------------


def test_settings_are_heard_and_a_folder_can_only_have_less_shown(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text("[contracts.kilo]\nmax_read_file_line = 20\nauto_truncate = true\n", encoding="utf-8")
    store = MemoryStore({})
    assert config.load(store, own).contracts["kilo"] == KiloSettings(20, auto_truncate=True)
    store.put("readroom.toml", "[contracts.kilo]\nmax_read_file_line = 5\nauto_truncate = true\n")
    assert config.load(store, own).contracts["kilo"] == KiloSettings(5, auto_truncate=True)
    for said in ("max_read_file_line = 21", "max_read_file_line = -1", "auto_truncate = false"):
        store.put("readroom.toml", f"[contracts.kilo]\n{said}\n")
        with pytest.raises(BadConfig, match="only have less"):
            config.load(store, own)


@pytest.mark.parametrize(
    "said", ["max_read_file_line = 0", "max_read_file_line = true", "auto_truncate = 1", "x = 1"]
)
def test_settings_that_make_no_sense_are_refused(tmp_path: Path, said: str) -> None:
    own = tmp_path / "own.toml"
    own.write_text(f"[contracts.kilo]\n{said}\n", encoding="utf-8")
    with pytest.raises(BadConfig, match=r"contracts\.kilo\."):
        config.load(MemoryStore({}), own)
