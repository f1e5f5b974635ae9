"""A patch that breaks a file says so, as an edit does."""

from __future__ import annotations

from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace

PATCH = "--- a/q.py\n+++ b/q.py\n@@ -1,2 +1,2 @@\n def b():\n-    return 2\n+    return {}2\n"


def test_a_patch_after_which_a_file_no_longer_parses_names_the_line() -> None:
    for sign, told in (("(", True), ("4", False)):
        with Workspace(MemoryStore({"q.py": "def b():\n    return 2\n"})) as workspace:
            reply = workspace.call("apply_patch", {"patch": PATCH.format(sign)})
        assert not reply.is_error
        assert ("no longer parses" in reply.text) is told, reply.text
