"""A workspace on another machine: its address, the program that reaches it, and the conversation with it.

`readroom` there does the work, under its own guard; nothing is read from here. The near end starts ssh,
docker or podman, which starts the far end: `readroom remote`. Between the two are frames, so that a shell
that prints something, an error of ssh and an error of readroom are three different things, and a connection
that ends in the middle never looks like an answer that is complete.

Knows: addresses, the arguments of the programs, what they say when they fail, and both ends.
Does not know: what a command does.
May be touched: freely but for `address` and `transport`, whose refusals and quoting need a security review.
"""

from __future__ import annotations

from typing import Final

OPTION: Final = "--at"
"""The option that names an address."""

COMMAND: Final = "remote"
"""The command that is the far end. Only the near end starts it, so no help lists it."""
