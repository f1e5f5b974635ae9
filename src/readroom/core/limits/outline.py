"""Limits of outlines and of names of definitions."""

from __future__ import annotations

OUTLINE_BYTES = 1024 * 1024
"""Largest text that is outlined: 0.1 s and some 80 MB for a moment. 6 MB of minified JavaScript took 2.8 s
and 470 MB."""

OUTLINE_ERRORS = 200
"""Places of syntax errors kept with an outline, to be compared with what is read of a file."""

OUTLINE_DEPTH = 64
"""Nesting of definitions that is followed."""

OUTLINE_SIGNATURE_CHARS = 100
"""Longest signature in an outline. Nine of ten definitions of the Python library have 80 or less."""

OUTLINE_NAME_CHARS = 120
"""Longest name of an item; keys of data can be whole texts."""

LARGE_OUTLINE_S = 30.0
"""Processor time for the outline of such a text; a well-formed one of 5 MB takes 2 s."""

LARGE_MEMORY_KIB = 1536 * 1024
"""Memory of that process: the trees of real programs take 40 to 80 times the bytes of their text."""

OUTLINE_PIECE_CHARS = 1024 * 1024
"""Characters of such an outline in one answer of that process."""
