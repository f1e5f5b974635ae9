"""readroom in one file, for a machine that has Python and nothing else: how it is built, and how it starts.

`build` puts the wheels of readroom and of everything that it needs into an archive, for one system and each
version of Python. `start.sh` is in front of them and finds a Python, `main` and `boot` run first in it. They
unpack the wheels once, as an environment of its own below the user's cache folder, and start readroom there.
"""
