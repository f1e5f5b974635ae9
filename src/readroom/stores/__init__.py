"""The ways to where bytes live, behind one seam.

Knows: where bytes are: a local folder, memory, the kept outputs of commands.
Does not know: policies. Nothing above takes a byte from here but the guard.
May be touched: with a security review only.
"""

from __future__ import annotations
