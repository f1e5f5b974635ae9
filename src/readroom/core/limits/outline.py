"""Limits of outlines and of names of definitions."""

from __future__ import annotations

OUTLINE_BYTES = 1024 * 1024
"""Largest text that is outlined: 0.1 s and some 80 MB for a moment. 6 MB of minified JavaScript took 2.8 s
and 470 MB."""

OUTLINE_TIMEOUT_S = 5.0
"""Time for one requested outline. A well-formed text of OUTLINE_BYTES needs 0.3 s, a hostile one any."""

OUTLINE_ASIDE_S = 1.0
"""Processor time for an outline that was not requested, of what a cut reply does not show."""

OUTLINE_MEMORY_KIB = 256 * 1024
"""How much the process may grow while one text is parsed, in KiB: some 80 MB is usual, hostile texts take
gigabytes."""

OUTLINE_BRACKETS = 500
"""Nested brackets in a text that is parsed. 100,000 times `A<` overflow the stack of a Java parser; real
programs have 30."""

OUTLINE_ERRORS = 200
"""Places of syntax errors kept with an outline, to be compared with what is read of a file."""

NAMED_LINES = 10
"""Lines named where a name occurs in a file that does not parse and has no definition of it."""

OUTLINE_DEPTH = 64
"""Nesting of definitions that is followed."""

OUTLINE_SIGNATURE_CHARS = 100
"""Longest signature in an outline. Nine of ten definitions of the Python library have 80 or less."""

SYMBOL_CHARS = 500
"""Longest name of a definition that is looked up, with everything that it is nested in."""

OUTLINE_NAME_CHARS = 120
"""Longest name of an item; keys of data can be whole texts."""

OUTLINE_SHARE = 8
"""The outline of what a cut reply does not show takes at most this part of what it shows."""

OUTLINE_OWN_SHARE = 4
"""If a contract sets the size of that outline, it is at most this part of the whole reply."""

OUTLINE_ASIDE_BYTES = 200
"""If less than this is left for it, there is no outline next to a window: it would name two definitions."""

GREP_SYMBOLS_S = 2.0
"""Time in all for the outlines of the files of one search reply: 100 files of 100 kB take 1 s."""

OUTLINE_CACHE_BYTES = 8 * 1024 * 1024
"""Outlines cached in memory by a session, estimated: those of some 1,000 source files."""

OUTLINE_PIECES = 200
"""Pieces of a text with syntax errors that are parsed again, each on its own: correct texts have none, and
real ones with that many damaged places are in another language than their names say."""

OUTLINE_COMMENT_LINES = 100
"""Consecutive comment lines that a Python parser is given: 20,000 of them took it minutes."""

OUTLINE_PERCENT = 12
"""Size of an outline, in percent of its file, above which fields, constants and the like are folded. Outlines
of the Python library without them have 8."""

OUTLINE_SHORT_BYTES = 2_000
"""Nested keys of data, and signatures of headers, are folded only in longer outlines: a shorter one is
quickly read, and most are asked for the names of services, scripts or jobs."""

OUTLINE_RUN = 12
"""Functions or types of a header named in one row where their signatures would flood an outline: the lines of
so many are quickly read, and outlines of headers take half the bytes."""

OUTLINE_RUN_LINES = 8
"""Most lines of such a function without its comment: some are declared with one parameter per line."""

LARGE_OUTLINE_BYTES = 16 * 1024 * 1024
"""Largest text that is outlined at all; beyond OUTLINE_BYTES in a process of its own. Generated sources and
bundles have some megabytes."""

LARGE_OUTLINE_S = 30.0
"""Processor time for the outline of such a text; a well-formed one of 5 MB takes 2 s."""

LARGE_MEMORY_KIB = 1536 * 1024
"""Memory of that process: the trees of real programs take 40 to 80 times the bytes of their text."""

OUTLINE_PIECE_CHARS = 1024 * 1024
"""Characters of such an outline in one answer of that process."""
