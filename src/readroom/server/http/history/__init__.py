"""The history over HTTP: /v1/history, for programs of people. Models reach it in no way but a tool of theirs.

Knows: its addresses (`routes`), and how OpenAPI describes them (`openapi`).
Does not know: what is kept and shown; the contract history does, and what a token may do (`rights` there).
May be touched: with the tests of attacks.
"""

from __future__ import annotations

PATH = "/v1/history"
"""The beginning of its addresses."""
