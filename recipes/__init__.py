"""Trains the judges: one YAML per run, one linear script per method."""
