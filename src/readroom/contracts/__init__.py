"""contracts: the published tool contracts that readroom serves to the letter.

Knows: core.
Does not know: documents, ways in, servers, the lens.
May be touched: what an upstream project changes, with its conformance cases.
"""
