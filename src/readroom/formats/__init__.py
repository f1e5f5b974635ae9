"""What files are: kinds by name and bytes, and images.

Knows: kinds of files by name and first bytes, what compressed bytes expand to, and images.
Does not know: stores and policies: it is handed bytes, or something to read them from.
May be touched: freely, within the bounds of `limits`: every byte may come from an attacker.
"""

from __future__ import annotations
