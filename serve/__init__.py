"""The same judges over HTTP."""
