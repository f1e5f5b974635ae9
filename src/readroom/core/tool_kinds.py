"""The kinds of tools by their names: of any client, contract or server.

Names are data: an unknown client also works if it names its tools as others do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["read", "search", "list", "edit", "write", "command", "agent", "other"]

_KINDS: dict[str, Kind] = {}
for _kind, _names in {
    "read": "read read_file readfile notebookread notebook_read view view_file view_range view_image "
    "open_file read_files cat fetch_file get_file_contents read_text_file read_media_file "
    "read_file_content open goto scroll_up scroll_down",
    "search": "grep grep_search grep_files search search_file_content search_files search_for_pattern "
    "ripgrep "
    "rg codebase_search search_codebase find_relevant search_dir search_file",
    "list": "ls glob list list_directory list_dir find_file find_files list_files directory_tree",
    "edit": "edit edit_file replace str_replace multiedit multi_edit apply_patch patch insert "
    "str_replace_editor editor str_replace_based_edit_tool replace_in_file search_replace",
    "write": "write write_file create create_file save_file notebookedit notebook_edit",
    "command": "bash shell run_shell_command run_command exec_command execute_command terminal local_shell "
    "exec shell_command bashoutput bash_output taskoutput task_output powershell "
    "python run_commands run_terminal_cmd write_stdin",
    # Not the tools `search`, `fetch`, `write` and `read` of servers with these names.
    "other": "web_search web_fetch google_web_search google_search code_search tool_search memory_search "
    "todo_write todo_read",
    "agent": "agent task spawn_agent invoke_agent wait_agent dispatch_agent new_task subagent",
}.items():
    _KINDS |= dict.fromkeys(_names.split(), _kind)  # type: ignore[arg-type]

KINDS: Final[Mapping[str, Kind]] = _KINDS


def kind_of_name(tool: str) -> Kind:
    """The kind of a tool by its name alone."""
    return KINDS.get(bare_name(tool)[0].lower(), "other")


def bare_name(tool: str) -> tuple[str, str]:
    """A tool's own name and its server: `mcp__SERVER__TOOL`, `mcp_SERVER_TOOL` or `SERVER_TOOL`."""
    name = tool.strip()
    for prefix, between in (("mcp__", "__"), ("mcp_", "_")):
        if name.startswith(prefix):
            server, _, rest = name.removeprefix(prefix).partition(between)
            return (rest, server) if rest else (server, "")
    folded = name.lower()
    if folded not in _KINDS:
        server, _, rest = name.partition("_")
        if server and rest.lower() in _KINDS:
            return rest, server
    return name, ""
