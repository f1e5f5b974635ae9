"""A command opens the folder that it names, or reports why not; it never opens another one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from readroom.core.errors import BadValue
from readroom.core.workspace import Workspace
from tests.cli.running import Done, run
from tests.each import each
from tests.suites import daily

HOMES = ["~", "$HOME", "${HOME}", "${env:HOME}", "${userHome}", "%USERPROFILE%"]

NOT_REPLACED = ["${workspaceFolder}", "${workspaceFolder}/src", "$PROJECT_DIR$", "%APPDATA%/x", "{{cwd}}",
                "{root}/a", "<path to folder>", "${input:folder}"]  # fmt: skip

WAYS = [
    ("mcp", "{}"), ("mcp", "--root", "{}"), ("mcp", "--root={}"), ("serve", "{}"), ("serve", "--root", "{}"),
    ("ls", "--root", "{}"), ("read", "a.txt", "--root", "{}"), ("read", "a.txt", "--root={}"),
    ("connect", "codex", "{}"), ("doctor", "{}"), ("init", "{}"), ("token", "show", "{}"),
    ("ledger", "--root", "{}"),
]  # fmt: skip
"""How a folder is named."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    made = tmp_path / "home" / "my shop"
    made.mkdir(parents=True)
    (made / "a.txt").write_text("found\n", encoding="utf-8")
    return tmp_path / "home"


def ran(home: Path, *words: str) -> Done:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    done = run(*words, cwd=home.parent / "here", env=environment, input=b"")
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@daily(4, "way", WAYS, ids=" ".join)
@daily(1, "folder", ["", " "])
def test_no_folder_is_not_the_current_one(home: Path, way: tuple[str, ...], folder: str) -> None:
    done = ran(home, *(word.format(folder) for word in way))
    assert done.code == 2
    assert "it is empty" in done.err
    assert os.listdir(home.parent / "here") == []


@daily(3, "folder", NOT_REPLACED)
@pytest.mark.parametrize(
    "way", [("mcp", "{}"), ("ls", "--root", "{}"), ("connect", "codex", "{}")], ids=" ".join
)
def test_a_variable_that_a_client_did_not_replace_is_named(
    home: Path, way: tuple[str, ...], folder: str
) -> None:
    done = ran(home, *(word.replace("{}", folder) for word in way))
    assert done.code == 2
    assert "did not replace" in done.err
    assert folder in done.err


@daily(2, "form", [*(f"{home}/my shop" for home in HOMES), "%USERPROFILE%\\my shop"])
def test_what_a_shell_would_have_replaced_is(home: Path, form: str) -> None:
    for words in (("ls", "--root", form), ("read", "a.txt", "--root", form)):
        done = ran(home, *words)
        assert (done.code, done.err) == (0, "")
        assert "a.txt" in done.out
    said = ran(home, "connect", "codex", form).out
    assert str(home / "my shop") in said


@pytest.mark.parametrize("host", ["", "localhost"])
def test_a_url_of_a_file_is_its_path(home: Path, host: str) -> None:
    url = (home / "my shop").as_uri().replace("file://", f"file://{host}")
    assert "a.txt" in ran(home, "ls", "--root", url).out


@pytest.mark.parametrize("name", ["~", "$HOME", "${x}", "{a}", "<b>", "file:"])
def test_a_folder_that_is_called_so_is_itself(home: Path, name: str) -> None:
    (home.parent / "here" / name).mkdir()
    (home.parent / "here" / name / "own.txt").write_text("own\n", encoding="utf-8")
    assert "own.txt" in ran(home, "ls", "--root", name).out


def test_the_library_takes_no_empty_folder() -> None:
    with pytest.raises(BadValue, match="names no folder"):
        Workspace("")


@each(
    "asked",
    ["${HOME}/src/a.txt", "$HOME/src/a.txt", "~/src/a.txt", "{cwd}/src/a.txt", "{{root}}/src/a.txt",
     "%USERPROFILE%\\src\\a.txt", "${workspaceFolder}/src/a.txt", "<root>/src/a.txt", "file:///else/src/a.txt"],
)  # fmt: skip
@each("tool", ["read_file", "list_directory"])
def test_a_variable_in_a_path_leads_to_what_follows_it(tmp_path: Path, asked: str, tool: str) -> None:
    """Other forms of it are globs: `{a,b}`."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.txt").write_text("found\n", encoding="utf-8")
    path = asked if tool == "read_file" else asked.removesuffix("a.txt").rstrip("/\\")
    with Workspace(tmp_path) as workspace:
        error: Any = workspace.call(tool, {"path": path}).facts["error"]
        following = error["next"]
        found = workspace.call(following["tool"], following["arguments"])
    assert following["tool"] == tool
    assert ("found" if tool == "read_file" else "a.txt") in found.text
