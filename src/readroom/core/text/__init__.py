"""Functions of text and its bytes: encodings, lines, selections, hidden characters, tokens.

Knows: the bytes and characters of a text that was opened elsewhere.
Does not know: files, policies, replies.
May be touched: `line_index` and `select` with a run of the benchmarks; the rest freely.
"""

from __future__ import annotations
