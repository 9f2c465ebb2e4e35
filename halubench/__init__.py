"""Builds the benchmark: sources, perturbation, reasoning traces, annotation."""
