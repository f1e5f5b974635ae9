"""Limits of conversations, budgets, servers and the ledger."""

from __future__ import annotations

SESSIONS = 1000
"""Conversations that a workspace remembers; the one unused for longest is forgotten. As HTTP_SESSIONS."""

SESSION_FILES = 4096
"""States of files that a conversation is known to have seen: half a megabyte."""

SHOWN_SPANS = 200
"""Runs of lines that are noted of one reply; a full search reply has 100."""

BUDGET_BYTES_PER_TOKEN = 3
"""How a reply's size is chosen from the tokens that are left; numbered code has 2.6 to 3.4. What turns out to
be more is made again, smaller."""

BUDGET_NOTE_TOKENS = 40
"""Kept free for the line that says how much is left."""

BUDGET_NOTE_BYTES = 200
"""The same in a reply's size."""

BUDGET_ACCOUNTS = 10_000
"""Conversations and tokens whose use is remembered, each for itself; the one unused for longest leaves."""

IMAGE_PIXELS_PER_TOKEN = 750
"""What an image costs: Anthropic's published formula; others charge by tiles, about the same."""

MCP_RESOURCES = 100
"""Kept outputs listed at once: some 15 kB; a host fetches more when its user looks further."""

LEDGER_WAIT_S = 10.0
"""Longest wait for other writers of a ledger, and for a lost database. A row takes 0.1 ms."""

LEDGER_SWITCH_S = 0.01
"""Between two tries to make a new ledger's write-ahead log, which takes another process milliseconds."""

LEDGER_RETRY_S = 0.1
"""Between two attempts to reach a lost database."""

LEDGER_PAGE_ROWS = 1000
"""Rows that are read from a ledger at once: half a megabyte."""

LEDGER_GROUP_ROWS = 500
"""Rows in one transaction at most: others wait some 10 ms for it. SQLite takes 32,766 values at once."""

LEDGER_LOG_PAGES = 4000
"""Of a write-ahead log of SQLite, 16 MB, after which what is in it goes into the file; a call waits for that.
SQLite: 1,000, which is every 200 calls."""

LEDGER_FOLD_EVERY = 500
"""Rows after which a writer brings the sums of a ledger up to date; for each of them that is a hundredth of a
millisecond, and reports sum up the rest."""

LEDGER_FOLD_ROWS = 1000
"""Rows summed in one transaction: others wait some 20 ms for it. More than LEDGER_FOLD_EVERY, so that
an older ledger is caught up with."""

LEDGER_PROBLEMS = 20
"""Problems that a verification names; a broken ledger can have one in every row."""

LEDGER_TEXT_CHARS = 4096
"""Kept of one text among a call's arguments: any path, and all but the longest commands and patterns."""

LEDGER_ARGUMENTS = 64
"""Arguments of a call, or items of a list, that a ledger keeps; a call with 500 edits has more."""

LEDGER_DEPTH = 4
"""How deep arguments are looked into; those of tools are two deep."""

LEDGER_NAME_CHARS = 200
"""Kept of what a client calls itself, its conversation or a tool."""

LEDGER_NAMES = 256
"""Of those that are remembered in the form in which a row holds them: most rows have the same ones."""

STORE_BYTES = 64 * 1024 * 1024
"""In all files of a store in memory that a contract works in; an agent's notes and a small project fit."""

STORE_FILES = 10_000
"""Copied into such a store at its beginning; larger folders take seconds, and are worked in as they are."""

STORES = 256
"""Such stores that one workspace keeps: as many conversations as a small server has at once."""

STORE_IDLE_S = 3600.0
"""A store that was not used for so long makes room for another; conversations are rarely resumed later."""

LEDGER_REFUSALS = 300
"""Requests a minute that are refused before they are calls, and of which each is an entry; of the rest the
numbers are. A day's flood from everywhere writes some 200 MB, one from a single address some 10."""

