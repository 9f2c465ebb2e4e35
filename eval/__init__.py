"""Runs judges over benchmarks; metrics, reports and comparisons."""
