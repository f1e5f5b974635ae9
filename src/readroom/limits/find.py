"""Limits of ranked search and of cursors; the weights of its ranking are in `ranking/score.py`."""

FIND_BUDGET_TOKENS = 2000
"""A page without a budget of its own."""

FIND_MIN_TOKENS = 100
"""Smallest budget of a page: a heading and some lines."""

FIND_MAX_TOKENS = 50_000
"""Largest budget of a page; the cap of the reply ends most before."""

FIND_SURE_SHARE = 0.95
"""Of a budget, what a page is estimated at: 19 of 20 pages take at most 6 % more o200k tokens than their
estimate says, so that few take more than was asked for."""

FIND_FILE_BYTES = 2 * 1024 * 1024
"""Larger files are named instead of looked at: of 40,000 files of source 3 are larger, all generated.  One
that is asked for by its path is looked at in windows."""

FIND_DOCUMENT_CHARS = 2 * 1024 * 1024
"""Of the text of one document among others: as much as of any file, some 700 pages of a book.  The reply says
at which part it was left."""

FIND_DOCUMENT_S = 2.0
"""Processor time of one document among others: 200 to 2,000 pages. None takes it from those behind."""

FIND_DOCUMENT_ALONE_CHARS = 6 * 1024 * 1024
"""Of one that is asked for by its path: 2,000 pages, of which what is extracted is kept for the next page."""

FIND_LEFT_CALLS = 3
"""Documents that were left before their end whose rest is a call of its own, and what cannot be read that is
named."""

FIND_WINDOW_BYTES = 64 * 1024
"""A larger file that is asked for by its path is looked at in windows of whole lines: some 600 of a log."""

FIND_LARGE_BYTES = 512 * 1024 * 1024
"""Largest such file: about as much as a whole tree that is searched within the time of a call."""

FIND_FILES_APART = 15
"""Files taken apart for one page: with 15, half a point of coverage less; each costs some 5 ms.  Pages behind
them take the next ones apart."""

FIND_OUTLINED_CHARS = 256 * 1024
"""Characters of files that are outlined for one page, those with the best passages first; what is beyond is
cut by lines.  The best fifteen files of most repositories are shorter together; where they are not, outlines
would take longer than all the rest of a search."""

FIND_SMALL_CHARS = 16 * 1024
"""A file that is no longer is always outlined: it takes a millisecond or two."""

FIND_PARSED_CHARS = 256 * 1024
"""Longer texts are cut by lines instead of definitions: to parse them takes a tenth of a second each."""

FIND_SYMBOL_CHARS = 1024 * 1024
"""Of files that seem to define the one symbol that is asked for, best first: its definition is what is
wanted, and many that everybody knows stand in files of 300,000 characters.  Longer ones are cut by lines."""

FIND_PARSE_S = 0.5
"""Longest parsing of one file, in processor time; then it is cut by lines."""

FIND_LINE_CHARS = 500
"""Longest line of a passage; what is longer is minified or data, and reading it is the next call."""

FIND_KEPT_BYTES = 24 * 1024 * 1024
"""Texts that a workspace keeps between ranked searches, so that the next one need not read them again: all of
a usual repository.  What is beyond that is read by every search; of a tree twice as large nothing is kept."""

FIND_SETTLED_NS = 2_000_000_000
"""A file that was changed so shortly before it was read is not kept: it could change again within one tick of
the file system's clock, and look as before."""

FIND_LEFT_NAMES = 20
"""Files that are named, of those too large to be looked at."""

FIND_APART_CHARS = 2 * 1024 * 1024
"""Characters of files that are kept as they were taken apart, for the next page of the same question; each
takes some two bytes so."""

FIND_AHEAD = 16
"""Of so many passages behind the first that does not fit, those that do fill the page: a twentieth more is
shown.  The cursor holds a bit for each."""

FIND_SENTENCES_TOKENS = 65
"""Of the budget for the first line and the last, with the next call, beside the question; of a small budget a
quarter at most."""

FIND_TRIES = 3
"""Pages that are made at most again, each with less, when what is said around the passages is more than was
expected; the second fits as a rule."""

FIND_LEAST_SHARE = 0.5
"""Of the budget for passages, whatever is to be said around them: a page that shows nothing leads nowhere."""

FIND_REASONS = 8
"""Reasons that are told of a file or passage; the others, of a long question, count little and are summed."""

FIND_REST_TOKENS = 35
"""Of the budget for the call that reads the rest of a passage that is longer than a page, beside its path."""

FIND_REPEATED_CHARS = 300
"""Longest question that the last line repeats in the next call; a longer one is not paid twice."""

CURSOR_DIGITS = 6
"""Hex digits of the arguments' fingerprint in a cursor: a mix-up passes once in 16 million times, for 4
tokens."""

SCORE_SCALE = 1_000_000
"""Scores are compared in millionths, so that a cursor can name one."""
