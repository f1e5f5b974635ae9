"""Limits of reading documents, archives and tables."""

from __future__ import annotations

ARCHIVE_DIRECTORY_BYTES = 2 * 1024 * 1024
"""Directory of an archive, which zipfile reads at once and turns into objects of some 700 bytes per member;
20,000 members with names of 50 characters."""

ARCHIVE_MEMBERS = 20_000
"""Members of a document. A presentation of 1,000 slides has about 5,000, the largest books a few thousand."""

ARCHIVE_MEMBER_BYTES = 16 * 1024 * 1024
"""A member that is read into memory. The text of a Word document of 1,000 pages is 10 to 15 MB of XML, which
takes six times as much memory when it is parsed (measured)."""

ARCHIVE_TOTAL_BYTES = 4 * 1024 * 1024 * 1024
"""All members together, whether they are read or not: four films in a presentation."""

ARCHIVE_RATIO = 300
"""How many times its packed size a member may be. XML of sheets reaches 50, deflate at most 1,032."""

ARCHIVE_RATIO_BYTES = 4 * 1024 * 1024
"""Smaller members may have any ratio: empty sheets and plain pictures do, and are harmless."""

XML_TAGS = 1_000_000
"""Tags of a part. Each element takes some 150 bytes of memory and 5 us; 1,000 pages have about 400,000."""

XML_DECLARATION_BYTES = 200
"""How far the XML declaration of a part is looked for; it comes first."""

TABLE_LINE_CHARS = 160
"""Up to this length, a row of a table with multi-line cells is one line: `Name / (unit) | a / b`."""

TABLE_ROW_CHARS = 1_000
"""Up to this length, a row with single-line cells is one line: half of what is shown of a line at once."""

LINK_CHARS = 120
"""Longest target shown beside the words of a link; longer ones are tracking and signatures."""

CONTENTS_HEADINGS = 2_000
"""Entries of a table of contents; the longest standards have about as many."""

HEADING_CHARS = 200
"""Length of a heading in the table of contents; its own line shows all of it."""

OLE_SCAN_BYTES = 8 * 1024 * 1024
"""How much of the start and the end of an OLE file is searched for the names that tell what it is. Most
programs write the directory near one of them."""

DOCUMENT_CHILD_BYTES = 200 * 1024 * 1024
"""Memory that the process reading a document may allocate; with its libraries it stays below 256 MB."""

DOCUMENT_CHILD_CPU_S = 60
"""Processor time of that process in all, unless a call may use more: ends one that is no longer waited for.
If it has used half of it, the next call starts a new process."""

DOCUMENT_PATIENCE = 10
"""How many times its processor time a document may take by the clock: it is still read on a machine that is
busy with nine times as much other work, and no call waits for ever."""

DOCUMENT_CHILD_FILES = 64
"""Descriptors of that process; libraries open a few modules and fonts late."""

DOCUMENT_ANSWER_BYTES = 32 * 1024 * 1024
"""One answer of that process without pictures: DOCUMENT_PART_CHARS, escaped."""

DOCUMENT_PART_CHARS = 4 * 1024 * 1024
"""Text of one part; a page of a book has 3,000 characters. More is counted, not shown."""

DOCUMENT_PICTURES_BYTES = 32 * 1024 * 1024
"""Pictures of one part, as the document stores them."""

DOCUMENT_TITLES = 5_000
"""Titles of parts; later parts are identified by their number."""

DOCUMENT_TITLE_CHARS = 200
"""Longest title or heading."""

DOCUMENT_NOTE_CHARS = 800
"""Longest note about a part: one sentence that counts everything that is not shown."""

DOCUMENT_CONTENTS = 5_000
"""Headings of a table of contents. The longest manuals have some 3,000."""

DOCUMENT_SHOWN_HEADINGS = 40
"""Headings shown above the first part, about 500 tokens; the reply names a call for all of them."""

DOCUMENT_CONTENTS_SHARE = 4
"""The part of a reply that these headings may take."""

DOCUMENT_IMAGES = 4
"""Pages and pictures shown as images in one reply, some 1,600 tokens each: as much as its text."""

DOCUMENT_ROWS = 2_000
"""Rows of a sheet read at once; a reply has fewer unless they are nearly empty."""

DOCUMENT_CACHE_BYTES = 16 * 1024 * 1024
"""Extracted parts cached by a workspace: a book of 3,000 pages."""

DOCUMENT_HASHES = 1_000
"""Documents whose hash and titles are cached."""

DOCUMENT_FLAT = 16
"""Documents read as one text whose line counts per part are cached: 4 bytes per part."""

DOCUMENT_PROCESSES = 3
"""Documents that are extracted at once, each in a process of up to DOCUMENT_CHILD_BYTES."""

