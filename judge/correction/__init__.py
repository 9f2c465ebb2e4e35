"""Corrects answers: takes out what the documents do not support, or has it rewritten."""
