"""The append-only record of calls, chained by hashes; it holds no content."""