DOCUMENT_KEPT = 2
"""Processes that keep a document open for its next page, which then takes a tenth of the time."""

DOCUMENT_IDLE_S = 20.0
"""How long they wait: a model reads a page and asks for the next one within it."""

STYLE_RULES = 2_000
"""Rules of a page about what is shown; a framework has some hundreds."""

PDF_ANNOTATIONS = 5_000
"""Fields, notes and links of a page; the longest forms have some hundreds."""

PDF_CHOICES = 5_000
"""Choices of a drop-down that are examined for the chosen ones: all cities of a country."""

PDF_INK_SIDE = 1_200
"""Pixels of the long side of a page on which text of layers is looked for: letters of 6 points have 9."""

PDF_VALUE_BYTES = 2 * 1024 * 1024
"""The value of a field or a note in UTF-16."""

SHEET_CELLS = 250_000
"""Cells of a part of a sheet, including empty ones: each takes some 200 bytes while it is processed, and
libraries keep most of them at once. 2,000 rows of 125 columns; longer sheets are read in areas."""

SHEET_NOTED = 5
"""Merged ranges that are named in a note."""

SHEET_BYTES = 1024 * 1024 * 1024
"""The XML of one sheet, which is streamed. A million rows of 20 columns have 900 MB."""

ROW_BYTES = 2 * 1024 * 1024
"""The XML of one row: 16,384 columns of 100 bytes each."""

OLD_WORKBOOK_BYTES = 16 * 1024 * 1024
"""A workbook of Excel before 2007, which a library reads into memory."""

SHARED_STRINGS = 2_000_000
"""Texts of a workbook that cells can refer to; a sheet has at most a million rows."""

STRING_BYTES = 1024 * 1024
"""The XML of one text. A cell takes 32,767 characters; formatting may be around each of them."""

FORMULA_ELEMENTS = 20_000
"""Elements of a formula that say more than their letters; the rest of a larger one is shown as letters."""

DRAWING_WORDS = 200
"""Titles, series and points of a chart or diagram that are shown where it stands."""

SLIDES = 3_000
"""Slides of a presentation; the title of each is read on opening, in 2 ms."""

SPINE_ITEMS = 5_000
"""Files of a book in its reading order; a dictionary has some hundreds."""

HTML_BYTES = 12 * 1024 * 1024
"""A page that is read as one; 30 MB/s are read. The longest standards on one page have 12 MB."""

META_BYTES = 2048
"""How far a page may say its encoding. The standard has 1,024; some put long comments before."""

RTF_BYTES = 48 * 1024 * 1024
"""A document in RTF, which is read into memory. Most of a large one is pictures, two letters per byte."""

RTF_GROUPS = 10_000
"""Nested groups of RTF; programs reach some tens."""

OLE_STREAM_BYTES = 32 * 1024 * 1024
"""A stream of a compound file that is read into memory; the text of 1,000 pages has a few megabytes."""

OLE_ENTRIES = 20_000
"""Entries of the directory of a compound file, each an object; a message with 500 attachments has 15,000."""

OLD_TEXT_CHARS = 16 * 1024 * 1024
"""Characters of a Word document from before 2007, notes and headers included: some 8,000 pages."""

MAIL_BYTES = 24 * 1024 * 1024
"""A message, or a mailbox, that is read into memory: the library takes five times as much. Servers take
messages of up to 25 MB."""

MAILBOX_BYTES = 2 * 1024 * 1024 * 1024
"""A mailbox that is searched for messages, which takes 1 s per gigabyte."""

MAILBOX_MESSAGES = 100_000
"""Messages of a mailbox."""

MAIL_HEAD_BYTES = 16 * 1024
"""How far the subject of a message in a large mailbox is looked for."""

MAIL_PARTS = 5_000
"""Messages and attachments of a document, as many as there may be titles."""

CARRIED_NAME_CHARS = 4_000
"""Longest path of an attachment; longer ones are denied without applying the rules."""

MAIL_DEPTH = 5
"""Nested messages that are opened; deeper ones are attachments."""

MAIL_RTF_BYTES = 8 * 1024 * 1024
"""The RTF of an Outlook message, unpacked, which takes 0.3 s per megabyte."""

MAIL_HEADER_CHARS = 64 * 1024
"""A header whose encoded words are decoded; a message to 1,000 people has some 40,000."""

ATTACHED_PARTS = 200
"""Pages, sheets or slides of an attached document that its part shows."""

REPEATED_ROWS = 200
"""How often a repeated row or cell of a table in an OpenDocument text is written."""

REPEATED_SPACES = 1_000
"""Spaces that one element of OpenDocument may stand for."""

