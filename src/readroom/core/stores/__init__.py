"""Where files are stored, behind one interface: a local folder, memory, kept outputs.

Knows: how to open, list and change files in each kind of store.
Does not know: policies. Nothing above reads a byte from here except through the guard.
May be touched: with a security review only.
"""

from __future__ import annotations
