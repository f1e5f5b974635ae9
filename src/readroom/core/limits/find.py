"""Limits of ranked search and of cursors; the weights of its ranking are in `ranking/score.py`."""

FIND_BUDGET_TOKENS = 2000
"""The budget of a page, unless the call has one."""

FIND_MIN_TOKENS = 100
"""Smallest budget of a page: a heading and some lines."""

FIND_FILE_BYTES = 2 * 1024 * 1024
"""Larger files are named instead of ranked: of 40,000 source files 3 are larger, all generated. A larger file
that is asked for by its path is ranked in windows."""

FIND_DOCUMENT_S = 2.0
"""Processor time of one document among others: 200 to 2,000 pages, so that those after it get theirs."""

FIND_SENTENCES_TOKENS = 80
"""The share of the budget for the first and last line, with the next call, besides the question; at most a
quarter of a small budget."""

FIND_TRIES = 3
"""How often a page is made again with less, if what is said around the passages is more than expected; the
second usually fits."""

FIND_LEAST_SHARE = 0.5
"""The least share of the budget for passages, whatever else is to be said: an empty page leads nowhere."""

FIND_REPEATED_CHARS = 300
"""Longest question that the last line repeats in the next call, so that a long one is not paid for twice."""
