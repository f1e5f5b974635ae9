"""Every default number of the engine, defined once, with its reason.

Default windows by kind of file are in `formats/kinds.py`; numbers that a published contract prescribes
are in that contract's record.

Knows: the numbers, and why each is what it is.
Does not know: who uses them.
May be touched: freely, if the reason is changed along; numbers of `text`, `engine.grep` and
    `engine.read` with a run of the benchmarks.
"""

from __future__ import annotations

from msgspec import Struct

BLOCK_BYTES = 256 * 1024
"""Read and index unit. 256 KiB keeps a block in L2 while it is counted and hashed; an index of a
1 GB file is then 4,096 numbers (measured: shared by counting at 5-17 GB/s, no gain above)."""

SMALL_FILE_BYTES = 1024 * 1024
"""Up to here a file is read and decoded whole: faster than indexing, and three copies of it
(bytes, text, lines) stay far below the 64 MB promised per call."""

HEAD_BYTES = 64 * 1024
"""Sample for kind and encoding: enough for either, and looked at whole in some milliseconds."""

VALUE_CHARS = 80
"""How much of a wrong value an error quotes; its sender knows the rest."""

NUMBER_MOST = 2**40
"""Largest number in a setting: more than any reply, file or patience."""

LINE_CHARS = 2000
"""A longer line is cut. The number of claude-code, gemini-cli, opencode, cline."""

REPLY_BYTES = 32 * 1024
"""Text of a reply. coder: 32 KiB; opencode and everruns 50 KiB; mux 16 KiB; about 8,000 tokens of code."""

MAX_REPLY_BYTES = 1024 * 1024
"""Largest cap that an operator may set: a quarter of a million tokens, more than most models hold."""

MIN_REPLY_BYTES = 2 * 1024
"""Smallest cap that still holds a header, one cut line and the closing line with the next call."""

CLOSING_BYTES = 700
"""Reserved in a reply for the header and the closing line, in addition to the paths they name."""

MAX_WARNINGS = 20
"""Warnings listed in a reply; more are counted in one last warning."""

MAX_OMITTED = 50
"""Cut matches listed one by one in a search reply; each has its call in the facts."""

NEAR_NAMES = 3
"""Suggestions for a missing name; opencode shows three as well."""

MAX_PATH_BYTES = 4096
"""PATH_MAX of Linux and macOS including the final NUL is 4096 / 1024; longer paths name nothing."""

MAX_PATH_DEPTH = 256
"""Folders in one path. The component walk holds one descriptor for each; 256 leaves room under the usual
limit of 1,024, and the deepest trees seen in the wild (nested node_modules) have about 100."""

SHOWN_PATH_CHARS = 200
"""How much of an invalid path is shown; it may be a whole document sent by mistake."""

NEAR_SCAN_NAMES = 10_000
"""Names compared for suggestions, first next to the missing one, then in the tree; about 50 ms."""

NEAR_SCAN_PARTS = 10_000
"""Path parts of the folders opened for suggestions, each a step for the system and for the rules: thousands
of folders in usual trees, fifty where they are 200 deep; 0.1 s."""

NEAR_SCAN_S = 0.5
"""Longest search for suggestions, on slow disks: that the name is missing is known already."""

NEAR_BESIDE_SCORE = 65
"""Least similarity, of 100, of a suggestion from the same folder: `main.py` for `mian.py` has 86, unrelated
names 30 to 50."""

NEAR_TREE_SCORE = 85
"""The same for a suggestion from elsewhere; among that many names, 65 finds something for everything."""

CONFIG_FILE_BYTES = 64 * 1024
"""Largest configuration file that is read."""

RULE_CACHE_NAMES = 4_096
"""Folders, and as many opened files, whose verdict is kept: 1 MB, and 16 MB if each has the longest possible
name. When full, all are forgotten, which costs microseconds a name."""

GREP_LIMIT = 100
"""Matches (content) or files (files, count) per reply. opencode, gemini-cli and pi: 100."""

