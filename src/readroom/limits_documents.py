"""Every default number of office files, web pages and books, once, with its reason.

What a whole extraction may take (memory, time) is set where its process is
started; these keep single files from getting there.
"""

from __future__ import annotations

ARCHIVE_DIRECTORY_BYTES = 2 * 1024 * 1024
"""Directory of an archive, which zipfile reads at once and turns into objects of some 700 bytes per member;
one of 20,000 members with names of 50 characters."""

ARCHIVE_MEMBERS = 20_000
"""Members of a document. A presentation of 1,000 slides has about 5,000, the largest books a few thousand."""

ARCHIVE_MEMBER_BYTES = 16 * 1024 * 1024
"""A member that is held whole. The text of a Word document of 1,000 pages is 10 to 15 MB of XML, which
takes six times as much memory when it is parsed (measured)."""

ARCHIVE_TOTAL_BYTES = 4 * 1024 * 1024 * 1024
"""All members together, whether they are read or not: four films in a presentation."""

ARCHIVE_RATIO = 300
"""A member may become so many times larger. XML of sheets reaches 50, deflate at most 1,032."""

ARCHIVE_RATIO_BYTES = 4 * 1024 * 1024
"""Smaller members may have any ratio: empty sheets and plain pictures do, and they are no danger."""

XML_TAGS = 1_000_000
"""Tags of a part. Each element takes some 150 bytes of memory and 5 us; 1,000 pages have about 400,000."""

XML_DECLARATION_BYTES = 200
"""Where the XML declaration of a part is looked for; it is its first thing."""

LINK_CHARS = 120
"""Longest target shown beside the words of a link; longer ones are tracking and signatures."""

CONTENTS_HEADINGS = 2_000
"""Entries of a table of contents; the longest standards have about as many."""

HEADING_CHARS = 200
"""Characters of a heading as an entry of the table of contents; its line shows all of it."""

OLE_SCAN_BYTES = 8 * 1024 * 1024
"""At the start and at the end of an OLE file; its directory is searched for the names that say what it is.
Most programs write it near one of them."""
