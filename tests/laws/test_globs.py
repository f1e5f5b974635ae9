"""A glob means the same files in every tool, at whatever depth they are, in every way to write it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.each import each
from tests.laws.driving import fact

FILES = [
    "README.md",
    "docs/a/x.md",
    "docs/top.md",
    "src/a/b.ts",
    "src/c.ts",
    "src/src2/d.md",
    "app/[id]/page.tsx",
    "app/[id]/[slug].md",
    "app/i/page.tsx",
    "api/{user}/get.ts",
    "a/b/c/d/e.md",
]


def listed(workspace: Workspace, **arguments: Any) -> list[str]:
    """The files of a listing, from the root."""
    above = arguments.get("path", ".")
    entries = fact(workspace.list(**arguments), "entries")
    names = [entry["path"] for entry in entries if entry["kind"] == "file"]
    return sorted(names if above == "." else [f"{above}/{name}" for name in names])


def searched(workspace: Workspace, **arguments: Any) -> list[str]:
    """The files of a content search."""
    reply = workspace.grep("needle", output="files", include=["hidden"], **arguments)
    return sorted(file["path"] for file in fact(reply, "files"))


def ranked(workspace: Workspace, *, glob: Sequence[str], path: str) -> list[str]:
    """The files of a ranked search, which takes one glob."""
    if len(glob) > 1:
        return searched(workspace, glob=glob, path=path)
    reply = workspace.find("needle", output="files", include=["hidden"], glob=glob[0], path=path)
    return sorted(file["path"] for file in fact(reply, "files"))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all of them."""
    top = tmp_path_factory.mktemp("globs") / "[root] {of} it"
    for name in FILES:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("needle\n", encoding="utf-8")
    return top


@each(
    ("glob", "path", "meant"),
    [
        ("**/*.md", ".", [name for name in FILES if name.endswith(".md")]),
        ("docs/**", ".", ["docs/a/x.md", "docs/top.md"]),
        ("docs/a/*.md", ".", ["docs/a/x.md"]),
        ("./docs/a/x.md", ".", ["docs/a/x.md"]),
        ("./*.md", ".", ["README.md"]),
        ("/docs/*/x.md", ".", ["docs/a/x.md"]),
        ("src/**/*.ts", ".", ["src/a/b.ts", "src/c.ts"]),
        ("src/**/*.ts", "src", ["src/a/b.ts", "src/c.ts"]),
        ("{docs/a,src}/*", ".", ["docs/a/x.md", "src/c.ts"]),
        ("ROOT/*.md", ".", ["README.md"]),
        ("ROOT/src/**", "src", ["src/a/b.ts", "src/c.ts", "src/src2/d.md"]),
        ("ROOT/**/*.ts", "src", ["src/a/b.ts", "src/c.ts"]),
        ("ROOT/src/a/*", "src/a", ["src/a/b.ts"]),
        ("src\\**\\*.ts", ".", ["src/a/b.ts", "src/c.ts"]),
        (".\\docs\\a\\x.md", ".", ["docs/a/x.md"]),
        ("**\\x.md", ".", ["docs/a/x.md"]),
        ("app/[id]/page.tsx", ".", ["app/[id]/page.tsx"]),
        ("app/[id]/*", ".", ["app/[id]/[slug].md", "app/[id]/page.tsx"]),
        ("ROOT/app/[id]/[slug].md", ".", ["app/[id]/[slug].md"]),
        ("api/{user}/*.ts", ".", ["api/{user}/get.ts"]),
        ("app/[h-j]/page.tsx", ".", ["app/i/page.tsx"]),
        (["**/*.ts", "!src/**"], ".", ["api/{user}/get.ts"]),
        (["**/*.ts", "!ROOT/src/**"], ".", ["api/{user}/get.ts"]),
        ("a/b/c/d/*", ".", ["a/b/c/d/e.md"]),
    ],
)
def test_what_is_plainly_meant_is_found(
    tree: Path, glob: str | Sequence[str], path: str, meant: list[str]
) -> None:
    """Absolute, with the folder of the call, with backslashes, with names that hold brackets: one answer."""
    globs = [glob] if isinstance(glob, str) else glob
    globs = [each.replace("ROOT", str(tree)) for each in globs]
    with Workspace(tree) as workspace:
        for ask in (listed, searched, ranked):
            assert ask(workspace, glob=globs, path=path) == sorted(meant), ask.__name__


def test_what_a_glob_at_depth_one_did_not_look_into_is_named(tree: Path) -> None:
    """The folders and the call that looks there; a glob that nothing matched is explained."""
    with Workspace(tree) as workspace:
        reply = workspace.list(glob="*.ts")
        assert "no entry matches" in reply.text
        assert "a, api, app and 2 more" in reply.text
        call = fact(reply, "omitted")[0]["call"]
        assert len(fact(workspace.call(call["tool"], call["arguments"]), "entries")) == 3
        assert "brackets are sets" in workspace.list(glob="**/[slug].md").text
        assert (
            "looked for elsewhere/*.md below the workspace root"
            in workspace.list(glob="/elsewhere/*.md").text
        )
        assert "looked for ../*.md below" in workspace.grep("x", glob="../*.md").text
        assert "src is a folder; src/** matches" in workspace.grep("nothing", glob="src").text
        assert "looked for a/b/*.md below" in workspace.grep("x", path="a", glob="/b/*.md").text
        assert "not looked into" not in workspace.list(glob=["src/**", "*"]).text


_PARTS = st.sampled_from(["a", "b", "c.md", "*", "*.md", "**", "[ab]", "?", "{a,b}"])
_SPELT = st.sampled_from(["", "", "", "./", "/"])
_PATHS = st.lists(_PARTS, min_size=1, max_size=4).map("/".join)
_GLOBS = st.lists(st.builds("{}{}".format, _SPELT, _PATHS), min_size=1, max_size=3)
_NAMES = st.lists(st.sampled_from(["a", "b", "c.md"]), min_size=1, max_size=4).map("/".join)


@given(names=st.lists(_NAMES, min_size=1, max_size=8), globs=_GLOBS, path=st.sampled_from([".", "a"]))
def test_every_tool_takes_the_same_files(names: list[str], globs: list[str], path: str) -> None:
    """No glob with a folder in it depends on a depth that was not given."""
    names = [*names, "a/always"]
    files = {name for name in names if not any(other.startswith(f"{name}/") for other in names)}
    with Workspace(MemoryStore(dict.fromkeys(files, b"needle\n"))) as workspace:
        found = searched(workspace, glob=globs, path=path)
        assert ranked(workspace, glob=globs, path=path) == found
        entries = listed(workspace, glob=globs, path=path, depth=64)
        # A glob like `a/` or `a` selects a folder in a listing, and what is below it in a search.
        assert set(entries) <= set(found)
        assert all("/" in name for name in set(found) - set(entries))
        if all("/" in glob.strip("/") for glob in globs):
            assert listed(workspace, glob=globs, path=path) == entries
