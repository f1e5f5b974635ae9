"""The command line finds the commands of other wings in a table, and imports none of their modules."""

from __future__ import annotations

from readroom.faces.cli.commands import COMMANDS, FOLDER_TOKENS, SERVING, found
from tests.lens.test_direction import LENS, SERVER
from tests.test_layers import imports

OF_OTHERS = (
    *(f"readroom.faces.cli.{name}" for name in ("budget", "ledger", "servers", "service", "token", "ui")),
    *("readroom.faces.batch", "readroom.faces.calls", "readroom.faces.turns", "readroom.faces.http"),
    *(name for name in SERVER if name != "readroom.faces"),
    *LENS,
)


def _of_others(name: str) -> bool:
    return any(name == folder or name.startswith(f"{folder}.") for folder in OF_OTHERS)


def test_the_command_line_imports_no_module_of_server_or_lens() -> None:
    own = {name for name in imports() if name.startswith("readroom.faces.cli") and not _of_others(name)}
    assert [(name, target) for name in sorted(own) for target in imports()[name] if _of_others(target)] == []


def test_every_place_in_the_table_is_there() -> None:
    assert all(
        callable(found(place))
        for place in (SERVING, FOLDER_TOKENS, *(place for place, _ in COMMANDS.values()))
    )
