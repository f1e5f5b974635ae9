"""readroom's tools for frameworks of agents; each module needs the extra of its name.

Knows: how a framework declares a tool and takes its result.
Does not know: anything but the public names of readroom.
May be touched: freely.
"""

from __future__ import annotations
