"""mv, cp, rm, mkdir, patch and edit of several files: what they do, and what they only show."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from readroom.cli.commands import run
from readroom.cli.exits import ExitCode

DIFF = "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n--- a/d/x\n+++ b/d/x\n@@ -1 +1 @@\n-x\n+X\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "d").mkdir(parents=True)
    (folder / "a").write_text("one\ntwo\n", encoding="utf-8")
    (folder / "d/x").write_text("x\n", encoding="utf-8")
    return folder


def tree(root: Path) -> dict[str, str | None]:
    return {
        str(path.relative_to(root)): None if path.is_dir() else path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*"))
    }


def did(root: Path, *words: str) -> int:
    return run([*words, "--root", str(root)])


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("words", "gone", "new"),
    [
        (["rm", "a", "d", "--now"], {"a", "d", "d/x"}, {}),
        (["rm", "a", "--expected-hash", digest("one\ntwo\n")], {"a"}, {}),
        (["rm", "d", "--entries", "1"], {"d", "d/x"}, {}),
        (["mv", "a", "b", "--now"], {"a"}, {"b": "one\ntwo\n"}),
        (
            ["mv", "a", "d", "n/", "--now"],
            {"a", "d", "d/x"},
            {"n": None, "n/a": "one\ntwo\n", "n/d": None, "n/d/x": "x\n"},
        ),
        (["cp", "d", "e", "--now"], set(), {"e": None, "e/x": "x\n"}),
        (["mkdir", "q/r", "s"], set(), {"q": None, "q/r": None, "s": None}),
    ],
)
def test_names_are_changed_and_with_dry_run_only_shown(
    root: Path,
    words: list[str],
    gone: set[str],
    new: dict[str, str | None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = tree(root)
    assert did(root, *words, "--dry-run") == ExitCode.OK
    assert "Dry run: nothing was changed." in capsys.readouterr().out
    assert tree(root) == before
    assert did(root, *words) == ExitCode.OK
    assert tree(root) == {name: held for name, held in before.items() if name not in gone} | new


def test_without_the_hash_or_the_number_it_is_said_and_nothing_is_done(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tree(root)
    assert did(root, "rm", "a") == ExitCode.FAILED
    said = capsys.readouterr().err
    assert digest("one\ntwo\n")[:12] in said
    assert "`--now` takes it as it is." in said
    assert did(root, "mv", "d", "e") == ExitCode.FAILED
    said = capsys.readouterr().err
    assert "1 name" in said
    assert "`--now` takes it as it is." in said
    assert did(root, "rm", "a", "d") == ExitCode.FAILED
    said = capsys.readouterr().err
    assert "`--now` takes it as it is." in said
    assert "Fix these edits" not in said
    assert did(root, "rm", "a", "none") == ExitCode.FAILED
    assert "Fix these edits" in capsys.readouterr().err
    assert did(root, "mv", "a", "d/x", "--now") == ExitCode.FAILED
    assert did(root, "mv", "a") == ExitCode.USAGE
    assert tree(root) == before


@pytest.mark.parametrize("words", [["patch"], ["edit", "--patch"]])
def test_a_patch_is_applied_as_a_whole_or_not_at_all(words: list[str], root: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.diff"
    file.write_text(DIFF, encoding="utf-8")
    before = tree(root)
    assert did(root, *words, str(file), "--dry-run") == ExitCode.OK
    assert tree(root) == before
    assert did(root, *words, str(file)) == ExitCode.OK
    after = tree(root)
    assert (after["a"], after["d/x"]) == ("one\n2\n", "X\n")
    assert did(root, *words, str(file)) == ExitCode.FAILED
    assert tree(root) == after
    assert did(root, *words, str(tmp_path / "none")) == ExitCode.NOT_FOUND


def test_edits_of_several_files_are_given_as_json(root: Path) -> None:
    edits = [
        {"path": "a", "expected_hash": digest("one\ntwo\n"), "lines": "2", "new_text": "2"},
        {"path": "d/x", "expected_hash": digest("x\n"), "insert": "end", "new_text": "y\n"},
    ]
    assert did(root, "edit", "--edits", json.dumps(edits)) == ExitCode.OK
    assert (tree(root)["a"], tree(root)["d/x"]) == ("one\n2\n", "x\ny\n")
    before = tree(root)
    assert did(root, "edit", "--edits", json.dumps(edits)) == ExitCode.FAILED
    assert tree(root) == before
