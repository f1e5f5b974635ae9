"""core: find, read, outline, edit and run, on any store, under one policy.

Knows: nothing of the other wings; they register in its tables.
Does not know: documents, other contracts, ways in, servers, the lens.
May be touched: by all; `policy`, `sandbox` and `stores` only with a security review.
"""
