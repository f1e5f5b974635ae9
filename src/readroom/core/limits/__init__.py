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

GUESSES = 4096
"""Guessed encodings to remember, some 150 bytes each; when full, all are forgotten."""

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

LINES_AROUND = 6
"""Most lines of a reply besides its content: the first, the last, the header of a table, the mark above an
outline, and a note about a budget."""

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

IGNORE_FILE_BYTES = 256 * 1024
"""Largest ignore file that is read. The longest in GitHub's templates has 8 KB."""

IGNORE_FILE_LINES = 2_000
"""Patterns of `.readroomignore` or `.kilocodeignore`; all are compiled on reading, 30 us each."""

WRITE_NOTE_KEPT_S = 30 * 86_400.0
"""How long the note about a crashed writer's temporary file is kept if nothing is written to the folder.
Afterwards the file stays, and is like any other."""

HARDLINK_SCAN_S = 2.0
"""Longest search for denied files with several names in one call: some million files. The next call
continues, so that a root as large as a disk costs some calls and not one of 20 s."""

HARDLINK_SCAN_KEPT_S = 60.0
"""How long the result of that search is valid. A link made later is noticed by the file's change time; what
is not noticed is a folder renamed to a denied name, whose files were readable until then."""

HARDLINK_SCAN_SHARE = 20
"""It is valid for so many times as long as it took: a large tree is not searched all the time."""

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

IGNORE_SLOW_PATTERNS = 500
"""Patterns such as `*x*` or `[ab]c` in the ignore files of a folder and those above it: each is tried on
every name, 0.3 us. People write fewer; more are not applied. The usual patterns are looked up instead."""

IGNORE_KEPT_BYTES = 1024 * 1024
"""Ignore files cached during one call, by their size; in memory they take ten times that."""

HARDLINK_SINGLE_NAMES = 100_000
"""Denied files with one name that are remembered, 10 MB: a second line, see `policy/hardlinks.py`."""

HARDLINK_NAMES = 400_000
"""Denied files that are remembered in all, 40 MB."""

GREP_LIMIT = 100
"""Matches (content) or files (files, count) per reply. opencode, gemini-cli and pi: 100."""

GREP_TIMEOUT_S = 10.0
"""Search deadline. Peers: 5 s (filesystem-mcp), 20 s (claude-code), 30 s (gemini-cli), all of which then
return nothing; ours returns what it has and a cursor."""

GREP_MAX_TIMEOUT_S = 300.0
"""Longest search a caller may ask for; MCP clients give up long before."""

GREP_FILE_SHARE = 2
"""The part of a folder search's time that one file may take, so that the files after it get the rest."""

GREP_FILE_LEAST_S = 0.5
"""The least that a file gets: a search of a tenth of a second says nothing about its files."""

GREP_SWEEP_SHARE = 0.5
"""The part of the time for searching with all threads, which cannot be continued from its middle; what takes
longer is searched in path order."""

GREP_RANK_SHARE = 0.7
"""The part of the time for sorting in an order other than by path, which needs all files first; if that does
not suffice, the rest is searched by path."""

GREP_NAMED_BYTES = 96 * 1024
"""Names of files passed to one search process; every Linux takes 128 KiB."""

GREP_REPORTED_FILES = 20_000
"""Binary files remembered from one pass over a tree; if there are more, another pass looks at them."""

GREP_MAX_CONTEXT = 50
"""Context lines on each side; more is a read."""

PREVIEW_CHARS = 500
"""A matched line is previewed around its first match. claude-code, pi, crush, kilo: 500."""

GREP_PATTERN_BYTES = 64 * 1024
"""Longest pattern. Linux takes 128 KiB for one argument of a program."""

GREP_LINE_BYTES = 64 * 1024
"""Longest line that is decoded whole to be previewed; of a longer one only the part around the match is."""

GREP_SCAN_BYTES = 16 * 1024 * 1024
"""How far the end of a very long line is searched for to state its length: 5 ms; else it is unknown."""

GREP_WIDE_BYTES = 16 * 1024 * 1024
"""Largest file that is searched by its characters if it is not UTF-8, and across CR LF: it is held in memory
as UTF-8, which takes up to three times its size."""

GREP_PROGRAM_BYTES = 20 * 1024 * 1024
"""A compiled pattern, and the states built from it while searching. `(\\w{50}){8}` needs 5 MB; rg's own
limit of 100 MB takes a second to be reached."""

GREP_CHILD_BYTES = 64 * 1024 * 1024
"""Memory of a search process. It holds one line; if a line has more than some 20 MB, the file is mapped."""

GREP_RANKED_FILES = 2000
"""Matching files that are ranked by relevance, 0.1 ms each; the others follow by path."""

GREP_RANKED_LINES = 50
"""Matching lines of a file by which its relevance is judged."""

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
"""How much of a compressed file is expanded, into an unnamed temporary file for the rest of the session. A
log of 100 MB in gzip has about 1 GB."""

