"""Verdicts and user feedback on them: stored in a database, exported, watched over time."""
