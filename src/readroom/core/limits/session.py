"""Limits of conversations, budgets, servers and the ledger."""

from __future__ import annotations

SESSIONS = 1000
"""Conversations that a workspace remembers; the longest unused one is forgotten. As HTTP_SESSIONS."""

SESSION_FILES = 4096
"""File states that a conversation is known to have seen: half a megabyte."""

SHOWN_SPANS = 200
"""Runs of lines recorded for one reply; a full search reply has 100."""

BUDGET_BYTES_PER_TOKEN = 3
"""How the size of a reply is derived from the remaining tokens; numbered code has 2.6 to 3.4. A reply that
turns out larger is made again, smaller."""

BUDGET_NOTE_TOKENS = 40
"""Reserved for the line that says how much is left."""

BUDGET_NOTE_BYTES = 200
"""The same in bytes."""

BUDGET_ACCOUNTS = 10_000
"""Conversations and tokens whose use is remembered, each counted separately; the longest unused one is
forgotten."""

IMAGE_PIXELS_PER_TOKEN = 750
"""What an image costs: Anthropic's published formula; others charge by tiles, about the same."""

MCP_RESOURCES = 100
"""Kept outputs listed at once: some 15 kB; a host fetches more when its user looks further."""

LEDGER_WAIT_S = 10.0
"""Longest wait for other writers of a ledger, and for a lost database. A row takes 0.1 ms."""

LEDGER_SWITCH_S = 0.01
"""Pause between attempts to switch a new ledger to a write-ahead log, while another process does it."""

LEDGER_RETRY_S = 0.1
"""Pause between attempts to reach a lost database."""

DATABASE_LONG_S = 600.0
"""Longest change of whole tables: a new index over millions of rows takes minutes."""

DATABASE_KEEPALIVE_S = 10
"""Interval of signs of life on a connection to a database server; Linux: two hours, then 75 s."""

LEDGER_PAGE_ROWS = 1000
"""Rows read from a ledger at once: half a megabyte."""

LEDGER_GROUP_ROWS = 500
"""Most rows in one transaction: others wait some 10 ms for it. SQLite takes 32,766 values at once."""

LEDGER_LOG_PAGES = 4000
"""Pages of a write-ahead log of SQLite, 16 MB, after which they are moved into the file; a call waits for
that. SQLite: 1,000, which is every 200 calls."""

LEDGER_FOLD_EVERY = 500
"""Rows after which a writer updates the sums of a ledger; that takes a hundredth of a millisecond per row,
and reports sum up the rest."""

LEDGER_FOLD_ROWS = 1000
"""Rows summed in one transaction: others wait some 20 ms for it. More than LEDGER_FOLD_EVERY, so that an
older ledger is caught up with."""

LEDGER_PROBLEMS = 20
"""Problems that a verification names; a broken ledger can have one in every row."""

LEDGER_TEXT_CHARS = 4096
"""How much of one text among a call's arguments is kept: any path, and all but the longest commands and
patterns."""

LEDGER_ARGUMENTS = 64
"""Arguments of a call, or items of a list, that a ledger keeps; a call with 500 edits has more."""

LEDGER_DEPTH = 4
"""Depth to which arguments are recorded; those of tools are two deep."""

LEDGER_NAME_CHARS = 200
"""How much is kept of the name of a client, its conversation or a tool."""

LEDGER_NAME_BYTES = 300
"""The same in bytes, with escapes: an index of PostgreSQL takes 2,704 of all that is in it."""

LEDGER_NAMES = 256
"""Names cached in the form in which rows have them: most rows have the same ones."""

STORE_BYTES = 64 * 1024 * 1024
"""All files of a store in memory that a contract works in; an agent's notes and a small project fit."""

STORE_FILES = 10_000
"""Files copied into such a store at its beginning; larger folders take seconds and are worked in as they
are."""

STORES = 256
"""Such stores in one workspace: as many conversations as a small server has at once."""

STORE_IDLE_S = 3600.0
"""Idle time after which a store makes room for another; conversations are rarely resumed later."""

LEDGER_REFUSALS = 300
"""Requests per minute refused before they are calls that are recorded individually; more are only counted. A
day's flood from everywhere writes some 200 MB, one from a single address some 10."""

