"""What the Linux kernel offers to confine a process: system calls, and nothing of this project.

Knows: Landlock and filters of system calls, as the kernel has them.
Does not know: workspaces, policy and commands.
May be touched: with a security review only.
"""
