#!/bin/sh
# readroom in one file: an archive that Python runs, after these lines that look for a Python.
for python in python3 python3.14 python3.13 python3.12 python3.11; do
    if command -v "$python" >/dev/null 2>&1 &&
        "$python" -I -S -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then
        exec "$python" -I -S "$0" "$@"
    fi
done
echo "readroom: needs Python 3.11 to 3.14, and none is on the PATH (python3 and python3.11 to python3.14 were tried)." >&2
exit 5
