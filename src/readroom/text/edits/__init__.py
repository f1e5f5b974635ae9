"""Edits of text: where an old text stands, what a near one would be, and the bytes after the change.

Knows: texts before and after a change, window by window.
Does not know: files; who may change them.
May be touched: with a review of `exact` and `splice`: what they keep is a user's file.
"""

from __future__ import annotations
