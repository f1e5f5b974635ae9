"""Runs first, in whatever Python the archive is given to; so it is written for all of them."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036
    sys.stderr.write("readroom: needs Python 3.11 or newer, and this is %d.%d.\n" % sys.version_info[:2])  # noqa: UP031
    sys.exit(5)

from one_file import boot  # type: ignore[import-not-found]  # its name in the archive

boot.main()
