"""What lives as long as a conversation."""
