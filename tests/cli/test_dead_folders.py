"""A folder that opens and cannot be read, as of a dead mount, costs its own names and nothing else.

A library that is loaded before the system's own lets reading the names of folders called `stale` fail.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.suites import needs

_READDIR = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define READ(NAME, ENTRY) \
ENTRY *NAME(DIR *dir) { \
    static ENTRY *(*real)(DIR *); static DIR *last; static int given; char link[64], path[4096]; \
    if (!real) real = dlsym(RTLD_NEXT, #NAME); \
    snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd(dir)); \
    ssize_t size = readlink(link, path, sizeof path - 1); path[size < 0 ? 0 : size] = 0; \
    if (size < 6 || strcmp(path + size - 6, "/stale")) return real(dir); \
    if (last != dir) last = dir, given = 0; \
    if (given++ < atoi(getenv("STALE_AFTER"))) return real(dir); \
    errno = atoi(getenv("STALE_ERRNO")); return NULL; }
READ(readdir, struct dirent)
READ(readdir64, struct dirent64)
"""

EIO, ENOTCONN, ESTALE = 5, 107, 116

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs a C compiler and Linux"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that breaks folders."""
    made = tmp_path_factory.mktemp("dead") / "dead.so"
    (source := made.with_suffix(".c")).write_text(_READDIR, encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", made, source, "-ldl"], check=True)
    return made


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with a dead one in its middle."""
    for name in ("a/needle.txt", "m/stale/lost.txt", "m/stale/lost too.txt", "z/needle.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a needle\n", encoding="utf-8")
    return tmp_path


def _called(
    library: Path, tree: Path, tool: str, arguments: dict[str, Any], number: int, after: int = 0
) -> tuple[int, str]:
    broken = {"LD_PRELOAD": str(library), "STALE_ERRNO": str(number), "STALE_AFTER": str(after)}
    done = subprocess.run(
        [sys.executable, "-m", "readroom", "call", tool, json.dumps(arguments), "--root", str(tree)],
        env=os.environ | broken,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("number", [EIO, ENOTCONN, ESTALE])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_directory", {"depth": 64}),
        ("list_directory", {"depth": 64, "glob": "*.txt", "sort": "size"}),
        ("find_relevant", {"query": "needle"}),
        ("find_relevant", {"query": "needle", "include": ["archives"]}),
        pytest.param(
            "grep_files",
            {"pattern": "needle", "include": ["archives"]},
            marks=needs("documents"),  # without archives another program searches
        ),
    ],
)
def test_a_dead_folder_is_named_and_the_rest_is_shown(
    library: Path, tree: Path, tool: str, arguments: dict[str, Any], number: int
) -> None:
    """Its neighbours before and after it are in the reply, and a warning names it."""
    status, reply = _called(library, tree, tool, arguments, number)
    assert status == 0, reply
    assert "a/needle.txt" in reply
    assert "z/needle.txt" in reply
    assert "m/stale" in reply.partition("[Warning")[2]
    assert "cannot be read" in reply


def test_names_read_before_a_folder_broke_are_shown(library: Path, tree: Path) -> None:
    """The names before the error count; the warning says that they are not all."""
    status, reply = _called(library, tree, "list_directory", {"depth": 64}, EIO, after=3)
    assert status == 0
    assert "m/stale/lost" in reply
    assert "cannot be read: m/stale" in reply


def test_a_missing_path_next_to_a_dead_folder_still_gets_a_suggestion(library: Path, tree: Path) -> None:
    """Near names are looked for in the rest."""
    status, reply = _called(library, tree, "read_file", {"path": "z/needel.txt"}, EIO)
    assert status != 0
    assert "z/needle.txt" in reply


def test_a_dead_folder_that_is_asked_for_is_a_failure(library: Path, tree: Path) -> None:
    """It is not taken for an empty or for a missing one."""
    for number, said in ((EIO, "Input/output error"), (ESTALE, "Stale file handle")):
        status, reply = _called(library, tree, "list_directory", {"path": "m/stale"}, number)
        assert status != 0
        assert said in reply
