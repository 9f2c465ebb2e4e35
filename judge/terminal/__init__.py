"""What a person at a terminal sees: messages, progress and verdicts."""
