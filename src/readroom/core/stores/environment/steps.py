"""A change as steps of one script, and the script that ends what another has left half done.

The first notes each step in a file before it takes it, and that all are made before it cleans up.  The
second makes sure that nothing of the first still runs, and takes back what it has made, unless all of it is
made: a name is touched only while it is what the first has made of it.

POSIX sh, as in `scripts`; processes that still run are found where there is /proc.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from readroom.core.stores.environment.scripts import ENTER

MOVED = 90
"""How a script ends for which a name means something else by now. Nothing is changed."""

TAKEN_BACK = 81
LEFT = 82
"""Something could not be taken back: its former state has a name next to it."""

NOT_BEGUN = 83
"""There is no note: nothing was done, or all of it and the note is gone again."""

_FUNCTIONS = rf"""
get() {{ got=$(un "$1"); got=${{got%.}}; }}
none() {{ [ ! -e "$1" ] && [ ! -L "$1" ]; }}
moved() {{ why={MOVED}; return 1; }}
left() {{ why={LEFT}; }}
inside() {{ real "$1" || moved; }}
free() {{ none "$1" || moved; }}
is() {{ [ "$(stat -c '%i %d' -- "$1")" = "$2" ]; }}
same() {{ [ "$(stat -c "$2" -- "$1")" = "$3" ] || moved; }}
hashed() {{ [ "$(sha256sum < "$1" | cut -c "1-${{#2}}")" = "$2" ]; }}
note() {{ echo "$1" >> "$run"; }}
made=
folder() {{
  if [ -d "$1" ] && [ ! -L "$1" ]; then :; else free "$1" && mkdir -- "$1" && made="$made $2"; fi
}}
unfolder() {{ case "$made " in *" $2 "*) rmdir -- "$1";; esac; }}
named() {{ ln -- "$1" "$2" || {{ free "$2" && mv -- "$1" "$2"; }}; }}
kept() {{ ln -- "$1" "$2" || cp -p -- "$1" "$2"; }}
aside() {{ mv -- "$1" "$2" && {{ is "$2" "$3" || {{ mv -- "$2" "$1"; moved; }}; }}; }}
others() {{ for one in "$1"/.readroom-*.run; do [ ! -f "$one" ] || printf '%s\0' "$one"; done; }}
why=89 n=0
"""

_BEGUN = "trap '' HUP INT TERM PIPE\nREADROOM_CHANGE={token}; export READROOM_CHANGE\n"

_STOPPED = """
tries=0
while [ $tries -lt 20 ]; do
  found=$(grep -l -e '[{first}]{others}' /proc/[0-9]*/environ /proc/[0-9]*/cmdline)
  [ -n "$found" ] || break
  for one in $found; do one=${{one#/proc/}}; kill -9 "${{one%%/*}}"; done
  tries=$((tries + 1)); [ $tries -lt 3 ] || sleep 1
done
"""
"""Ends what still runs of the first script; a pattern that does not match itself."""

_NOTED = """
[ -f "$run" ] || return {not_begun}
while read -r noted; do n=$noted made="$made $noted"; done < "$run"
"""


class ScriptStep(Struct, frozen=True):
    """One thing that is done, and how it is taken back.

    Attributes:
        undo: Takes it back if it was made, where it still is what was made.
        then: The work that is left to do when everything is made.
        partly: How it is taken back if it failed.
        done: Whether it was made, where the script ended in it.
    """

    do: str
    undo: str
    then: str = ":"
    partly: str = ":"
    done: str = "false"


class Script(Struct, frozen=True):
    """The steps of one change.

    Attributes:
        token: Is in all names that are made next to others.
        names: Lines that give names to variables, `run` among them: the file with the notes.
        folders: The variables of the folders that are changed.
        sent: The variables of new contents.
    """

    token: str
    names: str
    steps: Sequence[ScriptStep]
    folders: Sequence[str]
    sent: Sequence[str]

    def first(self) -> str:
        """The script that makes the change, or nothing of it."""
        does = " && \\\n".join(
            f"note {at - 1} && {{ {step.do}; }} && n={at}" for at, step in enumerate(self.steps, 1)
        )
        others = "\n".join(f"others {folder}" for folder in self.folders)
        made = f'note made\n{self._then()}\nrm -f -- "$run"\n{others}\nreturn 0'
        begun = _BEGUN.format(token=self.token)
        back = f'{self._back()}\nrm -f -- "$run"\nreturn $why\n'
        return f"{ENTER}{begun}{_FUNCTIONS}{self.names}if {does}; then\n{made}\nfi\n{back}"

    def second(self) -> str:
        """The script that ends what the first has left."""
        stopped = _STOPPED.format(first=self.token[0], others=self.token[1:])
        noted = _NOTED.format(not_begun=NOT_BEGUN)
        inside = "".join(f"real {folder} || return {LEFT}\n" for folder in self.folders)
        clean = " ".join(('rm -f -- "$run"', *self.sent))
        made = f'if [ "$n" = made ]; then\n{self._then()}\n{clean}\nreturn 0\nfi\n'
        unsure = "\n".join(
            f"{at - 1}) {{ {step.done}; }} && n={at};;" for at, step in enumerate(self.steps, 1)
        )
        back = f"why={TAKEN_BACK}\ncase $n in\n{unsure}\nesac\n{self._back()}"
        text = f"{ENTER}{stopped}{_FUNCTIONS}{self.names}{noted}{inside}{made}{back}\n{clean}\nreturn $why\n"
        return text.replace(self.token, "".join(f"\\0{ord(char):03o}" for char in self.token))

    def _then(self) -> str:
        return "\n".join(step.then for step in self.steps)

    def _back(self) -> str:
        """Takes back the first n steps, and what is there of the next one."""
        return "\n".join(
            f"if [ $n -ge {at} ]; then {step.undo}; elif [ $n -eq {at - 1} ]; then {step.partly}; fi"
            for at, step in reversed([*enumerate(self.steps, 1)])
        )
