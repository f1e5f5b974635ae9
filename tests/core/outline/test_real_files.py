"""Outlines of what is installed on this machine: no failure, and what must hold for any outline holds."""

from __future__ import annotations

import os
import random
import sysconfig
from pathlib import Path

from readroom.core.contracts.native.outline import row_line
from readroom.core.limits.outline import OUTLINE_BYTES
from readroom.core.outline.languages import language_of
from readroom.core.values.files import main_rows, rows
from tests.core.outline.outlining import check, outline_of, text_of
from tests.suites import daily

PLACES = [
    sysconfig.get_path("stdlib"),
    sysconfig.get_path("purelib"),
    "/usr/include",
    "/usr/lib/node_modules",
    "/usr/share/perl",
    "/usr/share/doc",
    "/usr/lib/git-core",
    "/etc",
]
MOST = 120
"""Files of each place, the same ones in every run."""


def _files(place: str) -> list[Path]:
    found = [
        path
        for path in sorted(Path(place).rglob("*.*"))
        if path.is_file() and not path.is_symlink() and os.access(path, os.R_OK)
    ]
    known = [path for path in found if language_of(str(path), "") and path.stat().st_size < OUTLINE_BYTES / 4]
    return random.Random(0).sample(known, min(MOST, len(known)))


@daily(2, "place", [place for place in PLACES if Path(place).is_dir()])
def test_outlines_of_real_files_hold(place: str) -> None:
    for path in _files(place):
        text = text_of(path)
        try:
            check(outline_of(path, text), text)
        except Exception as problem:
            raise AssertionError(f"{path}: {problem}") from problem


def test_the_standard_library_outlines_small() -> None:
    """Target: at most 12 % of the file's bytes."""
    names = ("argparse.py", "ast.py", "typing.py", "ssl.py")
    paths = [Path(sysconfig.get_path("stdlib"), name) for name in names]
    whole = outlined = 0
    for path in paths:
        text = text_of(path)
        whole += len(text)
        outlined += sum(len(f"{row_line(row)}\n") for row in main_rows(outline_of(path, text).items))
    assert outlined < 0.12 * whole


def test_a_whole_module_has_all_that_it_defines() -> None:
    """Beside the parser of Python itself."""
    import ast

    path = Path(sysconfig.get_path("stdlib"), "argparse.py")
    text = text_of(path)
    own = {(row.item.line, row.item.end) for row in rows(outline_of(path, text).items)}
    tree = ast.parse(text)
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    tops = [node for node in tree.body if isinstance(node, definitions)]
    inner = [node for top in tops if isinstance(top, ast.ClassDef) for node in top.body]
    expected = {(node.lineno, node.end_lineno) for node in [*tops, *inner] if isinstance(node, definitions)}
    assert expected <= own
