"""Changes whose effect a read does not show: of files stored in another form, NULs, guessed encodings."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace

NUL = "const k = a + '\0' + b;\n"


def test_a_nul_that_is_written_is_named_and_the_file_is_edited_as_it_is_shown() -> None:
    with Workspace(MemoryStore({})) as space:
        reply = space.call("write_file", {"path": "k.ts", "content": "x\n" + NUL, "expected_hash": "absent"})
        assert "U+0000 in line 2" in reply.text
        assert "a + '\u2400' + b" in space.read("k.ts").text
        known: Any = reply.facts["content_hash"]
        edits = [{"old_text": "a + '\u2400' + b", "new_text": "a + '\u2400' + c"}]
        call = {"path": "k.ts", "expected_hash": known, "edits": edits}
        changed = space.call("edit_file", call)
        assert not changed.is_error, changed.text
        assert "U+0000 in" not in changed.text, "no new one was written"
        edits = [{"old_text": "const", "new_text": "a\0\nlet"}]
        call = {"path": "k.ts", "expected_hash": changed.facts["content_hash"], "edits": edits}
        assert "U+0000 in line 2" in space.call("edit_file", call).text
        assert space.read("k.ts", encoding="utf-8").text.count("\u2400") == 4


def test_text_that_is_written_in_a_guessed_encoding_is_said_to_be() -> None:
    data = "Tous les êtres humains naissent égaux en dignité, où que ce soit déjà\n".encode("cp1252") * 9
    with Workspace(MemoryStore({"a.txt": data + b"end\n"})) as space:
        known = sha256(data + b"end\n").hexdigest()[:12]
        for new, words in (("fin", ""), ("fin d\u00e9j\u00e0", "written as cp1252")):
            edits = [{"old_text": "end", "new_text": new}]
            call = {"path": "a.txt", "expected_hash": known, "edits": edits, "dry_run": True}
            reply = space.call("edit_file", call)
            assert words in reply.text
            assert bool(words) == ("Warning" in reply.text)
