"""What of a part is not text, counted in one sentence.

No format's library is needed for it: notebooks and RTF are read where none is installed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_WITH_MORE = re.compile(r"(.*?)( )((?:of|in|to|by|that|with|without|outside) .*)")


def beside_note(counts: Mapping[str, int]) -> list[str]:
    """One sentence about what is not shown, by its kind in the singular; nothing when all is."""
    named = [f"{count:,} {kind if count == 1 else plural(kind)}" for kind, count in counts.items() if count]
    return [f"Not shown: {', '.join(named)}."] if named else []


def plural(kind: str) -> str:
    """More than one of a kind: `header or footer` is `headers or footers`, `link to it` `links to it`."""
    parted = _WITH_MORE.match(kind)
    noun, space, rest = parted.groups() if parted else (kind, "", "")
    plurals = (
        f"{name[:-1]}ies" if name.endswith(("ty", "py")) else f"{name}s" for name in noun.split(" or ")
    )
    return " or ".join(plurals) + space + rest
