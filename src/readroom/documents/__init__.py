"""documents: Office files, PDFs, mail, tables and archives, as text with places.

Knows: core.
Does not know: contracts, ways in, servers, the lens.
May be touched: a reader and its samples; the confined child only with a security review.
"""
