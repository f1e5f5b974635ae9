"""The command line.

Knows: commands, options, terminals and exit codes.
Does not know: the other faces, but for starting them.
May be touched: freely.
"""

from __future__ import annotations
