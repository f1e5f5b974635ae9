"""rg is found, given arguments that mean one thing only, and understood when it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from readroom.core.errors import BadPattern
from readroom.core.search import ripgrep
from readroom.core.search.refusals import refusal
from readroom.core.search.ripgrep import literal_glob, pattern_flags, program, type_table, unreadable
from readroom.core.values import GrepRequest
from tests.each import each


def refused(request: GrepRequest) -> BadPattern:
    done = subprocess.run(
        [program(), *pattern_flags(request), "-"], input=b"", capture_output=True, check=False
    )
    assert done.returncode == 2
    error = refusal(done.stderr, request)
    assert isinstance(error, BadPattern)
    return error


def test_the_program_is_the_one_beside_the_interpreter() -> None:
    assert Path(program()).parent == Path(sys.executable).parent


@each(
    ("pattern", "at", "problem"),
    [
        ("foo(", 3, "unclosed group"),
        (r"a\(b(c[(]d", 4, "unclosed group"),
        ("foo)", 3, "unopened group"),
        ("é[z-a]", 2, "invalid character class range, the start must be <= the end"),
        ("ab{2", 2, "unclosed counted repetition"),
        ("*a", 0, "repetition operator missing expression"),
        (r"a\q", 1, "unrecognized escape sequence"),
        (r"\p{Foo}", 0, "Unicode property not found"),
        ("x\n[", 2, "unclosed character class"),
        ("[", 0, "unclosed character class"),
    ],
)
def test_a_bad_pattern_says_what_is_wrong_and_where(pattern: str, at: int, problem: str) -> None:
    error = refused(GrepRequest(pattern, multiline=True, cursor="x"))
    assert (error.facts["at"], error.facts["problem"]) == (at, problem)
    # The text itself can always be searched for.
    assert error.next == GrepRequest(pattern, multiline=True, fixed=True)


@pytest.mark.parametrize(
    ("pattern", "word"),
    [("a(?=b)", "lookaround"), ("(?<!a)b", "lookaround"), (r"(a)\1", "backreferences")],
)
def test_what_no_linear_engine_has_is_named(pattern: str, word: str) -> None:
    error = refused(GrepRequest(pattern))
    assert f"{word} is not supported" in str(error) or f"{word} are not supported" in str(error)
    assert error.next is None


@pytest.mark.parametrize("pattern", ["a\nb", r"a\nb", r"\r"])
def test_a_line_end_asks_for_multiline(pattern: str) -> None:
    error = refused(GrepRequest(pattern))
    assert error.next == GrepRequest(pattern, multiline=True)


def test_a_pattern_that_needs_too_much_memory_is_refused_quickly() -> None:
    assert "memory" in str(refused(GrepRequest(r"(\w{100}){100}")))


@each("pattern", ["-e", "--files", "-", "--", "--pre=sh", "-f/etc/passwd"])
def test_no_pattern_is_an_option(pattern: str) -> None:
    command = [program(), *pattern_flags(GrepRequest(pattern)), "-"]
    done = subprocess.run(command, input=f"x\n{pattern}\n".encode(), capture_output=True, check=False)
    assert done.stdout == f"2:{pattern}\n".encode()


@each("path", ["a*b", "[x]", "{a,b}", "!a", "a\\b", "sp ace/#x", "q?", "é", "-g", "a\nb"])
def test_a_literal_glob_means_exactly_one_path(path: str, tmp_path: Path) -> None:
    for name in (path, "other", "ab", "x", "a"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    command = [program(), "--no-config", "--files", "--null", f"--glob=!{literal_glob(path)}", "./"]
    done = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path)
    left = {os.fsdecode(name[2:]) for name in done.stdout.split(b"\0") if name}
    assert left == {"other", "ab", "x", "a"} - {path}


def test_types_are_read_from_the_program() -> None:
    done = subprocess.run([program(), "--type-list"], capture_output=True, check=True)
    table = type_table(done.stdout.decode())
    assert table["py"] == ["*.py", "*.pyi"]
    assert len(table) > 100


def test_files_that_vanish_are_not_unreadable() -> None:
    said = (
        b"rg: ./a: Permission denied (os error 13)\n"
        b"rg: ./b\xff: Input/output error (os error 5)\n"
        b"rg: ./: IO error for operation on ./: Permission denied (os error 13)\n"
        b"rg: ./x: y: IO error for operation on ./x: y: Permission denied (os error 13)\n"
        b"rg: ./c: No such file or directory (os error 2)\n"
        b"rg: ./c/d: Not a directory (os error 20)\n"
        b"rg: ./a\nb\n: Permission denied (os error 13)\n"
        b"l: Ignore(IgnoreMatch(Types(Glob(UnmatchedIgnore))))\n"
        b"rg: ./deep: File name too long (os error 36)\n"
        b"rg: No files were searched\n"
    )
    assert unreadable(said) == ["./a", "./b\udcff", "./", "./x: y", "./a\nb\n", "./deep"]


def test_messages_about_files_are_no_refusal() -> None:
    assert refusal(b"rg: ./regex: Permission denied (os error 13)\n", GrepRequest("x")) is None


def test_versions_are_read() -> None:
    assert ripgrep.version_of(program()) >= ripgrep.OLDEST
