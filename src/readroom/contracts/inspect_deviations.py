"""What inspect_agents does and this contract does not, and what it does instead."""

from __future__ import annotations

from readroom.contracts.base import Deviation
from readroom.limits_inspect import INSPECT_REPLY_BYTES

DEVIATIONS = (
    Deviation(
        "inspect_agents.typed-unpadded",
        "Later versions return typed lines without padding, against their documents.",
        "Typed lines are padded, as documented.",
    ),
    Deviation(
        "inspect_agents.line-ends",
        "Lines also end at form feeds, lone carriage returns, NEL and Unicode separators.",
        "A line ends at a line feed, with or without a carriage return before it, as in grep and editors.",
    ),
    Deviation(
        "inspect_agents.first-match",
        "An edit without replace_all silently changes the first of several places.",
        "A text that stands more than once is refused, and nothing is changed.",
    ),
    Deviation(
        "inspect_agents.negative-numbers",
        "A negative offset selects from the end by accident; a limit of 0 shows nothing, or everything.",
        "Both are refused with the values that are allowed.",
    ),
    Deviation(
        "inspect_agents.silent-fallback",
        "When the sandbox fails during a call, the store in memory answers without a word.",
        "A sandbox that fails is an error. Where there is none, the store answers, "
        "and `answered_by` in the facts says so.",
    ),
    Deviation(
        "inspect_agents.smaller-limit",
        "A file above the size limit is refused whatever the limit, although the message says to use one.",
        "With a limit, a file of any size is read.",
    ),
    Deviation(
        "inspect_agents.lost-rest",
        "In sandbox mode a file is taken to end at the first chunk that ends in blank lines.",
        "Every line is counted.",
    ),
    Deviation(
        "inspect_agents.window-emptiness",
        "In sandbox mode a window of blank lines is called an empty file.",
        "Only a file that has nothing but white space is.",
    ),
    Deviation(
        "inspect_agents.confinement",
        "Paths are compared as text, links only in their last part, and a check that fails lets pass.",
        "The kernel confines every path. In sandbox mode reads refuse links wherever they stand, "
        "changes in the last part.",
    ),
    Deviation(
        "inspect_agents.store-policy",
        "Denials hold in sandbox mode only, for reads only with an extra switch.",
        "Denials hold for every command in both modes; the switch makes the allow list hold for reads, too.",
    ),
    Deviation(
        "inspect_agents.store-begins-with-folder",
        "The store in memory is filled by the program around it.",
        "Served from a folder, the store without an instance begins as a copy of the folder; "
        "nothing is written back.",
    ),
    Deviation(
        "inspect_agents.cut-reply",
        "Replies have no size limit.",
        f"A reply ends at {INSPECT_REPLY_BYTES:,} bytes, or where the client is known to cut, with the "
        "offset that continues it; an operator may set another size.",
    ),
    Deviation(
        "inspect_agents.denied-by-default",
        "Every file of a sandbox can be used.",
        "Credentials, keys and environment files such as `.env` are denied by default, since a sandbox is a "
        "folder of somebody's; an operator takes names out with `exceptions` in `[policy]`.",
    ),
    Deviation(
        "inspect_agents.store-folders",
        "The store has no folders; mkdir does nothing there.",
        "mkdir makes one, and stat knows it and those that names of files lead through; ls lists files only.",
    ),
    Deviation(
        "inspect_agents.link-targets",
        "A path that leads outside through a link is refused for its link or passes, by its last part.",
        "Any link on the way of a read is refused as a symbolic link, wherever it leads, also to nothing.",
    ),
    Deviation(
        "inspect_agents.names",
        "Names stand in sentences as they are, and can be made to look like more of the sentence.",
        "A name that could be read so is quoted in sentences and lines; in fields it is as it is.",
    ),
)
