"""Patterns, globs, and the command line and output of rg; opens no files.

Knows: patterns, globs, and how to run rg and read its output.
Does not know: folders and policies: whether a file may be searched is decided elsewhere.
May be touched: with the tests that compare with rg and RE2; `prefilter` with a run of the
    benchmarks.
"""

from __future__ import annotations
