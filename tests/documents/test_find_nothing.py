"""A ranked search that looked at no text does not report that nothing matches."""

from __future__ import annotations

import pytest

from tests.core.engine.find.test_find import workspace


@pytest.mark.parametrize("documents", [False, True])
def test_where_no_text_is_it_is_not_said_that_nothing_matches(documents: bool) -> None:
    reply = workspace({"a.docx": b"PK\x03\x04 no archive\0"}).find("zebra", documents=documents)
    assert reply.text.startswith("0 passages in 0 files | 0 files searched\n[No text was searched. ")
    assert (
        "a.docx: its archive is damaged" if documents else "1 document not searched; to include them"
    ) in reply.text
    assert "Try another path" in workspace({"a.py": ""}).find("zebra").text