HTTP_PORT = 7323
"""Where `readroom serve` listens: READ on a telephone's keys, and no development server's usual port."""

IMAGE_LONG_SIDE = 1568
"""Pixels. The model's provider would shrink larger images anyway, after charging for them."""

IMAGE_MAX_BYTES = 24 * 1024 * 1024
"""Largest image file that is opened: a quarter of what decoding it may take."""

IMAGE_MAX_PIXELS = 100_000_000
"""Largest image that is decoded: a decompression bomb of 1 MB can hold 10 billion pixels."""

IMAGE_WORK_BYTES = 100_000_000
"""The file, the decoder's buffers and the decoded image together; images that need more are refused. Pillow
takes 4 bytes for a pixel in colour: measured over idle, a PNG of a 4K screen takes 45 MB, of 5K 75, of 6K
101, of 8K 160. So all but the last are shown, grey pages at 600 dpi (41 MB), baseline JPEG up to
IMAGE_MAX_PIXELS, which is decoded at a fraction of its size, 22 megapixels of progressive JPEG and 6 of WebP.
Images are decoded one at a time: all calls of a server together take it once."""

IMAGE_REPLY_BYTES = 3_500_000
"""An image in a reply. Model providers refuse more than 5 MB of base64, which is 3.9 MB of image."""

JPEG_QUALITY = 85
"""Quality of re-encoded images: text in screenshots stays readable, and higher values double the size."""

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

EDITS = 500
"""Replacements in one call. Each is searched for in the whole file."""

MATCHES = 100_000
"""Places that replace_all may change in one call: 25 MB while it works."""

MATCHES_COUNTED = 1000
"""Occurrences that are counted for a text that should occur once; more are "more than"."""

MATCHES_NAMED = 10
"""Lines named by the error for an ambiguous edit."""

GROWTH_BYTES = 256 * 1024 * 1024
"""How much one call may enlarge a file: replace_all can multiply a text by the number of places."""

DIFF_CONTEXT = 3
"""Unchanged lines around a change in a diff. diff -u, git: 3."""

DIFF_HUNK_BYTES = 256 * 1024
"""Longest stretch of a file that is compared for one hunk; a longer one has line numbers only."""

DIFF_CELLS = 250_000
"""Product of old and new lines up to which difflib compares; above it, the difference is shown as one block.
The worst case, many equal lines, takes 0.1 s here."""

DIFF_LINE_CHARS = 500
"""A longer line of a diff is cut to the part around its change. As for previews of matches."""

KEPT_TEXT_BYTES = 256 * 1024
"""Largest file whose shown states are cached for refused edits: nearly all source files."""

KEPT_TEXTS_BYTES = 8 * 1024 * 1024
"""All cached states of a workspace together."""

CLOSEST_BYTES = 4 * 1024 * 1024
"""How much of a file is compared with a text that was not found: 0.3 s (measured, 100,000 lines); for a
larger file the reply says so."""

CLOSEST_LINES = 12
"""Lines of the most similar place that the error shows."""

RUN_TIMEOUT_S = 120.0
"""Time for one command. claude-code, codex: 120 s; gemini-cli 300 s."""

RUN_MAX_TIMEOUT_S = 1800.0
"""Longest time that a caller may ask for. claude-code: 600 s; full builds take longer."""

RUN_GRACE_S = 2.0
"""Time between SIGTERM and SIGKILL. docker: 10 s, where no call waits."""

RUN_DRAIN_S = 5.0
"""How long the system may take to remove killed processes; disk work is not interrupted."""

RUN_SILENT_BYTES = 200
"""Output of a command shown with output="silent". This and the next three are those of everruns."""

RUN_CONCISE_BYTES = 2 * 1024
"""Shown with output="concise", the default: about 700 tokens of a log."""

RUN_NORMAL_BYTES = 8 * 1024
"""Shown with output="normal"."""

RUN_VERBOSE_BYTES = 16 * 1024
"""Shown with output="verbose"."""

RUN_LINE_CHARS = 400
"""Length of a line when not all fit, unless its share is more: a bundle would fill a message."""

RUN_CLUE_CHARS = 300
"""How much of a line is examined for a clue; messages say what they are at their beginning."""

RUN_CLUE_SHAPES = 400
"""Possible clues that are examined, lines that differ only in numbers counted once: this many from the
beginning of a stream, and from its end."""

RUN_CLUES_S = 5.0
"""Longest search of one output for clues. 32 MiB take 0.3 s, and 3 to 5 s if every line may be one."""

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

RUN_COMMAND_BYTES = 120 * 1024
"""Longest command. Linux takes 128 KiB for one argument of a program."""

RUN_HIDDEN_NAMES = 2500
"""Denied names that can be hidden from a confined command with bubblewrap, which takes 9,000 arguments."""

