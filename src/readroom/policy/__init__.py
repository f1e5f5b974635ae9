"""What may be read, and the guard that applies it.

Knows: which names may be seen, searched and changed, and by which rule.
Does not know: what is in a file; what a reply looks like.
May be touched: with a security review only.
"""

from __future__ import annotations
