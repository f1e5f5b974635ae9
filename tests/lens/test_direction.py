"""The lens knows core alone; the server knows of it the rows that core defines."""

from __future__ import annotations

from tests.test_layers import imports

SERVER = (
    *("readroom.ledger", "readroom.database", "readroom.faces", "readroom.config.serve"),
    *("readroom.session.admission", "readroom.session.budgets", "readroom.session.shared"),
    *("readroom.session.tokens", "readroom.errors.serving"),
)
LENS = ("readroom.lens", "readroom.faces.cli.audit", "readroom.git", "readroom.limits.lens")


def _below(name: str, folders: tuple[str, ...]) -> bool:
    return any(name == folder or name.startswith(f"{folder}.") for folder in folders)


def test_the_lens_imports_nothing_of_a_server() -> None:
    pairs = [(name, target) for name, found in imports().items() for target in found]
    assert [pair for pair in pairs if _below(pair[0], LENS[:1]) and _below(pair[1], SERVER)] == []


def test_nothing_imports_the_lens_but_its_own_command() -> None:
    pairs = [(name, target) for name, found in imports().items() for target in found]
    assert [pair for pair in pairs if _below(pair[1], LENS) and not _below(pair[0], LENS)] == []
