"""Commands that begin together in a new workspace, as root and as an ordinary user."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from readroom.core.values.commands import Confinement
from tests.core.sandbox.cells import USERS, Cell, Warder, cell, in_each_confinement

AT_ONCE = 6
ROUNDS = 4
"""For each user and confinement, four pairs. Made without care, one round of some thirty fails."""


@pytest.fixture(scope="module", params=USERS)
def held(request: pytest.FixtureRequest) -> Iterator[tuple[Cell, Warder]]:
    with cell(request.param) as found:
        warder = Warder(found.user, found)
        yield found, warder
        warder.close()


@in_each_confinement
def test_commands_that_begin_together_all_end_well(
    held: tuple[Cell, Warder], confinement: Confinement
) -> None:
    """Each needs what the first of a session makes: a home, a place for outputs, what covers hidden names."""
    found, warder = held
    commands = [f"echo out {number}; cat .env; echo x > $TMPDIR/f && echo made" for number in range(AT_ONCE)]
    for _ in range(ROUNDS):
        replies = warder.run(found.root, commands, {"confinement": confinement}, at_once=True)["replies"]
        for number, reply in enumerate(replies):
            assert reply["facts"].get("exit_code") == 0, reply["text"]
            assert f"1\tout {number}\n2\tmade\nstderr:\n" in reply["text"]
            assert not [warning for warning in reply["facts"]["warnings"] if warning["code"] != "limited"]
