"""The review over HTTP: /v1/review, for programs of people.

Knows: the addresses of sets of changes, and their OpenAPI.
Does not know: how changes wait and are accepted (`core.review`).
May be touched: with the tests of who may see and decide.
"""

from __future__ import annotations

PATH = "/v1/review"
"""The address of the sets."""
