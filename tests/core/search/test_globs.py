"""Globs: which paths they take, and that ripgrep takes the same.

One difference: an empty alternative, as in `a{,.py}`, counts here, as in a shell; ripgrep skips it.
"""

from __future__ import annotations

import os
import subprocess
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.errors import BadPattern
from readroom.core.search.globs import Globs
from tests.each import each

FILES = [
    "a.py", "b.txt", "src/a.py", "src/b.ts", "src/c.tsx", "src/deep/a.py", "src/deep/x/b.txt",
    "test_a.py", "test/a.py", "a{b", "x[y", "src/tes/t",
]  # fmt: skip


def _taken(globs: Sequence[str]) -> list[str]:
    found = Globs(globs)

    def below(folder: str) -> Iterator[str]:
        names = {path[len(folder) :].partition("/")[0] for path in FILES if path.startswith(folder)}
        for name in sorted(names):
            path = folder + name
            if path in FILES:
                if found.takes(path, folder=False):
                    yield path
            elif found.enters(path):
                yield from below(f"{path}/")

    return sorted(below(""))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


_PIECES = [
    "a",
    "b",
    "*",
    "**",
    "/",
    ".py",
    ".t",
    "src",
    "deep",
    "test",
    "?",
    "{a,b}",
    "{py,t{s,sx}}",
    "[ab]",
    "\\{",
]
_GLOBS = st.builds(
    lambda sign, pieces: sign + "".join(pieces),
    st.sampled_from(["", "", "!"]),
    st.lists(st.sampled_from(_PIECES), min_size=1, max_size=4),
)


@given(globs=st.lists(_GLOBS, min_size=1, max_size=3))
def test_ripgrep_takes_the_same_files(tree: Path, globs: list[str]) -> None:
    try:
        found = _taken(globs)
    except BadPattern:
        return
    rg = os.path.join(sysconfig.get_path("scripts"), "rg")
    command = [rg, "--no-config", "--files", "--hidden", "--no-ignore", *(f"--glob={glob}" for glob in globs)]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    if "error parsing glob" in done.stderr:
        return
    assert found == sorted(done.stdout.split("\n")[:-1]), globs


@each(
    ("globs", "taken"),
    [
        (["*.{ts,tsx}"], ["src/b.ts", "src/c.tsx"]),
        (["./src/*.py"], ["src/a.py"]),
        (["/a.py"], ["a.py"]),
        (["src/**", "!deep"], ["src/a.py", "src/b.ts", "src/c.tsx", "src/tes/t"]),
        (["!**/*.py", "!*.t*", "!src"], ["a{b", "x[y"]),
        ([r"a\{b", "x[[]y"], ["a{b", "x[y"]),
        (["*{.py,}_{a,b}.py", "x{[[],}y"], ["test_a.py", "x[y"]),
        (["nothing"], []),
        (["[^-A].txt"], ["b.txt", "src/deep/x/b.txt"]),
    ],
)
def test_globs_take(globs: list[str], taken: list[str]) -> None:
    assert _taken(globs) == taken


@each("glob", ["", "!", "/", "[a", "{a", "a{b,{c}", "#x", "a\\", "{a,b}" * 7, "[z-a]"])
def test_a_glob_that_can_match_nothing_is_refused(glob: str) -> None:
    with pytest.raises(BadPattern) as failure:
        Globs(["*.py", glob])
    assert failure.value.facts["value"] == glob
