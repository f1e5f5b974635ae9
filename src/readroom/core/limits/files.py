"""Limits of large, compressed and changing files, and of child processes."""

from __future__ import annotations

INDEX_SPOTS = 32
"""Blocks that are checked, besides the first and the last, to tell whether a file was only appended to: 8 MB,
1 ms in memory, a quarter of a second where each is a seek. Every call checks others."""

EXPANSION_MEMORY_BYTES = 72 * 1024 * 1024
"""Window of a decoder. `xz -9` needs 65 MiB, `zstd --ultra -21` 64; `zstd --long` asks for 128."""

READ_GRACE_S = 5.0
"""Extra time for a page of the lines counted when the time limit passed: a few blocks, slow disks
included."""

CHANGED_TRIES = 2
"""Attempts at a file that another program saves at the last moment; twice in a row is a writer at work."""

TURN_S = 0.05
"""How often a thread that waits for another's pass over the same file checks its own deadline."""

PIPE_BYTES = 64 * 1024
"""Bytes read at once from a child process: what a pipe of Linux holds."""

CLOCK_S = 0.25
"""Longest wait for output of a child process before the clock is checked again."""

GREP_HEAD_START_S = 0.02
"""Processor time of rg in path order on one thread before a search of a folder goes on with all threads. A
common word has filled its page by then, and all of 2,000 files are searched; for a rare word in more files it
is the time that a search of 50,000 takes longer."""
