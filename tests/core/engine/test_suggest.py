"""What is suggested for a file that is missing."""

from __future__ import annotations

import gzip

import pytest

from readroom.core.stores.memory import MemoryStore
from tests.documents.reading.making import png
from tests.each import each
from tests.laws.driving import Driver, fact

TEXT = "".join(f"line {number}\n" for number in range(1, 31))


def driver() -> Driver:
    files = {"src/evict.py": TEXT, "src/dict.py": "x = 1\n", "odd:7": "this one is there\n"}
    return Driver(MemoryStore({path: text.encode() for path, text in files.items()}))


@each(
    ("path", "lines"),
    [
        ("src/evict.py:12", "lines 12-30 of 30"),
        ("src/evict.py:12:", "lines 12-30 of 30"),
        ("src/evict.py:12:5", "lines 12-30 of 30"),
        ("src/evict.py:12-15", "lines 12-15 of 30"),
        ("src/evict.py#L12", "lines 12-30 of 30"),
        ("src/evict.py#L12-L15", "lines 12-15 of 30"),
        ("evict.py:12-9", "lines 12-30 of 30"),
    ],
)
def test_lines_that_are_named_in_a_path_are_read_by_the_next_step(path: str, lines: str) -> None:
    machine = driver()
    refusal = machine.call("read_file", path=path)
    assert fact(refusal, "error")["facts"]["near"] == ["src/evict.py"]
    reply = machine.follow(fact(refusal, "error")["next"])
    assert lines in reply.text.split("\n")[0]


def test_what_else_was_asked_of_a_file_that_is_elsewhere_is_asked_again() -> None:
    machine = driver()
    reply = machine.follow(
        fact(machine.call("read_file", path="evict.py", offset=3, limit=2), "error")["next"]
    )
    assert "lines 3-4 of 30" in reply.text.split("\n")[0]
    refusal = machine.call("read_file", path="src/evict.py:12", limit=2)
    assert "lines 12-13 of 30" in machine.follow(fact(refusal, "error")["next"]).text.split("\n")[0]
    alike = fact(machine.call("read_file", path="src/evct.py", offset=3), "error")["next"]
    assert alike["arguments"] == {"path": "src/evict.py"}


def test_a_search_in_a_file_with_a_line_is_one_in_the_file() -> None:
    machine = driver()
    refusal = machine.call("grep_files", pattern="line 7", path="src/evict.py:3")
    assert "7\tline 7" in machine.follow(fact(refusal, "error")["next"]).text


def test_a_name_that_looks_like_a_place_is_a_name_first() -> None:
    assert "this one is there" in driver().call("read_file", path="odd:7").text


@each("path", ["..:3", "src/..:3", "src/.:3", ":3", "src/:3", "#L3", "evict.py:0", "src:3"])
def test_other_paths_with_numbers_lead_nowhere_else(path: str) -> None:
    refusal = driver().call("read_file", path=path)
    assert fact(refusal, "error")["code"] == "not_found"


@pytest.mark.parametrize(
    ("tool", "arguments", "found"),
    [
        ("read_file", {"path": "src/*.py"}, "evict.py"),
        ("list_directory", {"path": "src/*.py"}, "dict.py"),
        ("list_directory", {"path": "**/ev*"}, "src/evict.py"),
        ("grep_files", {"path": "src/*.py", "pattern": "x = 1"}, "src/dict.py"),
        ("find_relevant", {"path": "src/*.py", "query": "line 7"}, "src/evict.py"),
    ],
)
def test_a_path_with_wildcards_is_a_glob_in_the_next_step(
    tool: str, arguments: dict[str, str], found: str
) -> None:
    machine = driver()
    reply = machine.follow(fact(machine.call(tool, **arguments), "error")["next"])
    assert not reply.is_error
    assert found in reply.text


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "none/*.py"}),
        ("grep_files", {"path": "src/*.py", "glob": "*.c", "pattern": "x"}),
    ],
)
def test_wildcards_that_mean_nothing_that_can_be_asked_lead_nowhere(
    tool: str, arguments: dict[str, str]
) -> None:
    assert fact(driver().call(tool, **arguments), "error")["next"] is None


