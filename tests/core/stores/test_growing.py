"""A growing output: its beginning, its end and nothing invented, whatever is written in whatever pieces."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.stores import ring
from readroom.core.stores.growing import GrowingKeeper

pieces = st.lists(
    st.binary(max_size=900) | st.builds(lambda n: b"x" * n + b"\n", st.integers(0, 300)), max_size=30
)


def keeper(folder: str, maximum: int) -> tuple[GrowingKeeper, Path]:
    listed = Path(folder, "outputs", "mine")
    listed.mkdir(parents=True)
    return GrowingKeeper(str(listed), "a.stdout", maximum), listed / "a.stdout"


@given(pieces, st.integers(1024, 4096))
def test_what_is_there_is_the_beginning_and_the_end(written: list[bytes], maximum: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        kept, file = keeper(folder, maximum)
        whole = b""
        for piece in written:
            kept.write(piece)
            whole += piece
            assert _agrees(file.read_bytes(), whole, kept, maximum)
        done = kept.finish()
        assert (done.size_bytes, done.kept_bytes) == (len(whole), file.stat().st_size)
        assert file.stat().st_mode & 0o777 == 0o600
        assert [path.name for path in file.parent.iterdir()] == ["a.stdout"]
        assert [path.name for path in file.parent.parent.iterdir()] == ["mine"]


def _agrees(found: bytes, whole: bytes, kept: GrowingKeeper, maximum: int) -> bool:
    assert len(found) <= maximum
    if kept.lost is None:
        return found == whole
    head, missing = kept.lost.first - 1, kept.lost.bytes
    mark = b"[... %s bytes are not kept ...]\n" % f"{missing:,}".encode()
    assert found[:head] == whole[:head]
    assert found[head:].startswith(mark)
    assert whole[:head].count(b"\n") == kept.lost.after
    return found[head + len(mark) :] == whole[head + missing :]


def test_a_reader_of_the_old_file_reads_on_in_it(tmp_path: Path) -> None:
    kept, file = keeper(str(tmp_path), 2000)
    kept.write(b"first line\n" * 100)
    with file.open("rb") as old:
        kept.write(b"second line\n" * 200)
        assert old.read().startswith(b"first line\n" * 100)
    assert re.search(rb"are not kept", file.read_bytes())


def test_a_full_disk_stops_the_keeping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, file = keeper(str(tmp_path), 100_000)
    kept.write(b"kept\n")

    def full(fd: int, data: object, at: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("readroom.core.stores.growing.write_all", full)
    kept.write(b"lost\n")
    monkeypatch.setattr("readroom.core.stores.growing.write_all", ring.write_all)
    kept.write(b"lost, too\n")
    done = kept.finish()
    assert (done.kept_bytes, done.size_bytes, done.problem) == (5, 20, "No space left on device")
    assert done.lost is not None
    assert (done.lost.first, done.lost.bytes, done.lost.after) == (6, 15, 1)
    assert file.read_bytes() == b"kept\n"
