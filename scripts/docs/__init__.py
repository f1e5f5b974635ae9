"""The generated parts of the documentation.

Knows: what a page takes from the code: contracts, errors, runs, charts, modules and limits.
Does not know: how the site is built (`scripts.website`).
May be touched: freely; `python -m scripts.docs --check` and a test compare the pages.
"""
