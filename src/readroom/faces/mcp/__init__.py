"""The Model Context Protocol: one server over stdio and over streamable HTTP."""
