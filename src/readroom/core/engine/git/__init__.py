"""The questions of a reviewer to git: changes, log and blame, under today's policy.

Every name that an answer shows is asked about under the rules of today, as it was called then, and so is the
name before a rename.  A file whose bytes have a denied name on either side, or in HEAD, is not shown.

Knows: what of an answer may be seen, and what fits a reply.
Does not know: how git keeps it (`core.repository`).
May be touched: with a security review.
"""

from __future__ import annotations
