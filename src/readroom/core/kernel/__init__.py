"""Confinement by the Linux kernel: system calls, independent of the rest of this project.

Knows: Landlock, and seccomp filters of system calls.
Does not know: workspaces, policy and commands.
May be touched: with a security review only.
"""