@pytest.mark.parametrize("path", ["", "/", "//"])
def test_who_names_no_folder_is_shown_the_root(path: str) -> None:
    machine = driver()
    for tool, rest in (("read_file", {}), ("list_directory", {}), ("grep_files", {"pattern": "x"})):
        reply = machine.call(tool, path=path, **rest)
        if path or tool == "read_file":
            reply = machine.follow(fact(reply, "error")["next"])
        assert tool == "grep_files" or "src/" in reply.text
        assert not reply.is_error


@pytest.mark.parametrize(("path", "shown"), [("src/evict.py", "outline"), ("a.txt", "text")])
def test_an_empty_symbol_leads_to_the_outline_where_there_can_be_one(path: str, shown: str) -> None:
    machine = Driver(MemoryStore({"a.txt": b"some text\n", "src/evict.py": b"def f():\n    pass\n"}))
    reply = machine.follow(fact(machine.call("read_file", path=path, symbol=" "), "error")["next"])
    assert not reply.is_error
    assert shown in reply.text


def test_no_name_is_suggested_whose_read_is_refused() -> None:
    """Where it would stand in the way of one that can be read, that comes up."""
    files = {
        "logo.bin": bytes(range(256)),
        "shot.png": png(1, 1),
        "l.gz": gzip.compress(b"x\n"),
    }
    files |= {f"data/part{number}.bin": bytes(range(256)) for number in range(8)} | {"data/party": b"text\n"}
    machine = Driver(MemoryStore(files))
    assert fact(machine.call("read_file", path="logo.bni"), "error")["facts"]["near"] == []
    assert fact(machine.call("read_file", path="data/part.bin"), "error")["facts"]["near"] == []
    for path, found in (("shto.png", "shot.png"), ("data/prt", "data/party"), ("l.gzz", "l.gz")):
        near = fact(machine.call("read_file", path=path), "error")
        assert near["facts"]["near"] == [found]
        assert not machine.follow(near["next"]).is_error
    # To look for text in it, or to move it, is something else.
    near = fact(machine.call("grep_files", pattern="x", path="logo.bni"), "error")["facts"]["near"]
    assert near == ["logo.bin"]


@pytest.mark.parametrize("tool", ["read_file", "grep_files", "list_directory"])
def test_a_path_that_goes_on_behind_a_file_says_so(tool: str) -> None:
    machine = driver()
    rest = {"pattern": "x"} if tool == "grep_files" else {}
    error = fact(machine.call(tool, path="src/dict.py/__init__/x.c", **rest), "error")
    assert error["facts"]["file"] == "src/dict.py"
    assert "src/dict.py is a file" in error["message"]
    if tool != "list_directory":
        assert "x = 1" in machine.follow(error["next"]).text


def test_a_file_whose_name_could_be_a_glob_is_a_file_all_the_same() -> None:
    machine = Driver(MemoryStore({"{a}": b"x = 1\n"}))
    error = fact(machine.call("read_file", path="{a}/x.c"), "error")
    assert error["facts"]["file"] == "{a}"
    assert "x = 1" in machine.follow(error["next"]).text


@each(
    ("path", "meant"),
    [
        ("src\\dict.py", "src/dict.py"),
        (".\\src\\dict.py", "src/dict.py"),
        ("C:\\proj\\src\\dict.py", "src/dict.py"),
        ("/src/dict.py", "src/dict.py"),
        ("/workspace/proj/src/dict.py", "src/dict.py"),
        ("../proj/src/dict.py", "src/dict.py"),
        ("/src", "src"),
    ],
)
def test_the_end_of_a_path_elsewhere_names_what_is_meant_here(path: str, meant: str) -> None:
    machine = driver()
    tools = [("read_file", {}), ("grep_files", {"pattern": "."})]
    for tool, rest in tools if meant.endswith(".py") else [("list_directory", {})]:
        error = fact(machine.call(tool, path=path, **rest), "error")
        assert error["facts"]["near"] == [meant]
        assert meant in error["message"]
        assert not machine.follow(error["next"]).is_error


@pytest.mark.parametrize("path", ["/etc/passwd", "../..", "C:\\", "/home/.env"])
def test_nothing_is_meant_by_a_path_whose_end_is_not_here_or_denied(path: str) -> None:
    machine = Driver(MemoryStore({".env": b"SECRET=1\n", "a": b"x\n"}))
    assert fact(machine.call("read_file", path=path), "error")["next"] is None
