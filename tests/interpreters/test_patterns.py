"""A pattern finds the same in every Python of the machine.

`re` before Python 3.11.5 matches possessive groups and atomic groups wrongly, without an error: in
Debian 12, for example.  A law for results, not for a list of patterns that are known to differ.
"""

from __future__ import annotations

import ast
import json
import os
import random
import re
import re._constants as codes  # type: ignore[import-not-found] # private, without types
import re._parser as parser  # type: ignore[import-not-found]
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import readroom
from readroom.core.deadline import Deadline
from readroom.core.outline import markup
from readroom.core.outline.cuts import without_bodies
from readroom.core.outline.grammars import python
from readroom.core.outline.grammars.macros import without_macros
from readroom.core.outline.signatures import cut_off
from readroom.core.policy.rules.gitignore import UnusablePattern, translate
from tests.each import each
from tests.interpreters import patterns
from tests.interpreters.pythons import Python, others
from tests.suites import whole

_TEXTS = 120
_MATCHING = Path(__file__).with_name("matching.py")


def pythons() -> tuple[Python, ...]:
    """The other Pythons. Continuous integration must have some for root; a normal user may reach none."""
    found = others()
    assert found or os.geteuid() != 0 or not os.environ.get("CI"), "only one version of Python was found"
    return found


def patched() -> tuple[Python, ...]:
    """Those that load the same compiled packages."""
    return tuple(one for one in pythons() if one.version[:2] == sys.version_info[:2])


several = pytest.mark.skipif("not pythons()", reason="no other version of Python is on this machine")
same_minor = pytest.mark.skipif("not patched()", reason="no other patch version of this Python is here")


def _found(python: str, rows: str) -> list[str]:
    done = subprocess.run(
        [python, "-I", "-W", "ignore", _MATCHING],
        input=rows, capture_output=True, text=True, encoding="utf-8", timeout=600, check=True,
    )  # fmt: skip
    return done.stdout.split("\n")


def _differing(rows: list[tuple[str, int, bool, list[str]]], homes: list[str]) -> list[str]:
    """A line for each pattern that finds something else in another Python."""
    written = json.dumps(rows)
    here = _found(sys.executable, written)
    lines = []
    for other_python in pythons():
        there = _found(other_python.path, written)
        assert len(there) == len(here) == len(rows) + 1
        for (pattern, _, _, texts), home, one, other in zip(rows, homes, here, there, strict=False):
            if one != other:
                pairs = zip(texts, json.loads(one), json.loads(other), strict=True)
                text, ours, theirs = next(pair for pair in pairs if pair[1] != pair[2])
                version = ".".join(map(str, other_python.version))
                lines.append(f"{home}: {pattern[:80]!r} in {text!r}: {ours}, and {theirs} by {version}")
    return lines


@whole
@several
def test_every_pattern_finds_the_same_in_every_python() -> None:
    found = patterns.collected()
    assert len(found) > 400
    rows, homes = [], []
    for (pattern, flags), home in found.items():
        is_bytes = isinstance(pattern, bytes)
        written = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
        rows.append((written, flags, is_bytes, patterns.texts(pattern, flags, _TEXTS)))
        homes.append(home)
    assert _differing(rows, homes) == []


_ANSWERS = Path(__file__).with_name("answers.py")


@same_minor
def test_every_module_that_uses_patterns_answers_the_same_in_every_python() -> None:
    """In those that can load this one's dependencies: the patch versions of one minor version."""
    path = os.pathsep.join([str(Path(readroom.__file__).parents[1]), sysconfig.get_paths()["purelib"]])

    def answers(python: str) -> list[str]:
        command, variables = [python, "-W", "ignore", str(_ANSWERS)], {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=600, check=True)
        return [*done.stdout.split("\n")]

    here = answers(sys.executable)
    assert len(here) > 500
    for other_python in patched():
        there = answers(other_python.path)
        assert [pair for pair in zip(here, there, strict=True) if pair[0] != pair[1]] == []


def _globs(number: int) -> Iterator[str]:
    """Patterns of ignore files, most of them with several stars."""
    rng = random.Random("globs")
    parts = [
        "a",
        "b",
        "ab",
        "*",
        "*",
        "?",
        "[ab]",
        "[!a]",
        "[a-c]",
        "/",
        "/",
        "**",
        "**/",
        "/**/",
        ".",
        "\\*",
    ]
    for _ in range(number):
        yield "".join(rng.choices(parts, k=rng.randint(1, 9))).strip("/")
    yield "*a" * 1000
    yield "**/a/" * 500 + "b"


def _translated(number: int) -> dict[str, re.Pattern[str]]:
    found = {}
    for glob in _globs(number):
        for fold in (False, True):
            try:
                found[f"{glob} {fold}"] = translate(glob, fold=fold)
            except UnusablePattern:
                continue
    return found


@several
def test_every_ignore_pattern_means_the_same_in_every_python() -> None:
    rng = random.Random("names")
    rows, homes = [], []
    for glob, pattern in _translated(600).items():
        names = patterns.texts(pattern.pattern, pattern.flags, 15)
        names += ("".join(rng.choices("aabb/c.", k=rng.randint(1, 12))) for _ in range(15))
        rows.append((pattern.pattern, pattern.flags, False, names))
        homes.append(glob[:80])
    assert len(rows) > 500
    assert _differing(rows, homes) == []


