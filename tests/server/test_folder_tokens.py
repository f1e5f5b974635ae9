"""The tokens of folders: made once, kept as they are, and trusted only where nobody else could touch them."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from readroom.core.errors import BadTokenStore, NoFolderToken
from readroom.server.admission import FolderTokens, Openings
from readroom.server.tokens import Tokens


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "state" / "readroom" / "folder-tokens"


@pytest.fixture
def kept(place: Path) -> FolderTokens:
    return FolderTokens(str(place))


def file_of(place: Path) -> Path:
    (found,) = place.iterdir()
    return found


def test_it_is_made_once_and_stays(kept: FolderTokens, place: Path) -> None:
    made = kept.ensured("/srv/docs")
    assert (
        kept.ensured("/srv/docs")
        == kept.shown("/srv/docs")
        == FolderTokens(str(place)).of("/srv/docs")
        == made
    )
    assert kept.ensured("/srv/code").token != made.token
    assert [one.folder for one in kept.all()] == ["/srv/docs", "/srv/code"]


def test_only_its_account_can_look(kept: FolderTokens, place: Path) -> None:
    kept.ensured("/srv/docs")
    assert stat.S_IMODE(file_of(place).stat().st_mode) == 0o600
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_a_folder_has_one_token_under_all_its_names(kept: FolderTokens, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert kept.ensured(f"{tmp_path}/link/../real") == kept.ensured(f"{tmp_path}/link")
    odd = os.fsdecode(b"/srv/\xff\n")
    assert kept.ensured(odd) == kept.of(odd)


def test_servers_that_start_at_once_make_one(place: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: FolderTokens(str(place)).ensured("/srv/docs").token, range(32)))
    assert len(set(made)) == 1


def test_renewing_ends_the_one_before(kept: FolderTokens) -> None:
    before = kept.ensured("/srv/docs").token
    openings = Openings(kept, {"default": "/srv/docs"})
    assert openings.find(before) is not None
    after = kept.renewed("/srv/docs").token
    assert openings.find(before) is None
    assert openings.find(after) is not None
    kept.remove(after.split("_")[1])
    assert openings.find(after) is None
    with pytest.raises(NoFolderToken, match="readroom serve"):
        kept.shown("/srv/docs")


def test_it_opens_its_folder_under_every_name_and_no_other(kept: FolderTokens) -> None:
    token = kept.ensured("/srv/docs").token
    other = kept.ensured("/srv/code").token
    openings = Openings(kept, {"default": "/srv/docs", "docs": "/srv/docs", "logs": "/srv/logs"})
    found = openings.find(token)
    assert found is not None
    assert found.workspaces == frozenset({"default", "docs"})
    assert openings.find(other) is None
    for wrong in (token[:-1], token + "x", token.upper(), "", "é", f"rr_{'0' * 12}_{'x' * 43}"):
        assert openings.find(wrong) is None


def _loose(place: Path) -> None:
    file_of(place).chmod(0o640)


def _cut(place: Path) -> None:
    file = file_of(place)
    file.write_bytes(file.read_bytes()[:40])


def _emptied(place: Path) -> None:
    file_of(place).write_bytes(b"")


def _huge(place: Path) -> None:
    file_of(place).write_bytes(b" " * 20_000 + b"{}")


def _chosen(place: Path) -> None:
    file = file_of(place)
    file.write_text(
        json.dumps({**json.loads(file.read_text("utf-8")), "token": "guess me"}), encoding="utf-8"
    )


def _of_another(place: Path) -> None:
    file = file_of(place)
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), "folder": "/"}), encoding="utf-8")


def _linked(place: Path) -> None:
    file = file_of(place)
    file.rename(place.parent / "elsewhere")
    file.symlink_to(place.parent / "elsewhere")


def _pipe(place: Path) -> None:
    file = file_of(place)
    file.unlink()
    os.mkfifo(file, 0o600)


@pytest.mark.parametrize("spoil", [_loose, _cut, _emptied, _huge, _chosen, _of_another, _linked, _pipe])
def test_a_file_that_is_not_as_it_was_made_is_refused_until_it_is_renewed(
    kept: FolderTokens, place: Path, spoil: Callable[[Path], None]
) -> None:
    """It never becomes another token in silence: clients would be locked out, or somebody else let in."""
    token = kept.ensured("/srv/docs").token
    spoil(place)
    for ask in (kept.ensured, kept.of, kept.shown):
        with pytest.raises(BadTokenStore, match=r"readroom token renew /srv/docs") as caught:
            ask("/srv/docs")
        assert token not in str(caught.value)
    assert kept.all() == []
    renewed = kept.renewed("/srv/docs")
    assert renewed.token != token
    assert kept.shown("/srv/docs") == renewed


def test_a_folder_that_leads_elsewhere_is_refused(kept: FolderTokens, place: Path, tmp_path: Path) -> None:
    place.parent.mkdir(parents=True)
    (tmp_path / "theirs").mkdir()
    place.symlink_to(tmp_path / "theirs")
    with pytest.raises(BadTokenStore, match="XDG_STATE_HOME"):
        kept.ensured("/srv/docs")
    assert not list((tmp_path / "theirs").iterdir())


def test_state_that_others_can_write_is_refused(kept: FolderTokens, place: Path) -> None:
    """They could put a token there that they know."""
    kept.ensured("/srv/docs")
    with closing(Tokens(str(place.parent / "tokens.db"))) as tokens:
        _, token = tokens.create("bot")
        place.parent.chmod(0o777)
        with pytest.raises(BadTokenStore, match="other accounts can write it"):
            tokens.find(token)
    with pytest.raises(BadTokenStore, match="other accounts can write it"):
        kept.of("/srv/docs")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_another_account_has_prepared_is_refused(kept: FolderTokens, place: Path) -> None:
    kept.ensured("/srv/docs")
    os.chown(file_of(place), 65534, 65534)
    with pytest.raises(BadTokenStore, match="belongs to another account"):
        kept.ensured("/srv/docs")
    os.chown(place.parent, 65534, 65534)
    with pytest.raises(BadTokenStore, match="belongs to another account"):
        kept.renewed("/srv/docs")
    with closing(Tokens(str(place.parent / "tokens.db"))) as tokens:
        with pytest.raises(BadTokenStore, match="belongs to another account"):
            tokens.create("bot")


def test_what_a_killed_process_left_is_removed(kept: FolderTokens, place: Path) -> None:
    kept.ensured("/srv/docs")
    (place / (file_of(place).name + ".new")).write_bytes(b"half")
    kept.renewed("/srv/docs")
    assert file_of(place).suffix == ".json"


def test_no_secret_in_what_is_printed_of_it(kept: FolderTokens) -> None:
    made = kept.ensured("/srv/docs")
    assert made.token not in repr(made)
    assert made.id in repr(made)
