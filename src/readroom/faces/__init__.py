"""Ways in: transport only.

Knows: transport: a call comes in, an answer leaves.
Does not know: what a tool does.
May be touched: freely, but for the gate of HTTP.
"""

from __future__ import annotations
