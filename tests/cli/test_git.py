"""git as a command: its words stay those of git, which are not names of tools here."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom.core.extras import install, typed
from readroom.core.repository import process
from tests.cli.running import Cli
from tests.core.git.making import Repo, needs_git

pytestmark = needs_git


@pytest.fixture
def made(tmp_path: Path) -> Repo:
    found = Repo(tmp_path / "r")
    found.commit({"a.txt": "a\n"})
    found.commit({"a.txt": "b\n"})
    return found


def test_a_log_and_a_file_as_it_was(made: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    cli = Cli(made.folder, capsys)
    assert cli("git", "log").out.startswith("2 commits\n")
    assert "1\ta\n" in cli("read", "@HEAD~1/a.txt").out


def test_the_hint_of_a_missing_package_can_be_pasted(
    made: Repo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, _ = process.libraries_of_python()
    bare = [path for path in paths if not (Path(path) / "pygit2").is_dir()]
    monkeypatch.setattr(process, "libraries_of_python", lambda: (bare, bare))
    for words in (("git", "log"), ("read", "@HEAD/a.txt")):
        assert cli_error(made, capsys, *words).endswith(f"Install it: {typed(install('git'))}\n")


def test_a_repository_is_named_in_plain_words(
    made: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plain").mkdir()
    said = Cli(tmp_path / "plain", capsys)("git", "log").err
    assert said.startswith("readroom: No git repository of this workspace holds its root. ")
    assert "`readroom git`" not in said


def cli_error(made: Repo, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    done = Cli(made.folder, capsys)(*words)
    assert done.code
    return done.err
