"""The file that Inspect would download to count tokens, from a package that has the same words."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from pathlib import Path

from tests.vocabulary import o200k

URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"


def write_vocabulary(folder: Path) -> Path:
    """A folder for `TIKTOKEN_CACHE_DIR`."""
    of = o200k().decode_single_token_bytes
    rows = [f"{b64encode(of(rank)).decode()} {rank}\n" for rank in range(199_998)]
    folder.joinpath(hashlib.sha1(URL.encode()).hexdigest()).write_text("".join(rows))
    return folder
