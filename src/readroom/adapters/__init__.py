"""Adapters: readroom's tools for agent frameworks; each module needs the extra of its name.

Knows: how a framework declares tools and takes results.
Does not know: anything but the public names of readroom.
May be touched: freely.
"""

from __future__ import annotations
