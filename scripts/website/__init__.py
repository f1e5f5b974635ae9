"""The documentation as a site: pages gathered, built strictly, and looked at in a browser.

Knows: where pages of the repository stand in the site, and what a good page is.
Does not know: what the pages say; `scripts.docs` writes their generated parts.
May be touched: freely; `scripts/site` says what broke.
"""
