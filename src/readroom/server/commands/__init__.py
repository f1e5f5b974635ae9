"""Commands that start a server or manage its data.

Knows: the start of a server, and its tokens, budgets and ledger.
Does not know: how a call is made.
May be touched: freely.
"""
