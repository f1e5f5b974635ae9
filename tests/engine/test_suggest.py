"""What is suggested for a file that is missing."""

from __future__ import annotations

import gzip

import pytest

from readroom.stores.memory import MemoryStore
from tests.laws.driving import Driver, fact

TEXT = "".join(f"line {number}\n" for number in range(1, 31))


def driver() -> Driver:
    files = {"src/evict.py": TEXT, "src/dict.py": "x = 1\n", "odd:7": "this one is there\n"}
    return Driver(MemoryStore({path: text.encode() for path, text in files.items()}))


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "path", ["..:3", "src/..:3", "src/.:3", ":3", "src/:3", "#L3", "evict.py:0", "src:3"]
)
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
        refusal = machine.call(tool, path=path, **rest)
        assert "src/" in machine.follow(fact(refusal, "error")["next"]).text


def test_a_file_that_cannot_be_listed_is_to_be_read_where_it_can_be() -> None:
    machine = Driver(
        MemoryStore({"a.txt": b"text\n", "lib.so": bytes(range(256)), "x.gz": gzip.compress(b"text\n")})
    )
    for name in ("a.txt", "x.gz"):
        refusal = machine.call("list_directory", path=name)
        assert "text" in machine.follow(fact(refusal, "error")["next"]).text
    for path in ("lib.so", "lib.so!", "lib.so!/a.txt"):
        refusal = machine.call("list_directory", path=path)
        assert refusal.text == "lib.so is a file, not a folder. Only folders can be listed."
        assert fact(refusal, "error")["next"] is None


def test_pages_of_a_definition_are_left_out_of_code_and_kept_of_a_document() -> None:
    machine = driver()
    refusal = machine.call("read_file", path="src/evict.py", symbol="f", pages="1")
    assert fact(refusal, "error")["next"]["arguments"] == {"path": "src/evict.py", "symbol": "f"}
    refusal = machine.call("read_file", path="a.docx", symbol="Title", pages="1")
    assert fact(refusal, "error")["next"]["arguments"] == {"path": "a.docx", "pages": "1"}


@pytest.mark.parametrize(("path", "shown"), [("src/evict.py", "outline"), ("a.txt", "text")])
def test_an_empty_symbol_leads_to_the_outline_where_there_can_be_one(path: str, shown: str) -> None:
    machine = Driver(MemoryStore({"a.txt": b"some text\n", "src/evict.py": b"def f():\n    pass\n"}))
    reply = machine.follow(fact(machine.call("read_file", path=path, symbol=" "), "error")["next"])
    assert not reply.is_error
    assert shown in reply.text
