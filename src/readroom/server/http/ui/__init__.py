"""The dashboard at /ui: what agents saw, called and spent, for people with a browser.

Knows: sums and rows of the ledger, the folder through the guard, and how pages show both.
Does not know: how calls are made or recorded; nothing here changes permissions of agents.
May be touched: `view` and `dashboard` with a security review; the rest freely.
"""

from __future__ import annotations
