"""Phrases that stop a reader, kept out of what people and models read.

Each family has a plain word of the field.  `words.toml` counts the places where a family still is (some are
right: a quoted contract, the name of another program), file by file; a number there may only become smaller.

    python -m tests.test_words --write    write the numbers of today
"""

from __future__ import annotations

import ast
import gc
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LISTED = ROOT / "tests" / "words.toml"

FAMILIES: Mapping[str, str] = {
    # The subject comes first; a question may begin with its question word.
    "begins": r"(?:^|(?<=[.!] )|(?<=\n))(?:Of|What|Which|Where) \w[^.?!]*(?:[.!:]|$)",
    "behind": r"\b[Bb]ehind\b",  # after, past, following
    "beside": r"\b[Bb]eside\b",  # next to, besides, in addition to
    "stands in": r"\b[Ss]t(?:ands?|anding|ood) in\b",  # is, appears, is written, replaces
    "is told": r"\b(?:is|are|was|were|be) told\b",  # is reported
    "goes on": r"\b(?:[Gg]o|[Gg]oes|[Gg]oing|[Ww]ent) on\b",  # continues
}
"""The worst families, and what to write instead."""

_PATTERNS = {family: re.compile(pattern) for family, pattern in FAMILIES.items()}
_ANY = re.compile(
    r"\b(?:Of|What|Which|Where) \w|[Bb](?:ehind|eside)\b|\b[Ss]t\w+ in\b| told\b|[GgWw]\w+ on\b"
)
"""Finds quickly what may have a phrase."""

_PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/**/*.md")
_TEMPLATES = ("src/**/*.html", "src/**/static/dashboard.js")
_MODULES = ("src/**/*.py",)

TABLES: Mapping[str, tuple[str, ...]] = {
    "read": (*_PAGES, *_TEMPLATES, *_MODULES),
    "docstrings": _MODULES,
}
"""What people and models read (pages, templates and strings), and what developers read."""

_CODE = re.compile(r"`[^`]*`")
_MARKS = re.compile(r"^[\s>|#*-]+")


def _page(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a page with their numbers, without code."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, _MARKS.sub("", _CODE.sub("``", line))


def _strings(tree: ast.AST) -> Iterator[tuple[int, str, bool]]:
    """The strings of a tree with their lines, and whether each is a docstring; an f-string is one."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.JoinedStr):
            parts = (one.value if isinstance(one, ast.Constant) else "{}" for one in node.values)
            yield node.lineno, "".join(map(str, parts)), False
            pending += [one for one in node.values if isinstance(one, ast.FormattedValue)]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                yield node.lineno, node.value.value, True
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                yield node.lineno, node.value, False
        elif not isinstance(node, (ast.Name, ast.expr_context)):
            pending += ast.iter_child_nodes(node)


def _texts(path: Path, table: str) -> Iterator[tuple[int, str]]:
    """The texts of a file that belong to a table, with their lines."""
    text = path.read_text(encoding="utf-8")
    if not _ANY.search(text):
        return
    if path.suffix != ".py":
        yield from _page(text)
        return
    for line, value, documents in _doubtful(path):
        if documents == (table == "docstrings"):
            yield line, _CODE.sub("``", value)


@cache
def _doubtful(path: Path) -> tuple[tuple[int, str, bool], ...]:
    """The strings of a module that may have a phrase.  Most time went to garbage that is none."""
    gc.disable()
    try:
        return tuple(one for one in _strings(ast.parse(path.read_bytes())) if _ANY.search(one[1]))
    finally:
        gc.enable()


@cache
def found(table: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """The places of each family, by file."""
    places: dict[str, dict[str, tuple[str, ...]]] = {family: {} for family in FAMILIES}
    for glob in TABLES[table]:
        for path in sorted(ROOT.glob(glob)):
            name = path.relative_to(ROOT).as_posix()
            for line, text in _texts(path, table):
                for family, pattern in _PATTERNS.items():
                    for match in pattern.finditer(text):
                        at = line + text.count("\n", 0, match.start()) if path.suffix == ".py" else line
                        around = text[max(0, match.start() - 30) : match.end() + 30]
                        place = f"{name}:{at}: {' '.join(around.split())[:120]}"
                        places[family][name] = (*places[family].get(name, ()), place)
    return places


@cache
def listed() -> Mapping[str, Mapping[str, Mapping[str, int]]]:
    """The numbers of places that are allowed, by table, family and file."""
    tables: Mapping[str, Mapping[str, Mapping[str, int]]] = tomllib.loads(LISTED.read_text(encoding="utf-8"))
    return tables


@pytest.mark.parametrize("table", TABLES)
def test_phrases_that_stop_a_reader_only_become_fewer(table: str) -> None:
    problems: list[str] = []
    for family, places in found(table).items():
        allowed = listed().get(table, {}).get(family, {})
        for name in sorted({*places, *allowed}):
            now, most = places.get(name, ()), allowed.get(name, 0)
            if len(now) > most:
                problems += [f'{name}: "{family}" {len(now)} times, at most {most} are allowed:', *now]
            elif len(now) < most:
                problems.append(f'{name}: "{family}" {most} times in tests/words.toml; now {len(now)}')
    if problems:
        problems.append("Lower numbers are written by `python -m tests.test_words --write`.")
    assert not problems, "\n".join(problems)


SAYS = (
    ("Of a mailbox only headers are shown.", "begins"),
    ("It ends. What is left is shown.", "begins"),
    ("## Where the limits are", "begins"),
    ("What does shipping cost?", ""),
    ("Offsets count. Whichever comes first", ""),
    ("The rest stands in line 3", "stands in"),
    ("it goes on there", "goes on"),
    ("a script is told so", "is told"),
    ("the page behind it, beside `behind`", "behind beside"),
)


def test_a_phrase_is_found_in_text_and_not_in_code() -> None:
    for text, families in SAYS:
        ((_, line),) = _page(text)
        hits = [family for family, pattern in _PATTERNS.items() if pattern.search(line)]
        assert " ".join(hits) == families, text


def test_a_string_is_told_from_a_docstring() -> None:
    code = '"""Behind."""\nx = f"behind {y(\'beside it\')} on"\n"""Of x."""\n'
    assert sorted(_strings(ast.parse(code))) == [
        (1, "Behind.", True),
        (2, "behind {} on", False),
        (2, "beside it", False),
        (3, "Of x.", True),
    ]


def _written() -> str:
    lines = [
        "# How often each phrase of tests/test_words.py is allowed in a file.",
        "# Numbers may only become smaller: python -m tests.test_words --write",
    ]
    for table in TABLES:
        for family, places in found(table).items():
            if places:
                lines += ["", f'[{table}."{family}"]']
                lines += [f'"{name}" = {len(those)}' for name, those in sorted(places.items())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--write" in sys.argv:
        LISTED.write_text(_written(), encoding="utf-8")
    for table in TABLES:
        sums = {family: sum(map(len, places.values())) for family, places in found(table).items()}
        print(table, sums)
