"""server: the HTTP agent with tokens, budgets, a ledger, shared state and a dashboard.

Knows: core, contracts, cli and mcp.
Does not know: the lens, except by its rows.
May be touched: pages of the dashboard freely; the HTTP layer only with the tests of attacks.
"""
