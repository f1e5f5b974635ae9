"""Tokens: shown once, kept as hashes, ended at once."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.errors import BadTokenStore, NoSuchToken
from readroom.server.tokens import Tokens


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "tokens.db")


def test_a_token_is_found_with_what_it_allows(path: str) -> None:
    with closing(Tokens(path)) as tokens:
        made, token = tokens.create("bot", workspaces=["docs"], tools=["read_file"], policy="/p.toml")
        found = tokens.find(token)
    assert found == made
    assert found.opens("docs")
    assert not found.opens("other")


def test_the_secret_is_nowhere_in_the_file(path: str) -> None:
    with closing(Tokens(path)) as tokens:
        _, token = tokens.create("bot")
    secret = token.split("_", 2)[2].encode()
    assert all(
        secret not in (Path(path).parent / name).read_bytes() for name in os.listdir(Path(path).parent)
    )


def test_the_file_is_for_its_user_alone(path: str) -> None:
    with closing(Tokens(path)) as tokens:
        tokens.create("bot")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


@pytest.mark.parametrize(
    "spoil", [lambda t: t[:-1], lambda t: t + "x", lambda t: "é" + t, lambda t: "", lambda t: "rr__"]
)
def test_anything_but_the_token_finds_nothing(path: str, spoil: object) -> None:
    assert callable(spoil)
    with closing(Tokens(path)) as tokens:
        _, token = tokens.create("bot")
        assert tokens.find(spoil(token)) is None


def test_a_revoked_token_ends_in_every_process(path: str) -> None:
    with closing(Tokens(path)) as server, closing(Tokens(path)) as operator:
        made, token = operator.create("bot")
        assert server.any_valid()
        operator.revoke(made.token)
        found = server.find(token)
        assert found is not None
        assert found.state(0.0) == "revoked"
        assert not server.any_valid()


def tick(folder: Path) -> None:
    """Wait until the system's times have gone on: they do in steps of some milliseconds."""
    probe = folder / "probe"
    probe.touch()
    before = probe.stat().st_mtime_ns
    while probe.stat().st_mtime_ns == before:
        probe.touch()


@given(
    st.lists(st.tuples(st.sampled_from(["make", "revoke", "find", "anew"]), st.integers(0, 3)), max_size=25)
)
@settings(deadline=None, max_examples=20)
def test_what_is_kept_of_a_file_is_what_the_file_says(steps: list[tuple[str, int]]) -> None:
    """Whatever happens to it between two looks; of a server, which takes any state for an old one here."""
    later = time.time() + 10**6
    with TemporaryDirectory() as folder:
        path = os.path.join(folder, "tokens.db")
        with closing(Tokens(path, clock=lambda: later)) as server:
            made: list[tuple[str, str]] = []
            for what, number in steps:
                with closing(Tokens(path)) as operator:
                    if what == "make":
                        grant, secret = operator.create("bot")
                        made.append((grant.token, secret))
                    elif what == "revoke" and made:
                        with suppress(NoSuchToken):
                            operator.revoke(made[number % len(made)][0])
                    elif what == "anew" and os.path.exists(path):
                        os.unlink(path)
                    tick(Path(folder))
                    for _, secret in made:
                        assert server.find(secret) == operator.find(secret)


def test_a_token_ends_when_its_time_is_over(path: str) -> None:
    now = [1000.0]
    with closing(Tokens(path, clock=lambda: now[0])) as tokens:
        made, _ = tokens.create("bot", lifetime_s=60)
        assert made.state(1059.9) == "valid"
        assert tokens.any_valid()
        now[0] = 1060.0
        assert made.state(now[0]) == "expired"
        assert not tokens.any_valid()


def test_revoking_twice_keeps_the_first_time(path: str) -> None:
    now = [1000.0]
    with closing(Tokens(path, clock=lambda: now[0])) as tokens:
        made, _ = tokens.create("bot")
        tokens.revoke(made.token)
        now[0] = 2000.0
        assert tokens.revoke(made.token).revoked == 1000.0


def test_an_unknown_id_says_how_to_see_the_known(path: str) -> None:
    with closing(Tokens(path)) as tokens:
        with pytest.raises(NoSuchToken, match="No token has been made"):
            tokens.revoke("abc")
        tokens.create("bot")
        with pytest.raises(NoSuchToken, match="token list"):
            tokens.revoke("abc")


def test_without_a_file_there_is_no_token_and_none_is_made(path: str) -> None:
    with closing(Tokens(path)) as tokens:
        assert tokens.find("rr_a_b") is None
        assert tokens.all() == []
    assert not os.path.exists(path)


def test_a_file_that_is_no_database_is_named(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(b"not a database, whatever it is" * 100)
    with closing(Tokens(path)) as tokens, pytest.raises(BadTokenStore, match=r"tokens\.db"):
        tokens.any_valid()


def test_a_file_of_a_later_version_is_left_alone(path: str) -> None:
    with closing(Tokens(path)) as tokens:
        tokens.create("bot")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with closing(Tokens(path)) as tokens, pytest.raises(BadTokenStore, match="version 99"):
        tokens.all()
