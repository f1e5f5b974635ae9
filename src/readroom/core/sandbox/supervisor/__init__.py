"""The supervisor: a separate program that starts one command, watches it and cleans up after it.

Knows: one process tree.
Does not know: readroom.
May be touched: with a security review only.
"""

from __future__ import annotations
