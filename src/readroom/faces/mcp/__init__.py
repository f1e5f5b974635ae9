"""The Model Context Protocol: one server over stdio and over streamable HTTP.

Knows: the tools of a workspace as the protocol describes and calls them; pipes.
Does not know: HTTP.
May be touched: freely, with a look at what the start imports.
"""

from __future__ import annotations
