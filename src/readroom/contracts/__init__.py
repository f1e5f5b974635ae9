"""Published tool interfaces, each a record over the one engine."""
