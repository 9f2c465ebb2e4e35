"""Rows written for this project: `answers.jsonl` to look at, `labelled.jsonl` with gold labels."""
