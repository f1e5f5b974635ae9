"""Changes that wait for review over HTTP: /v1/review, for programs of people.

Whoever may decide has a token that was made for it: the right is never part of "all tools", or an agent could
accept its own changes.  Any other caller sees the set of its own conversation, and decides nothing.

Knows: its addresses (`routes`), and how OpenAPI describes them (`openapi`).
Does not know: what waits and who may decide; the folder review of the core does.
May be touched: with the tests of attacks.
"""

from __future__ import annotations

PATH = "/v1/review"
"""The beginning of its addresses."""
