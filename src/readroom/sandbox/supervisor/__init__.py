"""The program that starts a command, watches over it and ends it.

Run by its path; it imports nothing of readroom.

Knows: one process tree.
Does not know: readroom.
May be touched: with a security review only.
"""

from __future__ import annotations