LEDGER_REFUSALS_ALIKE = 20
"""The same for those with the same address, token and code: a client that errs by mistake is recorded
completely, and one that floods leaves room for others."""

LEDGER_REFUSALS_S = 60.0
"""The minute of both."""

OUTPUT_NAME_CHARS = 64
"""Length of a name that a caller chooses for kept outputs. Ids of tool calls have 30 to 40."""

STATE_WAIT_S = 3.0
"""Longest wait for other writers of the shared state, and for its lost database. A change takes 0.1 ms."""

STATE_REST_S = 0.5
"""How long calls are refused after a failure before the database is tried again: each attempt may wait."""

READY_KEPT_S = 1.0
"""How long one look at the database answers the probes for readiness, which anyone can send."""

STATE_CLOCK_S = 10.0
"""Interval between queries of a database server's clock, which counts for all machines."""

STATE_KEPT_S = 24 * 3600.0
"""Idle time after which sessions, what was shown and kept outputs are forgotten. Budgets are not."""

STATE_SPENT_S = 30 * 24 * 3600.0
"""How much longer it is remembered what a conversation has spent."""

STATE_CONVERSATIONS = 10_000
"""Conversations in one shared state that are remembered with what they were shown. As BUDGET_ACCOUNTS."""

STATE_SWEEP_S = 600.0
"""Interval between cleanups of what is too old or too much; a cleanup takes milliseconds."""

STATE_THREADS = 4
"""Threads of one process for queries of a database over a network, while its event loop goes on."""

RATE_LEASE = 32
"""Requests that a process may let in before it asks the database again: one query for 32 requests."""

RATE_LEASE_PART = 64
"""The part of the remaining rate that it may take at most: near its end every request is counted
individually."""

RATE_LEASE_S = 0.1
"""Time after which it returns what it has not used."""

CANCEL_LOOK_S = 0.5
"""Interval between checks whether a client has cancelled a call at another process of the server."""

OUTPUT_PIECE_BYTES = 1024 * 1024
"""Size of one piece of a kept output in the shared state."""

WORKERS_MOST = 64
"""Processes of one server; more than processors only wait for each other."""

WORKER_READY_S = 60.0
"""Longest start of a worker. It takes 0.1 s; a machine under load some seconds."""

WORKER_LEAST_S, WORKER_MOST_S = 0.1, 10.0
"""Before a worker that has died is started again: doubled for each that died before it had lived for the
longer of the two, so that one that cannot start costs little."""

SERVE_DESCRIPTORS = 4096
"""Files and connections that a process of a server may have open, where the system lets it choose: some give
it 256 to begin with."""

SERVE_KNOWN_TOKENS = 10_000
"""Valid tokens that are remembered, so that what others at the same address send is not counted as theirs;
each takes 200 bytes."""

SERVE_SMALL_BODY_BYTES = 64 * 1024
"""Size of a request's body that any connection may hold: more than most calls have."""

SERVE_CALLER_BODIES_BYTES = 128 * 1024 * 1024
"""Bodies beyond that, of one token or, without a token, of one address: four of the longest."""

SERVE_BODIES_BYTES = 256 * 1024 * 1024
"""The same for all callers; above it, clients are asked to try again."""

SERVE_GARBAGE = 10_000
"""Objects more than before after which a server looks for rings among them; Python's 700 are those of a dozen
requests that are being answered, of which nothing is garbage."""

MCP_UNREAD_BYTES = 32 * 1024 * 1024
"""Answers that a client over a pipe has not read before its further requests wait. More than most clients
that send all requests before they read an answer leave unread."""

MCP_UNREAD_LEAST_BYTES = 512
"""What each of them counts at least: more than the objects that hold it take."""

SERVE_UNREAD_S = 60.0
"""How long a client may read nothing of an answer before its connection is closed. nginx: 60 s."""

SERVE_HALF_S = 5.0
"""Time for the calls of a connection that was half closed: some clients do so when they have asked and wait,
and those that have gone away look the same."""

TOKEN_SETTLED_S = 5.0
"""Time after which another write gives a file of tokens another time: some systems keep times of 2 s."""

TOKENS_FOUND = 1000
"""Tokens whose rows are cached while their file is unchanged."""
