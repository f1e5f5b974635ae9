"""Every default number of reading archives in place, once, with its reason."""

from __future__ import annotations

CONTAINER_MEMBERS = 120_000
"""Members of an archive that are looked at; each takes some 400 bytes. The source of Linux has 90,000."""

CONTAINER_DIRECTORY_BYTES = 32 * 1024 * 1024
"""The directory of a ZIP file, which goes by in one piece: CONTAINER_MEMBERS with names of 200 bytes."""

CONTAINER_NAME_BYTES = 2_048
"""Longest name of a member. The path of its archive stands before it, and both have to fit a path."""

CONTAINER_NAME_DEPTH = 100
"""Folders in the name of a member; the deepest trees seen in the wild have about as many."""

CONTAINER_HEADER_BYTES = 1024 * 1024
"""An extended header of a tar file (long names, times, owners), which is held whole. Usual ones have 1 kB."""

CONTAINER_TARGET_BYTES = 4_096
"""Where a link in a ZIP file leads to, which is its content: the longest path there is."""

CONTAINER_NESTING = 3
"""Archives inside of archives that are opened: a distribution in an image in a backup."""

CONTAINER_HOPS = 16
"""Links followed for one name inside an archive, as loops have no end."""

CONTAINERS_OPEN = 8
"""Archives whose lists of members a workspace keeps; each of at most CONTAINER_MEMBERS."""

CONTAINER_MEMORY_BYTES = 1024 * 1024
"""Members up to this size are held in memory while they are read; larger ones in a file without a name."""

CONTAINER_KEPT_BYTES = 2 * 1024 * 1024 * 1024
"""Expanded members that a session keeps for the next page of them, the least recently used leaving first."""

CONTAINER_KEPT = 32
"""Their number; each holds a descriptor."""

CONTAINER_SKIPPED_BYTES = 256 * 1024 * 1024
"""A member of a 7z file may lie behind so much of others, unpacked to reach it: about 3 s of LZMA."""

CONTAINER_RATIO = 1_100
"""A member may become so many times larger from CONTAINER_RATIO_BYTES on: deflate ends at 1,032."""

CONTAINER_RATIO_BYTES = 16 * 1024 * 1024
"""Smaller members may have any ratio: nothing but zeros is a file, too."""
