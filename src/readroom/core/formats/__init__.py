"""Kinds of files by name and bytes, and readers of every format.

Knows: kinds of files, compressed files, archives, tables, documents and images.
Does not know: stores and policies: it is given bytes, or something to read them from.
May be touched: freely, within the bounds of `limits`: every byte may come from an attacker.
"""

from __future__ import annotations
