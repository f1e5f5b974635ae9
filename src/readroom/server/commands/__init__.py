"""Commands of the command line that start a server or look after what one keeps.

Knows: how a server is started, and its tokens, budgets and ledger.
Does not know: how a call is made.
May be touched: freely.
"""
