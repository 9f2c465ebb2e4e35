"""Trains the Luna encoder: short pairs first, then answers with their documents."""
