"""Git repositories, read without running anything that they name, and without writing.

libgit2 reads them in a child that the kernel confines to the folders of one repository.  It has no
configuration of a user or a system, runs no hook, filter, helper or transport, and cannot write.

Knows: where the repository of a path is, which ones are refused, and how commits and trees are asked for.
Does not know: policies; whoever shows something asks about each name first.
May be touched: with a security review.
"""
