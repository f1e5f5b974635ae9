"""The corpus of patches, with a repository that is made here: every kind of change that git knows."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from scripts import patch_corpus

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgSign=false")
LINES = [f"line {number}\n" for number in range(60)]


def commit(folder: Path) -> None:
    patch_corpus.git(folder, "add", "-A")
    patch_corpus.git(folder, *AUTHOR, "commit", "-q", "-m", "--- a/x\n+++ b/x\n\nchange")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Commits with new, changed, moved, deleted and binary files, links, modes, encodings and line ends."""
    folder = tmp_path / "repository"
    folder.mkdir()
    patch_corpus.git(folder, "init", "-q", ".")
    (folder / "first").write_text("".join(LINES), encoding="utf-8")
    (folder / "latin").write_bytes("Straße über Größe\nzwei\n".encode("latin-1"))
    (folder / "crlf").write_bytes(b"a\r\nb\r\nc\n")
    (folder / "mark").write_bytes("\ufeffa\nb\n".encode())
    (folder / "open").write_bytes(b"no end")
    (folder / "gone").write_bytes(b"x\n")
    commit(folder)
    (folder / "first").write_text("".join([*LINES[:3], "new\n", *LINES[5:40], *LINES[41:]]), encoding="utf-8")
    (folder / "latin").write_bytes("Straße über Größe\nfünf\n".encode("latin-1"))
    (folder / "crlf").write_bytes(b"a\nb\r\nc\r\n")
    (folder / "mark").write_bytes(b"a\nb\n")
    commit(folder)
    (folder / "open").write_bytes(b"no end\nbut more\n")
    (folder / "gone").unlink()
    (folder / "deep").mkdir()
    (folder / "deep" / "täb\t name").write_bytes(b"")
    (folder / "deep" / "other").write_bytes(b"o\n\x0c\n\n")
    os.rename(folder / "first", folder / "deep" / "moved")
    commit(folder)
    (folder / "deep" / "moved").write_text("".join(["top\n", *LINES[:50]]), encoding="utf-8")
    os.rename(folder / "deep" / "moved", folder / "again")
    commit(folder)
    (folder / "binary").write_bytes(bytes(range(256)))
    commit(folder)
    os.symlink("again", folder / "link")
    commit(folder)
    (folder / "again").chmod(0o755)
    commit(folder)
    return folder


def test_patches_do_here_what_they_do_in_git(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert patch_corpus.main([str(repository)]) == 0
    said = capsys.readouterr().out
    assert said.endswith("3 equal, 3 refused\n"), said
    for what in ("binary content", "symbolic link", "a change of the mode to 100755"):
        assert what in said


def test_a_difference_is_found(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run can fail: a reader of patches that loses a line is noticed."""
    applied = patch_corpus.applied
    monkeypatch.setattr(
        patch_corpus, "applied", lambda place, patch: applied(place, patch.replace(b"+new\n", b"+old\n"))
    )
    assert patch_corpus.main([str(repository)]) == 1