GREP_TIMEOUT_S = 10.0
"""Search deadline. Peers: 5 s (filesystem-mcp), 20 s (claude-code), 30 s (gemini-cli), all of which then
return nothing; ours returns what it has and a cursor."""

GREP_MAX_TIMEOUT_S = 300.0
"""Longest search a caller may ask for; MCP clients give up long before."""

GREP_FILE_LEAST_S = 0.5
"""The least that a file gets: a search of a tenth of a second says nothing about its files."""

GREP_LINE_BYTES = 64 * 1024
"""Longest line that is decoded whole to be previewed; of a longer one only the part around the match is."""

GREP_CHILD_BYTES = 64 * 1024 * 1024
"""Memory of a search process. It holds one line; if a line has more than some 20 MB, the file is mapped."""

LIST_LIMIT = 125
"""Entries per page of a listing. Measured on names of 6 tokens: 1,018 o200k tokens if files share a date,
2,033 if each has its own and a size of millions; a fortieth of what server-filesystem sends for 10,000."""

LIST_TIMEOUT_S = 10.0
"""Listing deadline: ten million names of one folder, half a million of a deep tree. What is known by then is
shown, and a listing by name can be continued."""

LIST_MAX_DEPTH = 64
"""Deepest listing; deeper trees are reached by listing a subfolder."""

READ_TIMEOUT_S = 120.0
"""A first pass over a file on a slow disk: 100 GB at 1 GB/s. Later pages take milliseconds."""

EXPANDED_BYTES = 2 * 1024 * 1024 * 1024
"""How many bytes of a compressed file are expanded, into an unnamed temporary file for the rest of the
session. A log of 100 MB in gzip has about 1 GB."""

HTTP_PORT = 7323
"""Where `readroom serve` listens: READ on a telephone's keys, and no development server's usual port."""

IMAGE_LONG_SIDE = 1568
"""Pixels. The model's provider would shrink larger images anyway, after charging for them."""

IMAGE_REPLY_BYTES = 3_500_000
"""An image in a reply. Model providers refuse more than 5 MB of base64, which is 3.9 MB of image."""

DOCUMENT_TIMEOUT_S = 8.0
"""Processor time for what one call reads of a document: no hostile one takes more than ten seconds, start
included. By the clock it may take DOCUMENT_PATIENCE times as long."""

LINK_HOPS = 40
"""Symbolic links followed in one path; the limit of the Linux kernel."""

CHANGE_TEXT_BYTES = 16 * 1024 * 1024
"""Text in one call, all edits or the content together. A model writes a thousandth of it; two copies in
memory stay below the 64 MB promised per call."""

CHANGE_TIMEOUT_S = 120.0
"""Time for one change: a file of 10 GB is matched, copied and flushed at 200 MB/s and more."""

MATCHES = 100_000
"""Places that replace_all may change in one call: 25 MB while it works."""

MATCHES_NAMED = 10
"""Lines named by the error for an ambiguous edit."""

DIFF_CONTEXT = 3
"""Unchanged lines around a change in a diff. diff -u, git: 3."""

DIFF_HUNK_BYTES = 256 * 1024
"""Longest stretch of a file that is compared for one hunk; a longer one has line numbers only."""

DIFF_LINE_CHARS = 500
"""A longer line of a diff is cut to the part around its change. As for previews of matches."""

RUN_TIMEOUT_S = 120.0
"""Time for one command. claude-code, codex: 120 s; gemini-cli 300 s."""

RUN_MAX_TIMEOUT_S = 1800.0
"""Longest time that a caller may ask for. claude-code: 600 s; full builds take longer."""

RUN_CLUE_CHARS = 300
"""How much of a line is examined for a clue; messages say what they are at their beginning."""

RUN_KEPT_BYTES = 32 * 1024 * 1024
"""Kept of one stream: half from the beginning, half from the end. everruns keeps 1 MiB; the log of a noisy
build has 10."""