LEDGER_REFUSALS_ALIKE = 20
"""The same of those with the same address, token and code: a client that errs by mistake is seen in full,
and one that floods leaves room for what others do."""

LEDGER_REFUSALS_S = 60.0
"""The minute of both."""

OUTPUT_NAME_CHARS = 64
"""Of a name that a caller wants for kept outputs. Ids of tool calls have 30 to 40."""

STATE_WAIT_S = 3.0
"""Longest wait for other writers of the shared state, and for its lost database. A change takes 0.1 ms."""

STATE_REST_S = 0.5
"""After a failure everybody is refused for so long before the database is tried again: each try may wait."""

STATE_CLOCK_S = 10.0
"""Between two looks at the clock of a database server, whose time counts for all machines."""

STATE_KEPT_S = 24 * 3600.0
"""What was not used for so long is forgotten: sessions, what was shown, kept outputs. Not budgets."""

STATE_SPENT_S = 30 * 24 * 3600.0
"""And so much longer it is known what a conversation has spent."""

STATE_CONVERSATIONS = 10_000
"""Conversations in one shared state that are remembered with what they were shown. As BUDGET_ACCOUNTS."""

STATE_SWEEP_S = 600.0
"""Between two times that what is too old or too much is forgotten; it takes milliseconds."""

STATE_THREADS = 4
"""Of one process, which look into a database over a network while its event loop goes on."""

RATE_LEASE = 32
"""Requests that a process may let in before it asks the others again: a question for 32 requests."""

RATE_LEASE_PART = 64
"""And of what is left of a rate this part at most: near its end every request is counted by itself."""

RATE_LEASE_S = 0.1
"""What it has not used after that it gives back."""

CANCEL_LOOK_S = 0.5
"""Between two looks whether a client has cancelled a call at another process of the server."""

OUTPUT_PIECE_BYTES = 1024 * 1024
"""Of a kept output in one row of the shared state."""

WORKERS_MOST = 64
"""Processes of one server; more than processors only wait for each other."""

WORKER_READY_S = 60.0
"""Longest start of a worker. It takes 0.1 s; a machine under load some seconds."""

WORKER_LEAST_S, WORKER_MOST_S = 0.1, 10.0
"""Before a worker that has died is started again: doubled for each that died before it had lived for the
longer of the two, so that one that cannot start costs little."""

SERVE_DESCRIPTORS = 4096
"""Files and connections that a process of a server may have open, where the system lets it say so: some
give it 256 to begin with."""

SERVE_KNOWN_TOKENS = 10_000
"""Tokens that are remembered to have worked, so that what others at the same address send is not counted as
theirs; each takes 200 bytes."""

SERVE_SMALL_BODY_BYTES = 64 * 1024
"""Of a request's body that any connection may hold: more than most calls have."""

SERVE_CALLER_BODIES_BYTES = 128 * 1024 * 1024
"""What bodies have beyond that, of one token or, where there is none, one address: four of the longest."""

SERVE_BODIES_BYTES = 256 * 1024 * 1024
"""The same of all; above, clients are to try again."""

SERVE_JOINED_BYTES = 256 * 1024
"""Of answers that are sent as one: more than a reply of the usual size and its head."""

MCP_UNREAD_BYTES = 32 * 1024 * 1024
"""Answers that a client over a pipe has not read: no more of its requests are heard before it has.
More than most that send all requests before they read an answer leave unread."""

MCP_UNREAD_LEAST_BYTES = 512
"""What each of them counts at least: more than the objects that hold it take."""

SERVE_UNREAD_S = 60.0
"""How long a client may take nothing of an answer before its connection is ended. nginx: 60 s."""

SERVE_HALF_S = 5.0
"""What is done for a connection on which nothing more comes gets this long: some clients say so when they
have asked and wait, and those that have gone away look the same."""

TOKEN_SETTLED_S = 5.0
"""After that a file of tokens has another time when it is written again: some systems keep times of 2 s."""

TOKENS_FOUND = 1000
"""Tokens whose rows are kept while their file stays as it is."""
