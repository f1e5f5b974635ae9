"""A child that was started confined reaches what it was given and nothing else; we are as before."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from readroom.core.kernel import landlock
from readroom.core.search.ripgrep import program

HERE = [landlock.available()] if landlock.available() else []
"""Nothing to test on systems without it; `spawn` refuses there."""


def run(arguments: list[str], reach: landlock.LandlockRules, **options: object) -> tuple[int, bytes, bytes]:
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        pipes = {"stdin": nothing, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": {}}
        child = landlock.spawn(arguments, reach, **{**pipes, **options})
        out, messages = child.communicate()
    finally:
        os.close(nothing)
    return child.returncode, out, messages


def search(root: Path, *where: str, read: landlock.Place | None = None) -> tuple[int, bytes, bytes]:
    reach = landlock.LandlockRules(read=[str(root) if read is None else read], execute=[program()])
    return run([program(), "--no-config", "--no-filename", "secret", *where], reach, cwd=str(root))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "sub").mkdir(parents=True)
    (tmp_path / "root" / "sub" / "in").write_text("secret inside\n")
    (tmp_path / "out").write_text("secret outside\n")
    (tmp_path / "root" / "link").symlink_to("../out")
    return tmp_path / "root"


@pytest.mark.parametrize("version", HERE)
def test_a_child_reads_what_is_below_its_folder(version: int, root: Path) -> None:
    assert search(root, "sub/in") == (0, b"secret inside\n", b"")
    assert search(root, "./") == (0, b"secret inside\n", b"")


@pytest.mark.parametrize("version", HERE)
@pytest.mark.parametrize("where", ["../out", "link", "/etc/passwd", "/proc/self/environ"])
def test_no_name_and_no_link_leads_out(version: int, root: Path, where: str) -> None:
    status, out, messages = search(root, where)
    assert (status, out) == (2, b"")
    assert b"Permission denied" in messages


@pytest.mark.parametrize("version", HERE)
def test_a_folder_may_be_given_as_a_descriptor(version: int, root: Path) -> None:
    fd = os.open(root, os.O_RDONLY)
    try:
        (root.parent / "root").rename(root.parent / "moved")
        assert search(root.parent / "moved", "sub/in", read=fd)[1] == b"secret inside\n"
    finally:
        os.close(fd)


@pytest.mark.parametrize("version", HERE)
def test_a_single_file_may_be_given(version: int, root: Path) -> None:
    assert search(root, "sub/in", read=str(root / "sub" / "in"))[1] == b"secret inside\n"
    assert search(root, "../out", read=str(root / "sub" / "in"))[0] == 2


@pytest.mark.parametrize("version", HERE)
def test_what_is_not_listed_cannot_be_run(version: int, root: Path) -> None:
    with pytest.raises(PermissionError):
        run([program(), "--version"], landlock.LandlockRules(read=[str(root)], execute=[]))


@pytest.mark.parametrize("version", HERE)
def test_a_program_that_needs_more_than_it_is_given_does_not_start(version: int, root: Path) -> None:
    """A shell needs its libraries; nothing is granted behind the caller's back."""
    shell = os.path.realpath("/bin/sh")
    reach = landlock.LandlockRules(read=[], execute=[shell])
    with pytest.raises(PermissionError):
        run([shell, "-c", "exit 0"], reach)


@pytest.mark.parametrize("version", HERE)
def test_a_child_with_libraries_writes_nowhere_and_connects_to_nothing(version: int, root: Path) -> None:
    folders = [path for path in ("/bin", "/lib", "/lib64", "/usr") if os.path.isdir(path)]
    reach = landlock.LandlockRules(read=[str(root), *folders], execute=folders)
    status, out, _ = run(["/bin/sh", "-c", "cat sub/in; echo x > sub/new"], reach, cwd=str(root))
    assert (status, out) == (2, b"secret inside\n")
    assert not (root / "sub" / "new").exists()


@pytest.mark.parametrize("version", HERE)
def test_this_process_is_not_confined(version: int, root: Path, tmp_path: Path) -> None:
    search(root, "./")
    assert (tmp_path / "out").read_text() == "secret outside\n"
    (tmp_path / "new").write_text("x")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))


@pytest.mark.parametrize("version", HERE)
def test_a_place_that_is_not_there_is_refused_before_anything_runs(version: int, root: Path) -> None:
    with pytest.raises(landlock.Unconfined):
        search(root, "./", read=str(root / "nothing"))