RUN_RULES = 20_000
"""Files and folders that Landlock can open individually, where others next to them are denied."""

RUN_LOOK_S = 20.0
"""Longest search for denied names before a command: some ten million files. After that it is not started."""

LOCK_WAIT_S = 20.0
"""Longest wait for another writer of the same folder; a change of a large file takes seconds."""

MCP_WORKERS = 8
"""Tool calls that run at once in one MCP server; more wait their turn. A call is disk and C code most of its
time, rg brings threads of its own, and eight at 64 MB each stay below half a gigabyte."""

MCP_PROGRESS_S = 0.25
"""Seconds between two progress messages of a call: four a second is what a person can follow."""

MCP_MESSAGE_BYTES = 32 * 1024 * 1024
"""One message of a client: the text that a call may bring, and as much again for the escapes of JSON."""

MCP_CHUNK_BYTES = 64 * 1024
"""Bytes read at once from a client's pipe: all that a pipe holds."""

MCP_LIST_FRESH_MS = 60 * 60 * 1000
"""How long a client of 2026-07-28 may keep the list of tools. It changes only with the installed version."""

MCP_LIST_TOOLS = 100
"""Tools on one page of `tools/list`. Every contract fits: many clients never ask for a second page."""

MCP_EXIT_S = 2
"""Seconds for open connections and unsent replies when a server is stopped."""

MCP_SETTLE_S = 2
"""Seconds for running calls after the end of input. The SDK's clients wait as long, then send SIGTERM."""

HTTP_SESSIONS = 1000
"""Open sessions of clients before 2026-07-28, a few kB each; a new one ends the oldest. SDK: 10,000."""

HTTP_SESSION_IDLE_S = 30 * 60.0
"""Idle time after which a session is forgotten; its client starts another. As the SDK."""

HTTP_STILL_S = 15.0
"""Seconds after which a client that waits for an MCP answer is told that the server is still there: half of
the shortest timeout of common proxies. As the SDK."""

HTTP_CONNECTIONS = 512
"""Concurrent connections with an admitted request; above it, clients are asked to try again. An editor has
one or two per window, a proxy some hundred for all its users."""

SERVE_STRANGERS = 320
"""Concurrent connections without an admitted request; a new one ends the oldest. With those above and what
calls open, below the 1,024 descriptors that most systems give a process."""

SERVE_ADDRESS_STRANGERS = 288
"""The same for one address. All clients of this machine share one address, and so do all behind a proxy,
which may open as many as a load test does (256) before it sends anything."""

SERVE_ACCEPT = 16
"""Connections accepted before any is read: in a flood, a new one must be read before it is the oldest."""

SERVE_BACKLOG = 1024
"""Connections that wait in the kernel to be accepted."""

SERVE_QUEUE = 512
"""Calls that wait for a worker of a server, one per connection; more are refused. At 0.5 ms a read, the last
waits 0.3 s; with long searches, clients of more calls would have given up."""

SERVE_BODY_S = 30.0
"""Time for the whole body of a request to arrive: 1 MB/s for the largest. nginx: 60 s between two pieces."""

SERVE_LINGER_S = 2.0
"""How long the body of a refused request is still read and discarded, so that its client reads why."""

SERVE_LINGER_BYTES = 2**20
"""How much of it: more than any call that is sent by mistake. A client with more may lose the answer."""

SERVE_HEADER_S = 10.0
"""Time for a request's first line and headers. Apache: 20 s and more; a client sends them in one packet."""

SERVE_IDLE_S = 5.0
"""How long an idle connection is kept. uvicorn: 5 s; nginx and Apache: 75 s and 5 s."""

SERVE_HEAD_BYTES = 32 * 1024
"""Size of a request's first line and headers. Node: 16 KiB; nginx: 32 KiB."""

SERVE_CALL_S = 300.0
"""Longest time for one call over HTTP, whatever its tool allows; proxies give up after 60 to 300 s."""

SERVE_EXIT_S = 10.0
"""How long a stopping server lets running calls finish. Kubernetes kills after 30 s."""

SERVE_RATE = 6_000
"""Requests per minute with one token: ten times what a busy agent sends."""

SERVE_ADDRESS_RATE = 60_000
"""Requests per minute from one address without a valid token: more than two cores can answer."""

SERVE_FAILED_RATE = 60
"""Requests per minute from one address without a valid token, where tokens are required: guessing is
hopeless, and this keeps it from filling the log."""

SERVE_PATH_BYTES = 1024
"""Longest address of a request; ours have two short names."""

SERVE_POLICIES = 64
"""Workspaces open at once because tokens restrict them further; the least recently used is closed."""

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

TREE_ENTRIES = 100_000
"""Names in a folder that is deleted or moved as a whole. Each is checked, in some 10 us: a second."""

TRASH_TRIES = 100
"""Names tried for a trashed file; a name is in use only if the same one was trashed in its millisecond."""
