"""State that outlives a call: conversations, budgets, caches and tokens.

Knows: what each conversation was shown, what it has spent, and which tokens there are.
Does not know: tools, and how a result is worded.
May be touched: `gatekeeper` and `tokens` with a security review, `index_cache` with a run of the
    benchmarks.
"""

from __future__ import annotations
