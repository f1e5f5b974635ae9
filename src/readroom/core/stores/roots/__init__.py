"""Several roots as one tree: the first as it is, each other one as a folder of its own name.

    names      which root a path belongs to, and its path there
    placed     what a root hands out, with the names of the whole tree
    joined     the store of them all

Each root stays a store of its own, which knows nothing of the others: a link in it never leads into another
one.  A path is translated once, here and in `policy.roots`, on its way in and on its way out.

Knows: names of roots, and what may not go from one to another.
Does not know: policies, and what kind of store a root is: a folder, memory, another machine.
May be touched: with a security review.
"""

from __future__ import annotations
