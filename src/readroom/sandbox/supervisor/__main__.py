"""Entry point of the supervisor, which is run by its path with `python -I -S`.

Python compiles a program anew whenever it is run, and keeps what it has compiled of modules: all of it is
in `watch`.
"""

import os
import sys

# By its path alone this program finds no modules; for a moment it finds those beside it.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import watch  # type: ignore[import-not-found]  # beside this file

del sys.path[0]
sys.exit(watch.main())
