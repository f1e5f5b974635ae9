"""UTF-8 in which characters above U+FFFF are two surrogates, as Java and MySQL write them.

It is not valid UTF-8, and few other texts look like it.
"""

from __future__ import annotations

import re

BROKEN_CHAR = "\ufffd"

_SURROGATE = rb"\xed[\xa0-\xbf][\x80-\xbf]"
_SURROGATES = rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]"
_ABOVE_FFFF = "\U0001f600".encode()


def without_surrogates(data: bytes) -> bytes:
    """The same with one character for each pair of surrogates, and `BROKEN_CHAR` for one that is alone."""
    if b"\xed" not in data:
        return data
    return re.sub(_SURROGATE, BROKEN_CHAR.encode(), re.sub(_SURROGATES, _ABOVE_FFFF, data))
