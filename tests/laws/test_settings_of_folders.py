"""The settings that a folder has for itself only lower what the operator allows."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from readroom.core import config
from readroom.core.config.file import SECTIONS, form, with_sections
from readroom.core.errors import BadConfig
from readroom.core.stores.memory import MemoryStore
from tests.core.config.test_config import own

_said = st.sampled_from(
    [
        "true",
        "false",
        "1",
        "-1",
        "500",
        "70000",
        '"refuse"',
        '"/"',
        '["/"]',
        '["PATH"]',
        '"full"',
        '"write"',
        "[]",
    ]
)


@pytest.mark.parametrize("section", [*SECTIONS, *(f"contracts.{name}" for name in with_sections())])
@given(data=st.data())
def test_whatever_a_folder_says_of_itself_takes_away_or_changes_nothing(
    section: str, data: st.DataObject
) -> None:
    keys = form(section).__struct_fields__
    said = data.draw(st.dictionaries(st.sampled_from(keys), _said, max_size=3))
    text = f"[{section}]\n" + "".join(f"{key} = {value}\n" for key, value in said.items())
    before, after = config.load(MemoryStore()), None
    with contextlib.suppress(BadConfig):
        after = own(text)
    if after is None:
        return
    assert (after.ledger, after.exceptions, after.contracts.get("rnd")) == (before.ledger, (), None)
    assert after.index in (before.index, replace(before.index, keep=False))
    assert after.changes in (before.changes, replace(before.changes, read_only=True))
    hidden = replace(before.commands, version_control="hidden")
    assert after.commands in (before.commands, hidden)
    assert after.budgets is None or after.budgets.counter == "estimate"
    assert getattr(after.contracts.get("kilo"), "max_read_file_line", 1) in range(1, 501)