# --- constructs --------------------------------------------------------------------------------

_ONE = (codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY)


def _unsafe(tree: Any) -> Iterator[str]:
    """Constructs that old Pythons get wrong: atomic groups, possessive repeats of more than one character."""
    for code, value in tree:
        if code is codes.ATOMIC_GROUP:
            yield "(?>...)"
        elif code is codes.POSSESSIVE_REPEAT and not (len(value[2]) == 1 and value[2][0][0] in _ONE):
            yield "(...)*+"
        waiting = [value]
        while waiting:
            at = waiting.pop()
            if isinstance(at, parser.SubPattern):
                yield from _unsafe(at)
            elif isinstance(at, (list, tuple)):
                waiting += at


def _parsed(pattern: str | bytes, flags: int) -> Any:
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    return parser.parse(text, flags & ~re.UNICODE if isinstance(pattern, bytes) else flags)


def test_no_pattern_uses_what_old_pythons_take_for_something_else() -> None:
    made = {(one.pattern, one.flags): f"glob {glob[:80]}" for glob, one in _translated(200).items()}
    assert [
        f"{home}: {found} in {pattern[:80]!r}"
        for (pattern, flags), home in (patterns.collected() | made).items()
        for found in _unsafe(_parsed(pattern, flags))
    ] == []


_POSSESSIVE_GROUP = re.compile(r"\(\?>|(?<!\\)(?:\\\\)*\)(?:[*+?]|\{\d+(?:,\d*)?\})\+")


_SET = "&'()*+,-./:;"
"""A set of characters that looks like one."""


def test_no_source_writes_such_a_pattern() -> None:
    """Also none of those that are compiled when they are first needed."""
    found = []
    for path in Path(readroom.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
                text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
                if _SET not in text:
                    found += [
                        f"{path.name}:{node.lineno} {one[0]}" for one in _POSSESSIVE_GROUP.finditer(text)
                    ]
    assert found == []


# --- time --------------------------------------------------------------------------------------


def _glob(text: str) -> object:
    return translate("*a" * 30 + "b").fullmatch(text)


def _without_python_bodies(text: str) -> object:
    return without_bodies(text.encode(), python.GRAMMAR, Deadline(60))


def _without_comments(text: str) -> object:
    assert python.GRAMMAR.prepare is not None
    return python.GRAMMAR.prepare(text.encode())


_CRAFTED: list[tuple[Callable[[str], object], str, str, str]] = [
    (lambda text: markup.toml(text, Deadline(60)), "[", "a ", "x"),
    (lambda text: markup.toml(text, Deadline(60)), "[", '"a\\""', "x"),
    (lambda text: markup.toml(text, Deadline(60)), "[a", " ", "x"),
    (lambda text: markup.toml(text, Deadline(60)), 'a = "', '\\"', "x"),
    (lambda text: markup.yaml(text, Deadline(60)), "a", " b", "#"),
    (lambda text: markup.yaml(text, Deadline(60)), "a", " ", "b"),
    (lambda text: markup.yaml(text, Deadline(60)), '"', '\\"', "x"),
    (lambda text: markup.json(text, Deadline(60)), '{"', '\\"', "\n"),
    (lambda text: markup.json(text, Deadline(60)), '{"a":"', "\\\\", "\n"),
    (lambda text: cut_off(text, "x"), "(", "(a)", "["),
    (lambda text: cut_off(text, "x"), "(", "a", "("),
    (lambda text: without_macros(text.encode()), ")", " AAAA(b)", "x"),
    (lambda text: without_macros(text.encode()), "", ")AAAA (((", "x"),
    (lambda text: without_macros(text.encode()), "\nAAAA(", '"a\\""', "x"),
    (lambda text: without_macros(text.encode()), "", '\nAAAA("b"', "x"),
    (_without_comments, "#" * 200, "\n # a", "x"),
    (_without_comments, "#" * 200, "\n ", "x"),
    (_without_python_bodies, "\ndef a(", "(b(c))", "x"),
    (_without_python_bodies, "\ndef a():\n", " \n", "x"),
    (_without_python_bodies, "\ndef a():\n", " ", "\n"),
    (_without_python_bodies, "\ndef a():\n", "  a\n", "x"),
    (_glob, "", "a", "c"),
]
"""How a text begins, continues and ends that matches for long and fails at the end."""


def _least_s(function: Callable[[str], object], text: str) -> float:
    taken = []
    for _ in range(3):
        begun = time.process_time()
        function(text)
        taken.append(time.process_time() - begun)
    return min(taken)


@each("number", range(len(_CRAFTED)))
def test_no_crafted_text_takes_more_than_time_in_proportion(number: int) -> None:
    """Compared with a shorter text in the same process: a square would be 256 times as much."""
    function, begins, goes_on, ends = _CRAFTED[number]
    short, long = (_least_s(function, begins + goes_on * times + ends) for times in (4_000, 64_000))
    assert long < 64 * max(short, 0.0005), (short, long)
