"""Faces: the ways in, which are transport only.

Knows: transport: calls come in, answers go out.
Does not know: what tools do.
May be touched: freely, except the gate of HTTP.
"""

from __future__ import annotations
