"""The queue before a judge: limits, turns, batches, and files that wait."""
