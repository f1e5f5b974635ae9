"""What is aimed at: each number once, the most that a ratio, a time or a size may be."""

from __future__ import annotations

WHOLE_PASS = 1.4
"""Counting the lines of a log, to `wc -l`."""
HASHED_PAGE = 0.8
"""The first page of a log with total and hash, to `openssl dgst -sha256`."""
LATER_PAGE_MS = 0.6
LATER_PIECE_MS = 0.5
"""Of a file of one line."""
FIRST_PIECE = 0.9
"""Of a file of one line, to hashing all of it."""
MEMORY_MB = 16.0
"""Peak above idle, of everything."""

SMALL_READ = 8.0
"""A read of 500 lines in process, to a bare open and read."""
SMALL_READ_MCP = 0.7
"""The same over stdio, to a server on the official SDK that sends the same from memory."""

RARE_WORD = 1.15
"""A search of the whole tree, to parallel rg."""
SECOND_SEARCH = 0.6
"""For another rare word in the same tree, to the same."""
COMMON_WORD = 0.05
"""The first 200 matches in path order, to rg printing all."""

REFERENCES = 2.0
"""A page of references, to the search and a parse of the files that match."""

LISTING = 1.3
"""The default page of a folder, to scandir sorted."""
LISTING_TOKENS = 1 / 80
"""The same in tokens, to server-filesystem."""
READ_TOKENS = 1.16
"""A file as it is read, to its raw text."""
SCHEMA_TOKENS = 1700
"""Of names, descriptions and schemas of all tools, in every conversation."""
OUTLINE = 1.3
"""To parsing alone."""
OUTLINE_SHARE = 0.12
"""In bytes, of the file."""
LARGE_OUTLINE_S = 2.0
"""Processor time for a file of 5 MB."""

COMMAND = 12
"""A whole process of the command line, to `python -c pass`."""
MCP_READY = 10
"""A server that has answered initialize and tools/list, to `python -c pass`."""

READS_A_SECOND, MCP_READS_A_SECOND, SEARCHES_A_SECOND = 1800, 1300, 120
"""At least, of one process over HTTP with 64 connections."""
READS_TO_HEALTH = 0.33
"""At least, reads to `/healthz`."""
SLOWEST_S = 0.1
"""99 of 100 answers."""

KEPT_EDIT = 1.3
"""An edit whose past is kept, to one without."""
KEPT_LIST = 2.0
"""A process that lists changes out of 100,000, to one that reads a file."""

MASKED_READ = 2.0
"""A read where secrets are masked, to one where they are not."""
