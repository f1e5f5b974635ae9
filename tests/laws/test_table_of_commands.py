"""The command line finds the commands of every wing in one table."""

from __future__ import annotations

from readroom.cli.commands import COMMANDS, FOLDER_TOKENS, SERVING, found


def test_every_place_in_the_table_is_there() -> None:
    places = (SERVING, FOLDER_TOKENS, *(place for place, _ in COMMANDS.values()))
    assert [place for place in places if not callable(found(place))] == []
