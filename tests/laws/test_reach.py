"""No passage is out of reach: the pages of a search show every line of the files that it ranks, once each.

Trees of programs, prose, tables, blank lines and long lines, in every way in that has pages; and whoever
changes a file between two pages is told.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom import Workspace
from readroom.core.contracts.native.calls import FIND
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from tests.cli.running import Cli
from tests.each import each
from tests.laws.driving import Driver, fact
from tests.mcp.serving import Http, Stdio, http_server
from tests.suites import daily

NAMES = st.sampled_from(
    [
        *("lock.py", "src/door.rs", "src/valve.go", "lib/index.js", "door.c", "notes.txt", "rows.csv"),
        *("docs/door.md", "docs/door.html", "tests/test_door.py", "door.log", "door.yaml", "LICENSE"),
    ]
)

WORDS = st.sampled_from(
    [
        *("def door(key):", "    return key", "class Door:", "    def turn(self):", "        key = 1"),
        *("", "", ""),
        *("fn door() {", "}", "func Turn() int {", "# a key", "// a door", "@lock", "   ", "\t", "key: door"),
        *("door," * 200, "# Door", "The key turns.", "const key = require('door');", "import key"),
    ]
)
LINES = st.lists(WORDS, max_size=60) | st.integers(1, 90).map(lambda count: [""] * count)
ENDS = st.sampled_from(["\n", "\n", "\r\n"])
FILES = st.dictionaries(
    NAMES,
    st.tuples(LINES, ENDS, st.booleans()).map(lambda of: of[1].join([*of[0], *([""] if of[2] else [])])),
    min_size=1,
    max_size=6,
)
QUESTIONS = st.sampled_from(
    ["door key", "where is the key turned", "door", "documentation of a door", "lock"]
)


def shown(pages: list[Reply]) -> Counter[tuple[str, int]]:
    """How often each line is among the passages of replies, by their facts."""
    return Counter(
        (file["path"], line)
        for reply in pages
        for file in fact(reply, "files")
        for one in file["passages"]
        for line in range(one["start"], one["end"] + 1)
    )


def written(text: str) -> Counter[int]:
    """How often each number stands before a line of a page."""
    return Counter(int(number) for number in re.findall(r"^(\d+)\t", text, re.MULTILINE))


def rows_by_file(text: str) -> Counter[tuple[str, int]]:
    """How often each line of each file stands on a page."""
    path, found = "", Counter[tuple[str, int]]()
    for row in text.split("\n"):
        number = re.match(r"(\d+)\t", row)
        if number is not None:
            found[path, int(number[1])] += 1
        elif " | " in row:
            path = row.partition(" | ")[0]
    return found


def lines_of(files: dict[str, str], among: set[str]) -> set[tuple[str, int]]:
    """The lines of some files."""
    texts = {path: files[path].replace("\r\n", "\n") for path in among}
    return {
        (path, at)
        for path, text in texts.items()
        for at in range(1, text.count("\n") + (not text.endswith("\n")) + 1)
        if text
    }


@given(files=FILES, question=QUESTIONS, budget=st.sampled_from([150, 600, 2000, 9000]))
def test_pages_show_every_line_of_ranked_files_once(
    files: dict[str, str], question: str, budget: int
) -> None:
    driver = Driver(MemoryStore({path: text.encode() for path, text in files.items()}))
    pages = list(driver.pages(FIND, query=question, budget_tokens=budget))
    counted = shown(pages)
    assert set(counted.values()) <= {1}
    names = fact(driver.call(FIND, query=question, output="files", budget_tokens=9000), "files")
    ranked = {file["path"] for file in names}
    assert set(counted) == lines_of(files, ranked)
    for reply in pages:
        (*_, last) = reply.text.split("\n")
        assert "Warning: changed" not in last
        in_facts = sum(shown([reply]).values())
        assert sum(written(reply.text).values()) >= in_facts  # enclosing signatures come on top


@daily(1, "package", ["email", "json"])
def test_pages_of_a_real_tree_show_every_line_once(package: str) -> None:
    folder = Path(os.__file__).parent / package
    files = {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*.py"))
        if "test" not in file.parts
    }
    driver = Driver(MemoryStore(files))
    pages = list(driver.pages(FIND, query="how is a header decoded", budget_tokens=6000))
    counted = shown(pages)
    assert set(counted.values()) == {1}
    paths = {path for path, _ in counted}
    assert set(counted) == lines_of({path: data.decode() for path, data in files.items()}, paths)


def test_the_command_line_reaches_every_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(f"def door_{number}(key):\n    return key + {number}\n\n\n" for number in range(60))
    (tmp_path / "door.py").write_text(text + "x = 1\n\n" * 30, encoding="utf-8")
    cli, seen = Cli(tmp_path, capsys), Counter[int]()
    done = cli("find", "door key", "--budget-tokens", "700")
    for _ in range(60):
        assert done.code == 0
        seen += written(done.out)
        following = re.search(r"Next: (readroom find .*)\]$", done.out.rstrip())
        if following is None:
            break
        done = cli.bare(*shlex.split(following[1])[1:])
    assert set(seen) == set(range(1, 301))
    assert set(seen.values()) == {1}


@pytest.mark.parametrize("face", ["MCP stdio", "MCP HTTP"])
def test_a_client_reaches_every_line(tmp_path: Path, face: str) -> None:
    """By the calls that replies name, as a client of the protocol receives and sends them."""
    files = {
        "door.py": "def door(key):\n    return key\n\n\n" * 40,
        "docs/door.md": "The key turns.\n\n" * 30,
    }
    files |= {"valve.rs": "// a door\nfn door() {\n}\n" * 25, "bolt.c": "int bolt;\n\n" * 20}
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    with ExitStack() as open_ones:
        if face == "MCP stdio":
            call = open_ones.enter_context(Stdio(tmp_path)).call
        else:
            url, _ = open_ones.enter_context(http_server(tmp_path))
            call = open_ones.enter_context(Http(url)).call
        seen = Counter[tuple[str, int]]()
        arguments: dict[str, object] = {"query": "door key", "budget_tokens": 400}
        while arguments:
            result = call(FIND, arguments)
            assert not result["isError"], result
            text = result["content"][0]["text"]
            seen += rows_by_file(text)
            following = re.search(rf"{FIND} (\{{.*\}})\]$", text)
            arguments = json.loads(following[1]) if following else {}
    assert set(seen) == lines_of(files, {"door.py", "docs/door.md", "valve.rs"})
    assert set(seen.values()) == {1}


@each("change", ["append", "prepend", "replace", "remove", "add"])
@each("budget", [150, 400])
def test_a_change_between_two_pages_is_said(tmp_path: Path, change: str, budget: int) -> None:
    for number in range(4):
        text = f"def door_{number}(key):\n    return key\n\n\n" * 9
        (tmp_path / f"door_{number}.py").write_text(text, encoding="utf-8")
    changed = tmp_path / "door_2.py"
    old = changed.read_text(encoding="utf-8")
    new = {"append": f"{old}door = key\n", "prepend": f"door = key\n{old}", "add": old}
    new["replace"] = old.replace("return key", "return kex")
    with Workspace(tmp_path) as room:
        first = room.find("door key", budget_tokens=budget)
        if change == "remove":
            changed.unlink()
        else:
            (tmp_path / "door_9.py" if change == "add" else changed).write_text(new[change], encoding="utf-8")
        second = room.call(FIND, fact(first, "next")["arguments"])
        again = room.find("door key", budget_tokens=budget)
    codes = [[warning["code"] for warning in fact(reply, "warnings")] for reply in (first, second, again)]
    assert ["changed" in of_one for of_one in codes] == [False, True, False]
