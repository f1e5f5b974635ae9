"""7z files: what 7-Zip packs is read as it was, and what is made to do harm says what it is."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.documents.containers import open_container
from readroom.documents.containers.members import BadContainer, Container, InMemory, normal_name
from readroom.documents.containers.seven import CONTAINER_SKIPPED_BYTES
from tests.each import each
from tests.hostile import sevens

_parts = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=8)
_names = st.lists(_parts, min_size=1, max_size=4).map("/".join)
_trees = st.dictionaries(_names, st.binary(max_size=3000), min_size=1, max_size=8)


def _opened(data: bytes) -> Container:
    found = open_container(InMemory(data), Deadline().check)
    assert found is not None
    assert found.form == "7z"
    return found


def _content(found: Container, name: str) -> bytes:
    return b"".join(found.reader.pieces(found.members[name]))


@settings(max_examples=75, deadline=None)
@given(_trees, st.sampled_from(sorted(sevens.METHODS)), st.booleans())
def test_every_member_is_what_was_packed_in_any_order(
    tree: Mapping[str, bytes], method: str, backwards: bool
) -> None:
    found = _opened(sevens.sevened(tree, method))
    names = {inner: name for name in tree if (inner := normal_name(name) or "") in found.members}
    for inner in reversed(names) if backwards else names:
        if not found.members[inner].problem:  # it is the only one of its name
            assert _content(found, inner) == tree[names[inner]]
            assert found.members[inner].size == len(tree[names[inner]])


@settings(max_examples=30, deadline=None)
@given(_trees, st.integers(1, 3))
def test_a_packed_directory_is_the_same_directory(tree: Mapping[str, bytes], times: int) -> None:
    plain, packed = _opened(sevens.sevened(tree)), _opened(sevens.encoded(tree, times))
    assert plain.members == packed.members


_SEVEN_ZIP = shutil.which("7zz") or shutil.which("7z")

_needs_seven_zip = pytest.mark.skipif(
    _SEVEN_ZIP is None and not os.environ.get("CI"), reason="7-Zip (the package 7zip) is not installed"
)

_PACKED = {
    "solid": ["-m0=lzma2"],
    "apart": ["-ms=off", "-m0=lzma"],
    "stored": ["-m0=copy"],
    "bzip2": ["-m0=bzip2"],
    "deflate": ["-m0=deflate"],
    "program-lzma": ["-m0=bcj", "-m1=lzma"],
    "program-lzma2": ["-m0=bcj", "-m1=lzma2"],
    "delta": ["-m0=delta:4", "-m1=lzma"],
    "plain-header": ["-mhc=off"],
}
_REFUSED = {
    "PPMd": ["-m0=ppmd"],
    "Deflate64": ["-m0=deflate64"],
    "BCJ2": ["-mf=bcj2"],
    "encrypted": ["-psecret"],
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts, a program, nothing, a name that is not English, and a link."""
    folder = tmp_path_factory.mktemp("packed")
    (folder / "sub").mkdir()
    for at in range(12):
        (folder / f"f{at}.txt").write_text("".join(f"line {n}\n" for n in range(at * 400)), encoding="utf-8")
    (folder / "sub" / "ünï.txt").write_text("hello line\n", encoding="utf-8")
    (folder / "empty").mkdir()
    shutil.copyfile(os.path.realpath("/bin/sh"), folder / "program")
    (folder / "link").symlink_to("sub/ünï.txt")
    return folder


def _seven_zip(tree: Path, target: Path, options: list[str]) -> Container:
    assert _SEVEN_ZIP is not None, "7-Zip (the package 7zip) is not installed"
    command = [_SEVEN_ZIP, "a", "-bso0", "-bsp0", "-snl", *options, str(target), "."]
    subprocess.run(command, cwd=tree, check=True, timeout=60)
    return _opened(target.read_bytes())


