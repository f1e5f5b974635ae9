"""Entry point of the supervisor, which is run by its path with `python -I -S`.

Python compiles the main script on every run, but caches compiled modules: so all code is in `watch`.
"""

import os
import sys

# With these options the script's folder is not on the path; add it just for this import.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import watch  # type: ignore[import-not-found]  # next to this file

del sys.path[0]
sys.exit(watch.main())
