"""The wing of documents, from outside."""
