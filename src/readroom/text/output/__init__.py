"""The output of a program as a reader wants it: what stands out, without the control of terminals.

Knows: lines of a log, and which of them a reader looks for first.
Does not know: commands and how they run.
May be touched: freely.
"""

from __future__ import annotations
