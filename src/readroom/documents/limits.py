"""Limits of reading documents, archives and tables."""

from __future__ import annotations

ARCHIVE_MEMBER_BYTES = 16 * 1024 * 1024
"""A member that is read into memory. The text of a Word document of 1,000 pages is 10 to 15 MB of XML, which
takes six times as much memory when it is parsed (measured)."""

TABLE_LINE_CHARS = 160
"""Up to this length, a row of a table with multi-line cells is one line: `Name / (unit) | a / b`."""

CONTENTS_HEADINGS = 2_000
"""Entries of a table of contents; the longest standards have about as many."""

DOCUMENT_CHILD_CPU_S = 60
"""Processor time of that process in total, unless a call may use more; it ends abandoned ones.
If it has used half of it, the next call starts a new process."""

DOCUMENT_PATIENCE = 10
"""How many times its processor time a document may take by the clock: it is still read on a machine that is
busy with nine times as much other work, and no call waits for ever."""

DOCUMENT_PART_CHARS = 4 * 1024 * 1024
"""Text of one part; a page of a book has 3,000 characters. More is counted, not shown."""

DOCUMENT_NOTE_CHARS = 800
"""Longest note about a part: one sentence that counts everything that is not shown."""

DOCUMENT_CONTENTS = 5_000
"""Headings of a table of contents. The longest manuals have some 3,000."""

DOCUMENT_IMAGES = 4
"""Pages and pictures shown as images in one reply, some 1,600 tokens each: as much as its text."""

SHEET_CELLS = 250_000
"""Cells of a part of a sheet, including empty ones: each takes some 200 bytes while it is processed, and
libraries keep most of them at once. 2,000 rows of 125 columns; longer sheets are read in areas."""

SHEET_BYTES = 1024 * 1024 * 1024
"""The XML of one sheet, which is streamed. A million rows of 20 columns have 900 MB."""

SHARED_STRINGS = 2_000_000
"""Texts of a workbook that cells can refer to; a sheet has at most a million rows."""

RTF_BYTES = 48 * 1024 * 1024
"""A document in RTF, which is read into memory. Most of a large one is pictures, two letters per byte."""

RTF_GROUPS = 10_000
"""Nested groups of RTF; programs reach some tens."""

MAIL_BYTES = 24 * 1024 * 1024
"""A message, or a mailbox, that is read into memory: the library takes five times as much. Servers take
messages of up to 25 MB."""

MAIL_PARTS = 5_000
"""Messages and attachments of a document, as many as there may be titles."""

# -----------------------------------------------------------------------------
# Every default number of reading tables of data, once, with its reason.
# -----------------------------------------------------------------------------

BLOB_BYTES = 16
"""Bytes of binary cells shown in hexadecimal: enough for the magic number of a format."""

SCHEMA_COLUMNS = 2_000
"""Columns of one table that an outline lists; more are counted."""

COUNT_CPU_S = 0.5
"""Processor time for counting the rows of tables, all together, when a database is opened: some ten million
rows. Tables that are not counted by then say so."""

# -----------------------------------------------------------------------------
# Every default number of reading archives in place, once, with its reason.
# -----------------------------------------------------------------------------

CONTAINER_MEMBERS = 120_000
"""Members of an archive; each takes some 400 bytes. The source of Linux has 90,000."""

CONTAINER_DIRECTORY_BYTES = 32 * 1024 * 1024
"""The directory of a ZIP file, which is read in one piece: CONTAINER_MEMBERS with names of 200 bytes."""

CONTAINER_NAME_BYTES = 2_048
"""Longest name of a member. The path of its archive precedes it, and both must fit a path."""

CONTAINER_NAME_DEPTH = 100
"""Folders in the name of a member; the deepest trees seen in the wild have about as many."""

CONTAINER_HEADER_BYTES = 1024 * 1024
"""An extended header of a tar file (long names, times, owners), which is read into memory. Usual ones have 1
kB."""

CONTAINER_TARGET_BYTES = 4_096
"""The target of a link in a ZIP file, which is its content: the longest path there is."""

CONTAINER_RATIO = 1_100
"""How many times its packed size a member may be, from CONTAINER_RATIO_BYTES on: deflate ends at 1,032."""

CONTAINER_RATIO_BYTES = 16 * 1024 * 1024
"""Smaller members may have any ratio: a file of zeros is legitimate."""
