"""Limits of ranked search and of cursors; the weights of its ranking are in `ranking/score.py`."""

FIND_BUDGET_TOKENS = 2000
"""The budget of a page, unless the call has one."""

FIND_MIN_TOKENS = 100
"""Smallest budget of a page: a heading and some lines."""

FIND_MAX_TOKENS = 50_000
"""Largest budget of a page; the size limit of the reply usually ends it before."""

FIND_SURE_SHARE = 0.95
"""The share of the budget that a page is planned with: 19 of 20 pages take at most 6 % more o200k tokens than
estimated, so that few exceed the budget."""

FIND_FILE_BYTES = 2 * 1024 * 1024
"""Larger files are named instead of ranked: of 40,000 source files 3 are larger, all generated. A larger file
that is asked for by its path is ranked in windows."""

FIND_DOCUMENT_CHARS = 2 * 1024 * 1024
"""Text of one document among others: as much as of any file, some 700 pages of a book. The reply says at
which part it stopped."""

FIND_DOCUMENT_S = 2.0
"""Processor time of one document among others: 200 to 2,000 pages, so that those after it get theirs."""

FIND_DOCUMENT_ALONE_CHARS = 6 * 1024 * 1024
"""Text of a document that is asked for by its path: 2,000 pages; extracted ones are cached for the next
page."""

FIND_LEFT_CALLS = 3
"""Unfinished documents that get a call of their own, and unreadable files that are named."""

FIND_WINDOW_BYTES = 64 * 1024
"""A larger file that is asked for by its path is ranked in windows of whole lines: some 600 of a log."""

FIND_LARGE_BYTES = 512 * 1024 * 1024
"""Largest such file: about as much as a whole tree that is searched within the time of a call."""

FIND_FILES_APART = 15
"""Files split for one page: with 15, half a point of coverage less; each costs some 5 ms. Later pages split
the next ones."""

FIND_OUTLINED_CHARS = 256 * 1024
"""Characters of files that are outlined for one page, those with the best passages first; the others are
split by lines. The best fifteen files of most repositories are shorter together; where they are not, outlines
would take longer than the rest of the search."""

FIND_SMALL_CHARS = 16 * 1024
"""Files up to this size are always outlined: it takes a millisecond or two."""

FIND_PARSED_CHARS = 256 * 1024
"""Longer texts are split by lines instead of definitions: parsing takes a tenth of a second each."""

FIND_SYMBOL_CHARS = 1024 * 1024
"""Characters of files that seem to define the symbol that is asked for, best first: its definition is wanted,
and many well-known ones are in files of 300,000 characters. Longer ones are split by lines."""

FIND_PARSE_S = 0.5
"""Longest parsing of one file, in processor time; then it is split by lines."""

FIND_LINE_CHARS = 500
"""Longest line of a passage; longer ones are minified code or data, and the next call reads them."""

FIND_KEPT_BYTES = 24 * 1024 * 1024
"""Texts cached by a workspace between ranked searches: all of a usual repository. The rest is read by every
search; of a tree twice as large nothing is cached."""

FIND_SETTLED_NS = 2_000_000_000
"""A file that was changed this shortly before it was read is not cached: it could change again within one
tick of the file system's clock, and look the same."""

FIND_LEFT_NAMES = 20
"""Names of files too large to be ranked that are shown."""

FIND_APART_CHARS = 2 * 1024 * 1024
"""Characters of split files that are cached for the next page of the same question, some two bytes each."""

FIND_AHEAD = 16
"""How many passages after the first that does not fit are tried to fill the page: a twentieth more is shown.
The cursor has a bit for each."""

FIND_SENTENCES_TOKENS = 65
"""The share of the budget for the first and last line, with the next call, besides the question; at most a
quarter of a small budget."""

FIND_TRIES = 3
"""How often a page is made again with less, if what is said around the passages is more than expected; the
second usually fits."""

FIND_LEAST_SHARE = 0.5
"""The least share of the budget for passages, whatever else is to be said: an empty page leads nowhere."""

FIND_REASONS = 8
"""Reasons shown for a file or passage; the others, of a long question, count little and are summed."""

FIND_REST_TOKENS = 35
"""Tokens for the call that reads the rest of a passage longer than a page, in addition to its path."""

FIND_REPEATED_CHARS = 300
"""Longest question that the last line repeats in the next call, so that a long one is not paid for twice."""

CURSOR_DIGITS = 6
"""Hex digits of the arguments' fingerprint in a cursor: a mix-up goes unnoticed once in 16 million times, for
4 tokens."""

SCORE_SCALE = 1_000_000
"""Scores are compared in millionths, so that a cursor can name one."""
