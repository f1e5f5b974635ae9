"""Limits of large, compressed and changing files, and of child processes."""

from __future__ import annotations

READ_TEXTS_BYTES = 12 * 1024 * 1024
"""Small texts cached after a read with the last reply, so that an unchanged one need not be split into lines
again: about 150 files of 500 lines."""

INDEX_CACHE_BYTES = 16 * 1024 * 1024
"""Block indexes cached in memory by a session: about 240 files of 1 GB."""

INDEX_KEPT_FROM_BYTES = 64 * 1024 * 1024
"""From this size on an index is stored on disk, and continued when its file grows. A pass over a smaller file
takes 40 ms, which is not worth a file of ours, nor a reply without a hash."""

INDEX_FILE_BYTES = 64 * 1024 * 1024
"""Largest index that is stored on disk: that of a file of 1 TB."""

INDEX_DISK_BYTES = 256 * 1024 * 1024
"""Indexes stored on disk by all processes of a user: those of 4 TB of files. The oldest are removed first."""

INDEX_DISK_FILES = 4096
"""Their number; a folder of so many names is listed in a few milliseconds."""

INDEX_SPOTS = 32
"""Blocks that are checked, besides the first and the last, to tell whether a file was only appended to: 8 MB,
1 ms in memory, a quarter of a second where each is a seek. Every call checks others."""

INDEX_SETTLED_MS = 100.0
"""How long a file must have been left alone before its index is trusted later without looking at it: clocks
of file systems tick every 1 to 10 ms, and a change within a tick leaves no trace."""

EXPANDED_SESSION_BYTES = 4 * 1024 * 1024 * 1024
"""Expanded content of all compressed files in one session."""

EXPANDED_FILES = 16
"""Their number; each holds a descriptor."""

EXPANSION_RATIO = 1100
"""Largest ratio of expanded to compressed size, from EXPANSION_FREE_BYTES on; logs grow 5 to 100 times. gzip
cannot reach it, the others can, with a megabyte for a terabyte."""

EXPANSION_FREE_BYTES = 64 * 1024 * 1024
"""Up to this size the ratio is not checked: a log of repetitions is quickly expanded."""

EXPANSION_MEMORY_BYTES = 72 * 1024 * 1024
"""Window of a decoder. `xz -9` needs 65 MiB, `zstd --ultra -21` 64; `zstd --long` asks for 128."""

EXPANSION_READ_BYTES = 4 * 1024
"""Compressed bytes given to a decoder at once: if data are damaged, no more than these are lost."""

READ_GRACE_S = 5.0
"""Extra time for a page of the lines counted when the time limit passed: a few blocks, slow disks
included."""

READ_END_BYTES = 4 * 1024 * 1024
"""How much of a file's end is searched for its last lines while they cannot be numbered yet: 500 lines of 8
kB; decoded, it stays far below the 64 MB promised per call."""

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

GREP_SWEEP_BYTES = 192 * 1024 * 1024
"""Memory of a search process that looks with all threads: it lists a folder before it looks into it, and
300,000 names take that much."""

LINK_FOLDERS = 5_000
"""Folders, from the top down, that are searched for links before a change: 0.15 s at most."""

LINK_NAMES = 1_000
"""Names of one file by links that are looked at; one with more is not changed."""

LINK_PARTS = 5
"""Links one after the other that give a file a name: one for each part of the longest protected name."""