RUN_SESSION_BYTES = 512 * 1024 * 1024
"""Kept of all commands of a session, on disk; the oldest are dropped first."""

RUN_SESSION_OUTPUTS = 1000
"""Commands whose outputs are kept; each is two files."""

RUN_PROCESSES = 2000
"""Concurrent processes of one command; with more it is ended. A build on 128 processors has some 300; a fork
bomb has as many in a tenth of a second."""

RUN_FOLLOWED_NAMES = 50_000
"""Names of a workspace that are compared before and after a command, without ignored and denied ones: 0.4 s
each time. In a larger tree changes are not followed."""

RUN_BACKGROUND_S = 8 * 3600.0
"""Longest time of a command that runs on after its call, where its caller gives none: a working day."""

RUN_BACKGROUND = 32
"""Commands of one workspace that run on at once, and a thread for each."""

RUN_BACKGROUND_OWN = 10
"""The same of one conversation: a server, a watcher or two, and long builds. A token may have three quarters
of all."""

RUN_BACKGROUND_ENDED = 256
"""Commands that ran on and have ended, of which a workspace remembers the end; their outputs are kept as all
outputs are."""

RUN_WAIT_S = 300.0
"""Longest wait for a command that runs on. coder: 300 s; it is also the longest call over HTTP."""

LOCK_WAIT_S = 20.0
"""Longest wait for another writer of the same folder; a change of a large file takes seconds."""

MCP_WORKERS = 8
"""Tool calls that run at once in one MCP server; more wait their turn. A call is disk and C code most of its
time, rg brings threads of its own, and eight at 64 MB each stay below half a gigabyte."""

MCP_MESSAGE_BYTES = 32 * 1024 * 1024
"""One message of a client: the text that a call may bring, and as much again for the escapes of JSON."""

MCP_EXIT_S = 2
"""Seconds for open connections and unsent replies when a server is stopped."""

HTTP_SESSIONS = 1000
"""Open sessions of clients before 2026-07-28, a few kB each; a new one ends the oldest. SDK: 10,000."""

HTTP_SESSION_IDLE_S = 30 * 60.0
"""Idle time after which a session is forgotten; its client starts another. As the SDK."""

SERVE_QUEUE = 512
"""Calls that wait for a worker of a server, one per connection; more are refused. At 0.5 ms a read, the last
waits 0.3 s; with long searches, clients of more calls would have given up."""

SERVE_CALL_S = 300.0
"""Longest time for one call over HTTP, whatever its tool allows; proxies give up after 60 to 300 s."""

SERVE_EXIT_S = 10.0
"""How long a stopping server lets running calls finish. Kubernetes kills after 30 s."""

SERVE_VISITORS = 1000
"""People signed in to the dashboard at once; the longest idle one has to sign in again."""

SERVE_VISIT_S = 12 * 60 * 60
"""How long a sign-in is valid: a working day."""


class Limits(Struct, frozen=True):
    """Limits of one workspace; configuration may lower or raise them, engines only obey.

    `reply_bytes` is None where it is not set: each contract then has its own cap, the native one
    REPLY_BYTES.
    """

    reply_bytes: int | None = None
    line_chars: int = LINE_CHARS
    grep_limit: int = GREP_LIMIT
    grep_timeout_s: float = GREP_TIMEOUT_S
    list_limit: int = LIST_LIMIT
    list_timeout_s: float = LIST_TIMEOUT_S
    read_timeout_s: float = READ_TIMEOUT_S
    expanded_bytes: int = EXPANDED_BYTES
    change_timeout_s: float = CHANGE_TIMEOUT_S
    run_timeout_s: float = RUN_TIMEOUT_S
    document_timeout_s: float = DOCUMENT_TIMEOUT_S
    run_kept_bytes: int = RUN_KEPT_BYTES
    run_session_bytes: int = RUN_SESSION_BYTES
    run_processes: int = RUN_PROCESSES


# -----------------------------------------------------------------------------
# Numbers of deleting and moving, each with its reason.
# -----------------------------------------------------------------------------
