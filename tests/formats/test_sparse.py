"""Sparse files in tar have the bytes that other programs unpack, or say that their map is wrong."""

from __future__ import annotations

import io
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.formats.containers.members import BadContainer
from tests.depth import depth
from tests.formats.test_containers import content, opened
from tests.hostile import sparse
from tests.hostile.misleading import member

_gaps = st.lists(st.tuples(st.integers(0, 5_000), st.binary(min_size=1, max_size=900)), max_size=60)


@settings(max_examples=depth(80), deadline=None)
@given(st.sampled_from(sparse.FORMS), _gaps, st.integers(0, 200_000))
def test_a_sparse_file_is_what_the_standard_library_unpacks(
    form: str, gaps: list[tuple[int, bytes]], rest: int
) -> None:
    pieces, at = [], 0
    for gap, data in gaps:
        pieces.append((at + gap, data))
        at += gap + len(data)
    data = sparse.sparse(form, pieces, at + rest) + member("after.txt", b"after\n") + bytes(1024)
    found = opened(data)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for name in ("real.img", "after.txt"):
            wanted = archive.extractfile(name)
            assert wanted is not None
            assert content(found, name) == wanted.read()
            assert found.members[name].size == archive.getmember(name).size


@pytest.mark.parametrize("form", sparse.FORMS)
@pytest.mark.parametrize("wrong", sparse.MAPS)
def test_a_wrong_map_is_damage_and_the_next_member_is_read(form: str, wrong: str) -> None:
    data = sparse.mapped(form, *sparse.MAPS[wrong])
    found = opened(data + member("after.txt", b"after\n") + bytes(1024))
    with pytest.raises(BadContainer, match="damaged"):
        content(found, "real.img")
    assert content(found, "after.txt") == b"after\n"


def test_sizes_that_no_file_has_are_named() -> None:
    found = opened(sparse.hostile()["sparse-odd.tar"]() + bytes(1024))
    sized = [member for member in found.members.values() if not member.problem]
    assert len(found.members) == 7
    assert [member.size for member in sized] == [7]
    for name in found.members:
        with pytest.raises(BadContainer, match="damaged"):
            content(found, name)


def test_what_is_said_of_all_members_makes_none_of_them_sparse_in_silence() -> None:
    said = sparse.extended([("GNU.sparse.size", "7"), ("GNU.sparse.map", "0,7")])
    for_all = said[:156] + tarfile.XGLTYPE + said[157:]
    blank = for_all[:148] + b" " * 8 + for_all[156:]
    for_all = blank[:148] + b"%06o\0 " % sum(blank[:512]) + blank[156:]
    found = opened(for_all + member("a.txt", b"a line\n") + bytes(1024))
    with pytest.raises(BadContainer, match="without a map"):
        content(found, "a.txt")
