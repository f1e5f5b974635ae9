"""Patterns, previews and scans, without files.

Knows: patterns, globs, and how rg is spoken to.
Does not know: folders and policies: whether a file may be searched is not decided here.
May be touched: with the tests that compare with rg and RE2; `prefilter` with a run of the
    benchmarks.
"""

from __future__ import annotations