@_needs_seven_zip
@each("name", sorted(_PACKED))
def test_what_seven_zip_packs_is_read_as_it_was(tree: Path, tmp_path: Path, name: str) -> None:
    found = _seven_zip(tree, tmp_path / "a.7z", _PACKED[name])
    files = {str(path.relative_to(tree)): path for path in tree.rglob("*") if not path.is_dir()}
    assert {name for name, member in found.members.items() if member.kind != "folder"} == set(files)
    for inner, path in files.items():
        member = found.members[inner]
        if path.is_symlink():
            assert (member.kind, found.reader.target(member)) == ("link", os.readlink(path))
            continue
        assert _content(found, inner) == path.read_bytes()
        assert abs(member.mtime_ns - path.stat().st_mtime_ns) < 1_000
        place = found.reader.place(member)
        assert (place is not None) == (name == "stored" and member.size > 0)
    assert found.members["empty"].kind == "folder"


@_needs_seven_zip
@pytest.mark.parametrize("named", sorted(_REFUSED))
def test_what_cannot_be_read_is_named(tree: Path, tmp_path: Path, named: str) -> None:
    found = _seven_zip(tree, tmp_path / "a.7z", _REFUSED[named])
    problems = {member.problem for member in found.members.values() if member.size}
    assert any(named in problem for problem in problems)
    for member in found.members.values():
        assert member.is_encrypted == (named == "encrypted" and member.size > 0)


@_needs_seven_zip
def test_a_directory_that_is_encrypted_says_so(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(BadContainer, match="encrypted") as raised:
        _seven_zip(tree, tmp_path / "a.7z", ["-psecret", "-mhe=on"])
    assert raised.value.is_encrypted


def _problem(data: bytes) -> str:
    """Of the archive, or of its first member that cannot be read."""
    try:
        found = _opened(data)
        said = [member.problem for member in found.members.values() if member.problem]
        for member in found.members.values() if not said else ():
            if member.kind == "file":
                assert sum(map(len, found.reader.pieces(member))) == member.size
        return said[0] if said else ""
    except BadContainer as error:
        return error.problem


@each(
    ("name", "said"),
    [
        ("bomb.7z", "-fold"),
        ("twice.7z", "several members"),
        ("anti.7z", "it marks a file to delete"),
        ("aes.7z", "it is encrypted"),
        ("dictionary.7z", "bytes of memory"),
        ("dictionary-lzma.7z", "bytes of memory"),
        ("unknown.7z", "7f7f"),
        ("more-than-it-says.7z", ""),
        ("less-than-it-says.7z", "its data are truncated"),
        ("huge-size.7z", "-fold"),
        ("far-behind.7z", f"follows {400 * sevens.MB:,} bytes"),
        ("huge-count.7z", "directory is damaged"),
        ("huge-property.7z", "directory is damaged"),
        ("coders.7z", "directory is damaged"),
        ("encoded-deep.7z", "directory is damaged"),
        ("cut.7z", "it is cut short"),
        ("broken.7z", "damaged"),
        ("no-header.7z", ""),
        ("start-only.7z", "it is cut short"),
    ],
)
def test_what_is_made_to_do_harm_says_what_it_is(name: str, said: str) -> None:
    problem = _problem(sevens.hostile()[name]())
    assert said in problem
    assert bool(said) == bool(problem)
    assert CONTAINER_SKIPPED_BYTES < 400 * sevens.MB


def test_names_that_lead_out_are_left_out_and_counted() -> None:
    found = _opened(sevens.hostile()["escaping.7z"]())
    assert set(found.members) == {"ok.txt", "x\\..\\y.txt", "\ufffd.txt"}
    assert found.left_out_count == 3


def test_links_are_links_and_none_is_longer_than_a_path() -> None:
    found = _opened(sevens.hostile()["links.7z"]())
    assert found.reader.target(found.members["good"]) == "a/b.txt"
    with pytest.raises(BadContainer, match="its link is too long"):
        found.reader.target(found.members["long"])
    assert _content(found, "a/b.txt") == b"a line\n"
