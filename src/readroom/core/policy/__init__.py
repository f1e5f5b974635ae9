"""Which files may be seen, searched and changed, and the guard that enforces it.

Knows: the rules for names, and which rule decides.
Does not know: the content of files, and what a reply looks like.
May be touched: with a security review only.
"""

from __future__ import annotations
