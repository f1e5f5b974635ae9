"""The contract history: the past of a workspace for people and programs, and never for models.

The command line, HTTP, the library and the dashboard make their calls here, so that each of them has a row in
the ledger, a deadline and today's policy, and all of them show the same.  No client can choose this contract;
what models may be offered of the history is a tool of the native one.

Knows: the four calls, and the words and facts for their results.
Does not know: how changes are kept, and what a token may do.
May be touched: freely; facts that programs know keep their names.
"""

from __future__ import annotations

CONTRACT = "history"
"""Its name."""

LIST, SHOW, UNDO, FORGET = "list_changes", "show_change", "undo_changes", "forget_changes"
"""Names of the calls."""
