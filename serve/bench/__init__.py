"""Measures servers as their clients meet them: real processes, real HTTP."""
