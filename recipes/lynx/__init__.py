"""Trains Lynx: a chat model that reasons over question, documents and answer, then scores."""
