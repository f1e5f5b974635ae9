"""Compressed files of every kind, for the tests of reading them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from collections.abc import Callable, Mapping

from readroom.core.formats.compressed import Compression

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACK: Mapping[Compression, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "zstd": lambda data: zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1}),
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}
SUFFIX: Mapping[Compression, str] = {"gzip": "gz", "zstd": "zst", "xz": "xz", "bzip2": "bz2"}


def greedy_zstd() -> bytes:
    """A frame for which a decoder has to remember 128 MB, as `zstd --long` writes."""
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    return packer.compress(b"a line\n" * 100_000) + packer.flush()


def greedy_xz() -> bytes:
    """A stream for which a decoder has to remember 128 MB, as `xz --lzma2=dict=128M` writes."""
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**27, "mode": lzma.MODE_FAST, "mf": lzma.MF_HC3}]
    return lzma.compress(b"a line\n" * 1000, filters=filters)
