"""The server's side of the Model Context Protocol without any I/O: messages in, messages and calls out."""
