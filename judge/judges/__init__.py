"""The judges: each reads examples and returns a verdict for each."""
