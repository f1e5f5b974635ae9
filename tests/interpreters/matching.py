"""Match each pattern against each of its texts: from standard input to standard output, as JSON.

Every Python of the machine runs this file, so it imports nothing but the standard library.
"""

from __future__ import annotations

import json
import re
import sys
from operator import methodcaller
from typing import Any


def main() -> None:
    """Read rows of pattern, flags, whether it is of bytes, and texts; write the spans found in each text."""
    for pattern, flags, is_bytes, texts in json.load(sys.stdin):
        encoded = methodcaller("encode", "latin-1") if is_bytes else str
        compiled = re.compile(encoded(pattern), flags)
        print(json.dumps([_spans(compiled, encoded(text)) for text in texts]))


def _spans(pattern: re.Pattern[Any], text: Any) -> list[Any]:
    spans = [[found.span(group) for group in range(pattern.groups + 1)] for found in pattern.finditer(text)]
    first, whole = pattern.match(text), pattern.fullmatch(text)
    put = pattern.sub(text[:0], text)
    return [spans, first and first.span(), whole and whole.span(), len(put)]


if __name__ == "__main__":
    main()
