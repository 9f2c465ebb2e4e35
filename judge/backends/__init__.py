"""Backends: the smallest thing a judge needs from a model, passed in as an object."""
