"""What lives as long as a conversation.

Knows: conversations, their budgets and caches, tokens, and what was shown since when.
Does not know: tools and how a result is worded.
May be touched: `gatekeeper` and `tokens` with a security review, `index_cache` with a run of the
    benchmarks.
"""

from __future__ import annotations
