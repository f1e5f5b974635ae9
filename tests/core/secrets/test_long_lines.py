"""Secrets in lines without an end: nothing of them is shown."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from readroom.core import config
from readroom.core.limits import Limits
from readroom.core.paths import WorkPath
from readroom.core.secrets import SecretPolicy
from readroom.core.secrets.view import MaskedSource, masked
from readroom.core.stores.local import LocalStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.suites import daily, whole

LINE_BYTES = 64 * 1024 * 1024
SECRET = "Q7rx4Kd2m8Tz5w"
PLANTED = f'"password": "{SECRET}", '
ENCODINGS = (
    "utf-8", "utf-16-le", "utf-32-be", "shift_jis", "utf-16-be", "utf-32-le", "utf-8-sig", "utf-16", "utf-32",
    "latin-1", "cp1252", "euc_jp", "iso2022_jp", "gb18030", "big5", "euc_kr", "koi8-r", "iso8859-8",
)  # fmt: skip
"""Encodings whose letters are those of ASCII, alone or with NULs."""

BORDERS = (8 * 1024, 16 * 1024, 64 * 1024, 256 * 1024, 1024 * 1024)
"""Sizes of cells, blocks, pages and chunks, in bytes."""


def reading(root: Path, seconds: float = 600) -> Workspace:
    store = LocalStore(str(root))
    limits = Limits(read_timeout_s=seconds)
    return Workspace(
        store, settings=replace(config.load(store), secrets=SecretPolicy(mask=True), limits=limits)
    )


def require_silence(reply: Reply) -> None:
    said = reply.text + json.dumps(reply.build_facts(), default=str)
    for at in range(len(SECRET) - 3):
        assert SECRET[at : at + 4] not in said


def line_with_secrets(unit: int = 1) -> str:
    """A line above a megabyte with a secret across each border, of characters of `unit` bytes."""
    filler, made = "lorem ipsum, ", []
    at = 0
    for border in sorted({size * times // unit for size in BORDERS for times in (1, 2, 3)}):
        for early in (3, len(PLANTED) // 2, len(PLANTED) - 5):
            place = border - early
            if place <= at:
                continue
            gap = filler * ((place - at) // len(filler) + 1)
            made += [gap[: place - at], PLANTED]
            at = place + len(PLANTED)
    return "".join([*made, filler * 1000])


@daily(4, "encoding", ENCODINGS)
@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\r"])
def test_no_border_shows_a_secret_in_any_encoding(tmp_path: Path, encoding: str, end: str) -> None:
    unit = {"utf-16": 2, "utf-32": 4}.get(encoding[:6], 1)
    text = line_with_secrets(unit).replace(PLANTED, f"{end}{PLANTED}", 4)
    data = text.replace(PLANTED, f"{PLANTED}{end}", 8).encode(encoding)
    view = masked(data)
    assert len(view) == len(data)
    assert SECRET.encode() in data.replace(b"\0", b"")
    assert SECRET[:4].encode() not in view.replace(b"\0", b"")
    (tmp_path / "file.txt").write_bytes(data)
    store = LocalStore(str(tmp_path))
    with closing(store), MaskedSource(store.open(WorkPath("file.txt"))) as source:
        for border in BORDERS:
            for at in (border - 40, border - 7, border, border + 9):
                assert source.read_at(at, 60_000) == view[at : at + 60_000], at


@pytest.mark.long
@whole
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_line_of_64_mb_is_shown_by_its_parts(tmp_path: Path, encoding: str) -> None:
    """Masks of the file itself, and secrets far from any line end."""
    own = "[masked: AWS key, 20 characters] "
    unit = len("a".encode(encoding))
    part = ("word of nothing, " * 4000 + own + PLANTED).encode(encoding)
    with (tmp_path / "line.txt").open("wb") as file:
        for _ in range(LINE_BYTES // len(part)):
            file.write(part)
    with reading(tmp_path) as workspace:
        for place in (1, len(part) // unit - 80, 20_000_000 // unit, 40_000_000 // unit):
            read = {"path": "line.txt", "offset": 1, "limit": 1, "column": place, "encoding": encoding}
            reply = workspace.call("read_file", read)
            assert not reply.is_error, reply.text
            require_silence(reply)
        found = workspace.call("grep_files", {"pattern": SECRET[:6], "output": "count"})
        assert "password" not in found.text
        near = {**read, "column": len(part) // unit - 80}
        text = workspace.call("read_file", near).text
        assert own.strip() in text
        assert "[masked: password or key, 14 characters]" in text


@pytest.mark.long
@whole
def test_a_line_of_64_mb_of_secrets_ends_with_how_far_it_got(tmp_path: Path) -> None:
    unit = f'"password":"{SECRET}", '.encode()
    (tmp_path / "line.txt").write_bytes(unit * (LINE_BYTES // len(unit)))
    with reading(tmp_path, seconds=0.5) as workspace:
        for tool, arguments in (
            ("read_file", {"path": "line.txt"}),
            ("read_file", {"path": "line.txt", "offset": 1, "limit": 1, "column": 30_000_000}),
        ):
            reply = workspace.call(tool, arguments)
            error: Any = reply.facts.get("error")
            assert error is not None
            assert error["code"] == "timed_out"
            require_silence(reply)
