"""Luna: a token-level encoder reads each claim of an answer with windows of the documents."""