OLE_PROPERTY_BYTES = 1024 * 1024
"""A stream of properties of an old document; most have some hundred bytes."""

# -----------------------------------------------------------------------------
# Every default number of reading tables of data, once, with its reason.
# -----------------------------------------------------------------------------

CELL_CHARS = 120
"""Length at which a cell among others is cut: a sentence. A column that is read alone shows its cells
whole."""

WIDE_CELL_CHARS = 1_000_000
"""Length of a cell in a column that is read alone. More is counted."""

PADDED_CHARS = 32
"""Width up to which columns are padded, so that one long cell does not move all others."""

BLOB_BYTES = 16
"""Bytes of binary cells shown in hexadecimal: enough for the magic number of a format."""

TABLE_COLUMNS = 30
"""Columns shown unless some are picked; at 20 characters each a row has 600."""

PICKED_COLUMNS = 500
"""Columns that can be picked at once; SQLite takes 2,000 expressions, and each column is in three."""

SCHEMA_COLUMNS = 2_000
"""Columns of one table that an outline lists; more are counted."""

SCHEMA_TABLES = 2_000
"""Tables of a database that can be read; applications have a few hundred at most."""

BRIEF_ROWS = 5
"""Rows of each table when several are shown together: what the values look like."""

HEADING_COLUMNS = 8
"""Columns named beside a table in the list of tables."""

SQL_CHARS = 600
"""The text of a view or trigger in an outline."""

COUNT_CPU_S = 0.5
"""Processor time for counting the rows of tables, all together, when a database is opened: some ten million
rows. Tables that are not counted by then say so."""

SQLITE_COPIED_BYTES = 48 * 1024 * 1024
"""A database up to this size is read into memory, where no name, lock or journal matters; that takes twice
its size. Larger ones are opened as a file, by the descriptor that was checked."""

SQLITE_VALUE_BYTES = 32 * 1024 * 1024
"""A value or statement that SQLite may build; a larger one is an error of its row."""

SAMPLE_ROWS = 1_000
"""Rows of a text table by whose values types are decided and, in JSON lines, columns."""

COUNTED_BYTES = 16 * 1024 * 1024
"""A text table up to this size is counted on opening: 0.2 s."""

FIELD_CHARS = 4 * 1024 * 1024
"""A field of CSV or a line of JSON lines that is parsed; a longer one ends the table with a note."""

# -----------------------------------------------------------------------------
# Every default number of reading archives in place, once, with its reason.
# -----------------------------------------------------------------------------

CONTAINER_MEMBERS = 120_000
"""Members of an archive; each takes some 400 bytes. The source of Linux has 90,000."""

CONTAINER_FOLDERS = 120_000
"""Folders above them, also some 400 bytes each: a member may be in CONTAINER_NAME_DEPTH of its own. The
source of Linux has 6,000."""

CONTAINER_DIRECTORY_BYTES = 32 * 1024 * 1024
"""The directory of a ZIP file, which is read in one piece: CONTAINER_MEMBERS with names of 200 bytes."""

CONTAINER_NAME_BYTES = 2_048
"""Longest name of a member. The path of its archive stands before it, and both have to fit a path."""

CONTAINER_NAME_DEPTH = 100
"""Folders in the name of a member; the deepest trees seen in the wild have about as many."""

CONTAINER_HEADER_BYTES = 1024 * 1024
"""An extended header of a tar file (long names, times, owners), which is read into memory. Usual ones have 1
kB."""

CONTAINER_TARGET_BYTES = 4_096
"""The target of a link in a ZIP file, which is its content: the longest path there is."""

CONTAINER_NESTING = 3
"""Nested archives that are opened: a distribution in an image in a backup."""

CONTAINER_HOPS = 16
"""Links followed for one name inside an archive, because loops have no end."""

CONTAINERS_OPEN = 8
"""Archives whose lists of members a workspace caches; each has at most CONTAINER_MEMBERS."""

CONTAINER_MEMORY_BYTES = 1024 * 1024
"""Members up to this size are held in memory while they are read; larger ones in an unnamed file."""

CONTAINER_KEPT_BYTES = 2 * 1024 * 1024 * 1024
"""Expanded members cached by a session for their next page."""

CONTAINER_KEPT = 32
"""Their number; each holds a descriptor."""

CONTAINER_SKIPPED_BYTES = 256 * 1024 * 1024
"""How much of other members of a 7z file is unpacked to reach one: about 3 s of LZMA."""

CONTAINER_RATIO = 1_100
"""How many times its packed size a member may be, from CONTAINER_RATIO_BYTES on: deflate ends at 1,032."""

CONTAINER_RATIO_BYTES = 16 * 1024 * 1024
"""Smaller members may have any ratio: a file of zeros is a file, too."""
